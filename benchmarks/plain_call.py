"""What a model costs without any server around it: opened as torch opens it, called in a loop."""

import time
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import torch

from triton_pytorch.artifact_store.store import Store
from triton_pytorch.pt2_loader.package import open_package

_WINDOW_S = 1.0
_WARM_UP_CALLS = 5  # TorchScript compiles in its second and third


def calls_per_second(archive: Path, store: Path, shape: tuple[int, ...]) -> float:
    """Call a package or TorchScript archive with one input of zeros, with one thread, for a window of fixed length."""
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
    package = open_package(archive, None, None, Store(store))
    return lambda x: package.run([x])
