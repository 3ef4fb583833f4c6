"""What serving costs: a tiny package against an identity model, and a package of some milliseconds against its call.

All sides of a comparison take turns, and the median of the rounds' ratios counts: a machine that is slower for a while
is so for all of them.
"""

import multiprocessing
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from triton_pytorch.benchmarks.clients import Client, Load, find_client
from triton_pytorch.benchmarks.plain_call import calls_per_second
from triton_pytorch.local_server.installation import find_installation
from triton_pytorch.local_server.progress import progress
from triton_pytorch.local_server.server import Server
from triton_pytorch.tests.assets.configs import as_pbtxt, model_config, tensor_config
from triton_pytorch.tests.assets.packages import package_paths

ROOT = Path(__file__).resolve().parents[1]
ROUNDS = 7
# By requests in flight: the least share of the identity model's throughput.
SHARE_TARGETS = {1: 0.65, 16: 0.80}
OVERHEAD_TARGET_PERCENT = 5

_TINY_INPUTS = {"INPUT__0": (1, 4), "INPUT__1": (1, 4)}
_MLP_INPUTS = {"INPUT__0": (8, 1024)}
_MLP_CONCURRENCY = 3  # one request is computed, one is on its way in, one on its way out

# The least that a model in the Python backend can do: it imports neither torch nor numpy.
_IDENTITY_MODEL = """
import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    def execute(self, requests):
        return [pb_utils.InferenceResponse(self.outputs(request)) for request in requests]

    def outputs(self, request):
        return [
            pb_utils.Tensor.from_dlpack(f"OUTPUT__{i}", tensor.to_dlpack())
            for i, tensor in enumerate(request.inputs())
        ]
"""

# The least that a model which calls the package can do: what it takes is what Triton's Python backend takes.
_UNCHECKED_MODEL = """
import runpy
from pathlib import Path
import triton_python_backend_utils as pb_utils

runpy.run_path({entry!r})  # makes the package importable

class TritonPythonModel:
    def initialize(self, args):
        import torch
        from triton_pytorch.benchmarks.plain_call import opened_package
        from triton_pytorch.torch_runtime.tensors import from_dlpack, to_dlpack

        self.model = opened_package(Path({package!r}))
        self.inference_mode, self.from_dlpack, self.to_dlpack = torch.inference_mode, from_dlpack, to_dlpack

    def execute(self, requests):
        with self.inference_mode():
            return [pb_utils.InferenceResponse([self.output(request)]) for request in requests]

    def output(self, request):
        aligned = self.from_dlpack(request.inputs()[0].to_dlpack()).clone()
        return pb_utils.Tensor.from_dlpack("OUTPUT__0", self.to_dlpack(self.model.run([aligned])[0]))
"""


def take_turns(*sides: Callable[[], float], rounds: int = ROUNDS) -> list[tuple[float, ...]]:
    """Measure all sides once a round; returns the rates of each side."""
    measured = [[side() for side in sides] for _ in range(rounds)]
    return list(zip(*measured, strict=True))


def share(ours: Sequence[float], reference: Sequence[float]) -> float:
    """Return a rate as a share of a reference: the median over the rounds."""
    return median(ours / reference for ours, reference in zip(ours, reference, strict=True))


def overhead_percent(ours: Sequence[float], reference: Sequence[float]) -> float:
    """Return how much more time one of ours takes than one of the reference."""
    return 100 * (1 / share(ours, reference) - 1)


def run() -> None:
    """Serve the models in one server and print what was measured."""
    packages = package_paths(["add_sub", "mlp"])
    spawn = multiprocessing.get_context("spawn")
    with (
        tempfile.TemporaryDirectory(prefix="triton_pytorch_bench_") as directory,
        ProcessPoolExecutor(1, mp_context=spawn) as other_process,
    ):
        store = Path(directory, "store")
        client = find_client(find_installation().library_directories, Path(directory, "libraries"), other_process)
        print(f"load over gRPC by {client.description}")
        # One thread for each model: the other cores are for the server and its client.
        environment = {"TRITON_PYTORCH_STORE": str(store), "OMP_NUM_THREADS": "1"}
        with Server(_lay_out(Path(directory, "models"), packages), environment=environment) as server:
            with progress("starting tritonserver with four models"):
                wait_for_all_models(server)
            _compare_with_identity(server, client)
            plain_calls = partial(calls_per_second, packages["mlp"], store, _MLP_INPUTS["INPUT__0"])
            _compare_with_plain_call(server, client, other_process, plain_calls)


