"""Compiled packages that tests and benchmarks serve: compiled once, and again when builder, torch or CPU change.

`python tests/assets/packages.py NAME=PATH ...` compiles in a process of its own, so that inductor stays out of the
tests; `package_path(NAME)` calls it where the cache has no such package.
"""

import hashlib
import inspect
import os
import platform
import runpy
import subprocess
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
CACHE = Path(os.environ.get("TRITON_PYTORCH_TEST_CACHE", ROOT / ".cache" / "packages"))
NESTED_EXAMPLE = ROOT / "examples" / "nested"
_COMPILE_LIMIT_S = 1200

Builder = Callable[[Path], None]
BUILDERS: dict[str, Builder] = {}


def builder(build: Builder) -> Builder:
    """Add a builder to the table, under the function's name."""
    BUILDERS[build.__name__] = build
    return build


def package_path(name: str) -> Path:
    """Return the path of a compiled package, compiling it first where that was not done before."""
    return package_paths([name])[name]


def package_paths(names: Iterable[str]) -> dict[str, Path]:
    """Return the paths of compiled packages; the missing ones are compiled in one process."""
    paths = {name: CACHE / f"{name}-{_key(BUILDERS[name])}.pt2" for name in names}
    missing = [f"{name}={path}" for name, path in paths.items() if not path.exists()]
    if missing:
        CACHE.mkdir(parents=True, exist_ok=True)
        print(f"compiling {len(missing)} packages, 5 to 40 s each, kept in {CACHE}", file=sys.__stderr__, flush=True)
        subprocess.run(
            [sys.executable, "-W", "ignore", __file__, *missing], check=True, timeout=_COMPILE_LIMIT_S, cwd=CACHE
        )
    return paths


def _key(build: Builder) -> str:
    example = (NESTED_EXAMPLE / "nested_model.py").read_text(encoding="utf-8") if build is nested else ""
    source = inspect.getsource(build) + inspect.getsource(compile_to) + example
    machine = f"{platform.machine()} {_cpu_flags()}"
    return hashlib.sha256(f"{source}|{version('torch')}|{sys.version_info[:2]}|{machine}".encode()).hexdigest()[:16]


def _cpu_flags() -> str:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    return next((line for line in lines if line.startswith("flags")), "")


def module(forward: Callable[..., Any], **attributes: Any) -> Any:
    """Make an nn.Module of a function whose first argument is the module."""
    import torch

    model = type("Model", (torch.nn.Module,), {"forward": forward})()
    for name, value in attributes.items():
        setattr(model, name, value)
    return model


def compile_to(
    path: Path,
    model: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    inductor_configs: dict[str, Any] | None = None,
) -> None:
    """Export and compile a module into a package."""
    import torch

    program = torch.export.export(model.eval(), args, kwargs, dynamic_shapes=dynamic_shapes)
    torch._inductor.aoti_compile_and_package(program, package_path=str(path), inductor_configs=inductor_configs)


@builder
def nested(path: Path) -> None:
    runpy.run_path(str(NESTED_EXAMPLE / "nested_model.py"))["build_package"](path)


@builder
def all_dtypes(path: Path) -> None:
    """Every dtype that Triton and torch share, each turned around, so that no output is its input."""
    import torch

    integers = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
    names = ["bool", *integers, "float16", "bfloat16", "float32", "float64"]
    inputs = {name: torch.zeros(2, 4).to(getattr(torch, name)) for name in names}
    batch = {0: torch.export.Dim("batch")}
    compile_to(
        path,
        module(lambda self, d: {name: torch.cat([x[:, 2:], x[:, :2]], 1) for name, x in d.items()}),
        (inputs,),
        dynamic_shapes=(dict.fromkeys(names, batch),),
    )


@builder
def keyword_trees(path: Path) -> None:
    """Keyword-only, with nested, empty and oddly keyed containers; the result is a tuple of one."""
    import torch

    def forward(self: Any, *, options: Any, table: Any, empty: Any) -> Any:
        first, (second,) = options["b"], options["a"]
        result = {"sum": first + 10 * second, 7: table[3] + 100 * table[5]}
        return (OrderedDict(sorted(result.items(), key=str)),)

    x = torch.ones(3)
    kwargs = {"options": {"b": x, "a": (x + 1,)}, "table": OrderedDict([(5, x + 2), (3, x + 3)]), "empty": {}}
    compile_to(path, module(forward), (), kwargs)


