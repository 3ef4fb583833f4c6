"""What serving costs models as people have them, in each format: a small ResNet and a small Transformer encoder."""

import multiprocessing
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, ProcessPoolExecutor
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import torch

from triton_pytorch.benchmarks.clients import Load, find_client
from triton_pytorch.benchmarks.plain_call import calls_per_second
from triton_pytorch.benchmarks.throughput import (
    asking,
    print_figure,
    share,
    take_turns,
    wait_for_all_models,
    write_model,
)
from triton_pytorch.local_server.installation import find_installation
from triton_pytorch.local_server.progress import progress
from triton_pytorch.local_server.server import Server
from triton_pytorch.tests.assets.configs import model_config, tensor_config
from triton_pytorch.tests.assets.packages import package_paths
from triton_pytorch.tests.assets.real_models import small_encoder, small_resnet

ROUNDS = 3
ROWS = 8
TWO_INSTANCES_TARGET = 1.7
_MODELS: Mapping[str, Callable[[], tuple[torch.nn.Module, tuple[int, ...]]]] = {
    "small_resnet": small_resnet,
    "small_encoder": small_encoder,
}
_PLATFORMS = {".pt2": "torch_aoti", ".pt": "pytorch_libtorch"}


def run() -> None:
    """Serve both models as package and as TorchScript, with one and with two instances, and print the ratios."""
    spawn = multiprocessing.get_context("spawn")
    with (
        tempfile.TemporaryDirectory(prefix="triton_pytorch_bench_") as directory,
        ProcessPoolExecutor(1, mp_context=spawn) as other_process,
    ):
        store = Path(directory, "store")
        archives = {(name, archive.suffix): archive for name, archive in _archives(Path(directory))}
        for (name, suffix), archive in archives.items():
            for instances in (1, 2):
                _write(Path(directory, "models"), name, suffix, archive, instances)
        client = find_client(find_installation().library_directories, Path(directory, "libraries"), other_process)
        environment = {"TRITON_PYTORCH_STORE": str(store), "OMP_NUM_THREADS": "1"}
        with Server(Path(directory, "models"), environment=environment) as server:
            with progress("starting tritonserver with two models in two formats"):
                wait_for_all_models(server)
            for (name, suffix), archive in archives.items():
                shape = (ROWS, *_MODELS[name]()[1])
                plain = partial(calls_per_second, archive, store, shape)
                served = (
                    asking(client, server, Load(_served_name(name, suffix, count), {"INPUT__0": shape}, 1 + 2 * count))
                    for count in (1, 2)
                )
                with progress(f"asking {name}{suffix}, {ROUNDS} rounds"):
                    alone, one, two = take_turns(partial(_result_of, other_process, plain), *served, rounds=ROUNDS)
                _print(f"{name}{suffix}", alone, one, two)


def _result_of(process: Executor, call: Callable[[], float]) -> float:
    return process.submit(call).result()


def _archives(directory: Path) -> Iterator[tuple[str, Path]]:
    packages = package_paths(_MODELS)
    for name, make in _MODELS.items():
        yield name, packages[name]
        script = directory / f"{name}.pt"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # torch announces the end of TorchScript
            torch.jit.save(torch.jit.script(make()[0]), str(script))
        yield name, script


def _served_name(name: str, suffix: str, instances: int) -> str:
    return f"{name}_{suffix[1:]}_{instances}"


def _write(repository: Path, name: str, suffix: str, archive: Path, instances: int) -> None:
    shape = _MODELS[name]()[1]
    output = (10,) if name == "small_resnet" else shape
    config: dict[str, Any] = model_config(
        [tensor_config("INPUT__0", dims=shape)],
        [tensor_config("OUTPUT__0", dims=output)],
        platform=_PLATFORMS[suffix],
        max_batch_size=ROWS,
        dynamic_batching={},
        instance_group=[{"kind": "KIND_CPU", "count": instances}],
    )
    version_directory = write_model(repository, _served_name(name, suffix, instances), config)
    (version_directory / f"model{suffix}").symlink_to(archive)


def _print(name: str, alone: tuple[float, ...], one: tuple[float, ...], two: tuple[float, ...]) -> None:
    print_figure(f"{name}, plain call, {ROWS} rows, one thread", f"{1000 / median(alone):6.2f} ms")
    print_figure("served by one instance, share of that", f"{share(one, alone):6.2f}, median of {ROUNDS}")
    print_figure(
        "two instances over one", f"{share(two, one):6.2f}, median of {ROUNDS}; target {TWO_INSTANCES_TARGET} or more"
    )
