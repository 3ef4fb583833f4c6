"""What every format says of a model before it is opened; the loaders match it without inheriting from it."""

from collections.abc import Sequence
from typing import Protocol

from triton_pytorch.contract.sections import Section
from triton_pytorch.contract.signature import Signature


class Description(Protocol):
    """A described model, with whatever its loader read on the way and needs to open it."""

    @property
    def signature(self) -> Signature:
        """What the model takes and returns; raises BackendError where that cannot be told."""
        ...

    @property
    def warnings(self) -> Sequence[str]:
        """What is not known of the model, or may go wrong with it on its device; one sentence each."""
        ...

    def sections(self) -> Sequence[Section]:
        """Return what `inspect` prints."""
        ...