@builder
def scalars(path: Path) -> None:
    """A 0-d result, a zero-size result, a transposed and an expanded one."""
    import torch

    open_length = {0: torch.export.Dim("length", min=1, max=1000)}
    compile_to(
        path,
        module(lambda self, x: (x.sum(), x[:0], (x + 1).reshape(1, -1).expand(3, -1).t(), x)),
        (torch.arange(4.0),),
        dynamic_shapes=(open_length,),
    )


@builder
def writes_to_its_input(path: Path) -> None:
    import torch

    def forward(self: Any, x: Any, y: Any) -> Any:
        x.add_(1)
        return x * 2 + y

    compile_to(path, module(forward), (torch.randn(2, 3), torch.randn(2, 3)))


@builder
def reduces_the_batch(path: Path) -> None:
    import torch

    model = module(lambda self, x: (x.mean(0, keepdim=True), x.sum(), x + 1))
    compile_to(path, model, (torch.randn(4, 3),), dynamic_shapes=({0: torch.export.Dim("batch", min=1)},))


@builder
def looks_up(path: Path) -> None:
    """Rows of a small table by index; an index out of range raises, where a larger kernel would abort."""
    import torch

    compile_to(path, module(lambda self, index: self.table[index], table=torch.arange(10.0)), (torch.tensor([1, 2]),))


@builder
def weights_beside_the_library(path: Path) -> None:
    """Tied weights, a transposed half-precision buffer, and a buffer that the model writes to."""
    import torch

    torch.manual_seed(0)
    linear = torch.nn.Linear(64, 64)

    def forward(self: Any, x: Any) -> Any:
        self.calls.add_(torch.tensor([1.0, 2.0]))
        return self.linear(x) + self.rows.sum(0) + self.scale.float().sum(), self.calls + 0

    model = module(forward, linear=linear, rows=torch.nn.Parameter(linear.weight.detach()[3:5]))
    model.register_buffer("calls", torch.tensor([0.0, 5.0]))
    model.register_buffer("scale", torch.arange(15, dtype=torch.float16).reshape(3, 5).t())
    compile_to(
        path,
        model,
        (torch.randn(2, 64),),
        dynamic_shapes=({0: torch.export.Dim("batch")},),
        inductor_configs={
            "aot_inductor.package_constants_in_so": False,
            "aot_inductor.package_constants_on_disk_format": "pickle_weights",
        },
    )


@builder
def without_its_weights(path: Path) -> None:
    import torch

    compile_to(
        path,
        torch.nn.Linear(8, 8),
        (torch.randn(2, 8),),
        inductor_configs={"aot_inductor.package_constants_in_so": False},
    )


@builder
def none_argument(path: Path) -> None:
    import torch

    def forward(self: Any, x: Any, skipped: Any, y: Any) -> Any:
        return x - y

    compile_to(path, module(forward), (torch.ones(3), None, torch.ones(3)))


@builder
def two_models(path: Path) -> None:
    """Two models in one package, neither named "model"."""
    import torch
    from torch._inductor.package.package import package_aoti

    def files(forward: Any) -> Any:
        x = torch.ones(3)
        program = torch.export.export(module(forward), (x,))
        return torch._inductor.aot_compile(program.module(), (x,), options={"aot_inductor.package": True})

    package_aoti(str(path), {"doubles": files(lambda self, x: x * 2), "squares": files(lambda self, x: x * x)})


@builder
def linear_65_mb(path: Path) -> None:
    """A linear layer of 4096 x 4096 float32 weights (64 MiB) inside its library, as torch packages them by default."""
    import torch

    batch = {0: torch.export.Dim("batch", min=1, max=64)}
    compile_to(path, torch.nn.Linear(4096, 4096), (torch.randn(2, 4096),), dynamic_shapes=(batch,))


def main(arguments: list[str]) -> None:
    """Compile each NAME=PATH; a package appears under its path only when it is whole."""
    for argument in arguments:
        name, _, path = argument.partition("=")
        unfinished = Path(path).with_suffix(f".{os.getpid()}.pt2")
        BUILDERS[name](unfinished)
        unfinished.replace(path)
        print(f"compiled {name}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
