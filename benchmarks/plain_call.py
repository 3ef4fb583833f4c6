"""What a model costs without any server around it: the package opened as the backend opens it, called in a loop."""

import time
from functools import cache
from pathlib import Path

import torch

from triton_pytorch.artifact_store.store import Store
from triton_pytorch.pt2_loader.package import Package, open_package

_WINDOW_S = 1.0


def calls_per_second(archive: Path, store: Path, shape: tuple[int, ...]) -> float:
    """Call a package with one input of zeros, with one thread, for a window of fixed length."""
    model = _opened(archive, store)
    leaves = [torch.zeros(shape)]
    calls = 0
    with torch.inference_mode():
        model.run(leaves)
        start = time.perf_counter()
        while (elapsed_s := time.perf_counter() - start) < _WINDOW_S:
            model.run(leaves)
            calls += 1
    return calls / elapsed_s


@cache
def _opened(archive: Path, store: Path) -> Package:
    torch.set_num_threads(1)
    return open_package(archive, None, None, Store(store))
