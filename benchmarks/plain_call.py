"""What a model costs without any server around it: opened as torch opens it, called in a loop."""

import os
import time
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import torch

from triton_pytorch.artifact_store.location import VARIABLE
from triton_pytorch.artifact_store.model_file import open_model_file
from triton_pytorch.contract.plan import PlannedLeaves
from triton_pytorch.model_config.parameters import Parameters
from triton_pytorch.pt2_loader.description import describe
from triton_pytorch.pt2_loader.package import Package, open_package
from triton_pytorch.torch_runtime.session import RunMode

_WINDOW_S = 1.0
_WARM_UP_CALLS = 5  # TorchScript compiles in its second and third


def calls_per_second(archive: Path, store: Path, shape: tuple[int, ...]) -> float:
    """Call a package or TorchScript archive with one input of zeros, with one thread, for a window of fixed length.

    Packages are unpacked into `store`, also by all else that this process opens.
    """
    call = _opened(archive, store)
    x = torch.zeros(shape)
    calls = 0
    with torch.inference_mode():
        for _ in range(_WARM_UP_CALLS):
            call(x)
        start = time.perf_counter()
        while (elapsed_s := time.perf_counter() - start) < _WINDOW_S:
            call(x)
            calls += 1
    return calls / elapsed_s


@cache
def _opened(archive: Path, store: Path) -> Callable[[torch.Tensor], Any]:
    torch.set_num_threads(1)
    if archive.suffix == ".pt":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # torch announces the end of TorchScript
            module: Callable[[torch.Tensor], Any] = torch.jit.load(str(archive))  # type: ignore[no-untyped-call]
            return module
    os.environ[VARIABLE] = str(store)
    package = opened_package(archive)
    return lambda x: package.run([x])


def opened_package(archive: Path) -> Package:
    """Open a package for all that it takes and returns, without a config."""
    with open_model_file(archive) as file:
        description = describe(file, Parameters(), None)
        signature = description.signature
        return open_package(description, PlannedLeaves(signature.inputs, signature.outputs), RunMode())
