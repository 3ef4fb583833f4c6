"""`python -m triton_pytorch.benchmarks.profile_execute`: where `execute` spends its time on a tiny package.

It runs in this process, without a server: model.py is loaded as Triton's stub does, with the tests' fake of Triton's
module, whose own functions stand in the table for Triton's. The profiler makes Python's functions look dearer than they
are; the first line is measured without it: the median of many runs.
"""

import cProfile
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from types import CodeType
from typing import Any

import torch

from triton_pytorch.tests.assets.configs import tensor_config
from triton_pytorch.tests.assets.packages import package_path
from triton_pytorch.tests.integration import fake_triton
from triton_pytorch.tests.integration.conftest import arguments, load_entry

ROOT = Path(__file__).resolve().parents[1]
SIZES = (1, 16)  # requests in one call of `execute`
REQUESTS = 16_000
RUNS = 20  # of the measurement without the profiler
SHOWN_SHARE = 0.02

_OUTPUTS = ("OUTPUT__0", "OUTPUT__1")


def main() -> None:
    """Print microseconds per request, in all and by function."""
    with tempfile.TemporaryDirectory(prefix="triton_pytorch_profile_") as directory:
        model = _load(Path(directory))
        try:
            plain = {size: _time(model, size) for size in SIZES}
            profiles = {size: _profile(model, size) for size in SIZES}
        finally:
            model.finalize()
    _print(plain, profiles)


def _load(directory: Path) -> Any:
    """Load the package through model.py, on one thread."""
    version_directory = directory / "1"
    version_directory.mkdir()
    (version_directory / "model.pt2").symlink_to(package_path("add_sub"))
    triton = sys.modules["triton_python_backend_utils"] = fake_triton.fake_module()
    model = load_entry(triton)
    fake_triton.fill(triton)
    inputs, outputs = ([tensor_config(f"{way}__{i}", dims=(4,)) for i in range(2)] for way in ("INPUT", "OUTPUT"))
    config = {"max_batch_size": max(SIZES), "parameters": {"INTRA_OP_THREAD_COUNT": "1"}}
    model.initialize(arguments(directory, "CPU", inputs, outputs, config))
    return model


def _requests(count: int) -> list[Any]:
    return [
        fake_triton.InferenceRequest(
            [fake_triton.Tensor(f"INPUT__{i}", fake_triton.unaligned(torch.randn(1, 4))) for i in range(2)], _OUTPUTS
        )
        for _ in range(count)
    ]


def _time(model: Any, size: int) -> float:
    """Return microseconds per request."""
    requests = _requests(size)
    calls = REQUESTS // (size * RUNS)
    figures = []
    for _ in range(RUNS):
        start = time.perf_counter()
        for _ in range(calls):
            model.execute(requests)
        figures.append((time.perf_counter() - start) / (calls * size) * 1e6)
    return median(figures)


def _profile(model: Any, size: int) -> Mapping[str, float]:
    """Return the microseconds per request that each function spends in itself."""
    requests = _requests(size)
    profiler = cProfile.Profile()
    profiler.enable()
    for _ in range(REQUESTS // size):
        model.execute(requests)
    profiler.disable()
    spent: dict[str, float] = defaultdict(float)
    for entry in profiler.getstats():
        spent[_name(entry.code)] += entry.inlinetime / REQUESTS * 1e6
    return spent


def _name(code: CodeType | str) -> str:
    if isinstance(code, str):
        return code.strip("<>").removeprefix("built-in method ").removeprefix("method ")
    path = Path(code.co_filename).resolve()
    return f"{path.relative_to(ROOT) if path.is_relative_to(ROOT) else path.name} {code.co_name}"


def _print(plain: Mapping[int, float], profiles: Mapping[int, Mapping[str, float]]) -> None:
    totals = {size: sum(spent.values()) for size, spent in profiles.items()}
    print(f"{'microseconds per request, requests in a call:':<64}" + "".join(f"{size:>8}" for size in SIZES))
    _print_row("without the profiler", plain)
    _print_row("with it", totals)
    shown = {name for size, spent in profiles.items() for name in spent if spent[name] >= SHOWN_SHARE * totals[size]}
    by_name = {name: {size: profiles[size].get(name, 0.0) for size in SIZES} for name in shown}
    for name in sorted(shown, key=lambda name: -max(by_name[name].values())):
        _print_row(f"  {name}", by_name[name])


def _print_row(name: str, figures: Mapping[int, float]) -> None:
    print(f"{name:<64}" + "".join(f"{figures[size]:8.2f}" for size in SIZES))


if __name__ == "__main__":
    main()
