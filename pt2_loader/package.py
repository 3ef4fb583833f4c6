"""An opened AOTInductor package: flat leaves in, flat leaves out."""

from collections.abc import Sequence

import torch

from triton_pytorch.contract.plan import PlannedLeaves
from triton_pytorch.model_config.errors import ArtifactError, ModelRunError
from triton_pytorch.pt2_loader.description import PackageDescription
from triton_pytorch.pt2_loader.library import Library
from triton_pytorch.torch_runtime.failures import reason
from triton_pytorch.torch_runtime.session import RunMode

Output = torch.Tensor | None


class Package:
    """A compiled model that takes all its inputs and returns the planned outputs; runs one call at a time."""

    def __init__(self, library: Library, leaves: PlannedLeaves, mode: RunMode) -> None:
        self.device = library.device
        self.session = mode.session_on(library.device)
        self._library = library
        self._run = library.runner.run
        self._positions = [index for leaf in leaves.outputs if (index := leaf.names.index) is not None]

    def run(self, leaves: list[torch.Tensor]) -> Sequence[Output]:
        """Call the model with one tensor for each input; returns one, or None, for each of the planned outputs.

        The tensors must be contiguous, aligned and on `device`: the compiled code checks nothing.

        Raises:
            ModelRunError: the model failed; the text is torch's, in one line without places in C++.
        """
        try:
            outputs = self._run(leaves)
        except RuntimeError as error:
            raise ModelRunError(reason(error), whole=str(error)) from error
        return [outputs[position] for position in self._positions]

    def close(self) -> None:
        """Give the unpacked files back; nothing is called after that."""
        self._library.close()


def open_package(description: PackageDescription, leaves: PlannedLeaves, mode: RunMode) -> Package:
    """Open a described package for the leaves that a config names.

    Raises:
        ArtifactError: torch cannot load the library, its weights are damaged, or it is not that of the description.
        PlacementError: the model was compiled for another device.
        StoreError: the archive cannot be unpacked.
    """
    library = description.library
    if description.specs is not None and description.specs != library.specs:
        library.close()
        raise ArtifactError(
            f"'{description.archive.path}' holds the source of another model than that of its library: build it again"
        )
    return Package(library, leaves, mode)