def _lay_out(repository: Path, packages: Mapping[str, Path]) -> Path:
    unchecked = _UNCHECKED_MODEL.format(entry=str(ROOT / "model.py"), package=str(packages["mlp"]))
    _write_python_model(repository, "identity", _tiny_config(backend="python", platform=""), _IDENTITY_MODEL)
    _write_python_model(repository, "unchecked_mlp", _mlp_config(backend="python", platform=""), unchecked)
    (write_model(repository, "add_sub", _tiny_config()) / "model.pt2").symlink_to(packages["add_sub"])
    (write_model(repository, "mlp", _mlp_config()) / "model.pt2").symlink_to(packages["mlp"])
    return repository


def _tiny_config(**more: Any) -> dict[str, Any]:
    return _config([f"INPUT__{i}" for i in range(2)], [f"OUTPUT__{i}" for i in range(2)], 4, max_batch_size=16, **more)


def _mlp_config(**more: Any) -> dict[str, Any]:
    return _config(["INPUT__0"], ["OUTPUT__0"], 1024, max_batch_size=8, **more)


def _config(inputs: Sequence[str], outputs: Sequence[str], size: int, **more: Any) -> dict[str, Any]:
    entries = ([tensor_config(name, dims=(size,)) for name in names] for names in (inputs, outputs))
    return model_config(*entries, dynamic_batching={}, instance_group=[{"kind": "KIND_CPU", "count": 1}], **more)


def _write_python_model(repository: Path, name: str, config: Mapping[str, Any], source: str) -> None:
    (write_model(repository, name, config) / "model.py").write_text(source, encoding="utf-8")


def write_model(repository: Path, name: str, config: Mapping[str, Any]) -> Path:
    """Write a model without its file into a repository, and return its version directory."""
    version_directory = repository / name / "1"
    version_directory.mkdir(parents=True)
    (version_directory.parent / "config.pbtxt").write_text(as_pbtxt(config), encoding="utf-8")
    return version_directory


def wait_for_all_models(server: Server) -> None:
    """Wait until the server is ready; raises RuntimeError where it refuses a model."""
    server.wait_until_ready()
    refused = server.models().refused
    if refused:
        raise RuntimeError(f"the server refused models: {refused}")


def _compare_with_identity(server: Server, client: Client) -> None:
    for concurrency, target in SHARE_TARGETS.items():
        with progress(f"asking the tiny models, {concurrency} at a time, in {ROUNDS} rounds"):
            identity, package = take_turns(
                *(
                    asking(client, server, Load(model, _TINY_INPUTS, concurrency, kinds=8))
                    for model in ("identity", "add_sub")
                )
            )
        print_figure(f"identity model, {concurrency} at a time", f"{median(identity):6.0f} requests/s")
        print_figure(f"add/sub package, {concurrency} at a time", f"{median(package):6.0f} requests/s")
        print_figure(
            "its share of that", f"{share(package, identity):6.2f}, median of {ROUNDS}; target {target:.2f} or more"
        )


def _compare_with_plain_call(
    server: Server, client: Client, other_process: Executor, plain_calls: Callable[[], float]
) -> None:
    served = (asking(client, server, Load(model, _MLP_INPUTS, _MLP_CONCURRENCY)) for model in ("unchecked_mlp", "mlp"))
    with progress(f"calling an MLP with and without a server, in {ROUNDS} rounds"):
        plain, unchecked, package = take_turns(lambda: other_process.submit(plain_calls).result(), *served)
    print_figure("plain call of the MLP with 8 rows, one thread", f"{1000 / median(plain):6.2f} ms")
    print_figure(f"served, {_MLP_CONCURRENCY} at a time", f"{1000 / median(package):6.2f} ms a request")
    added = overhead_percent(package, plain)
    print_figure("what serving adds", f"{added:6.1f} %, median of {ROUNDS}; target below {OVERHEAD_TARGET_PERCENT} %")
    print_figure(
        "what a model.py without any check adds", f"{overhead_percent(unchecked, plain):6.1f} %, median of {ROUNDS}"
    )


def asking(client: Client, server: Server, load: Load) -> Callable[[], float]:
    """Return what measures how many requests of a load a server answers in a second."""
    return partial(client.requests_per_second, server.grpc_url, load)


def print_figure(what: str, figure: str) -> None:
    """Print a figure beside what it is."""
    print(f"{what:<48} {figure}")
