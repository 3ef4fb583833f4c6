"""The one place that touches torch's private package loader.

The public `torch._inductor.aoti_load_package` imports all of inductor first (3.5 s and 80 MB), checks nothing more, and
its result is called through pytree code that swaps reordered dictionaries. The loader class below it loads in
milliseconds and takes a flat list. Where a torch release has moved it, the public call is used.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import torch


class PackageRunner(Protocol):
    """What we use of torch's loader object."""

    def run(self, inputs: list[torch.Tensor], /) -> Sequence[torch.Tensor | None]:
        """Call the model with its flat input leaves."""
        ...

    def get_call_spec(self) -> list[str]:
        """Return the input and the output tree as torch's pytree JSON."""
        ...

    def get_constant_fqns(self) -> list[str]:
        """Return the names of the weights and buffers."""
        ...

    def load_constants(
        self, constants: dict[str, torch.Tensor], use_inactive: bool, check_full_update: bool, user_managed: bool, /
    ) -> None:
        """Set the weights; user-managed ones are used where they lie and must outlive the runner."""
        ...


def open_runner(package: Path, model_name: str, device_index: int) -> PackageRunner:
    """Open one model of an unpacked package.

    Args:
        package: the directory that the archive was unpacked into.
        model_name: which model of the package.
        device_index: CUDA ordinal, or -1 for the device that the package names.

    Raises:
        RuntimeError: torch cannot load the library; the text is torch's own.
    """
    private = private_loader()
    if private is None:
        return _open_through_public_call(package, model_name, device_index)
    # Bytes, since Triton's stub sets no locale: a path that is not ASCII could not be passed as text.
    runner: PackageRunner = private(os.fsencode(package), model_name, False, 1, device_index)
    return runner


def private_loader() -> type | None:
    """Return torch's loader class, or None where this torch release does not have it."""
    bindings = getattr(torch._C, "_aoti", None)
    return getattr(bindings, "AOTIModelPackageLoader", None)


def _open_through_public_call(package: Path, model_name: str, device_index: int) -> PackageRunner:
    from torch._inductor.package.package import load_package

    runner: PackageRunner = load_package(str(package), model_name, device_index=device_index).loader
    return runner
