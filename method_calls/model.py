"""An opened model that is a Python callable."""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from triton_pytorch.method_calls.calls import Call
from triton_pytorch.method_calls.result_reader import Output, ResultReader
from triton_pytorch.model_config.errors import ModelRunError
from triton_pytorch.torch_runtime.session import Session


class MethodModel:
    """Flat leaves in, flat leaves out; runs one call at a time.

    Args:
        call: calls the callable with the planned input leaves.
        reader: finds the planned output leaves in its results.
        device: where tensors among the input leaves have to be.
        session: the context in which `run` is called.
        errors: the exceptions with which the callable says that it failed.
        reason: makes of such an exception one line for the client.
    """

    def __init__(
        self,
        call: Call,
        reader: ResultReader,
        *,
        device: torch.device,
        session: Session,
        errors: tuple[type[Exception], ...],
        reason: Callable[[Exception], str],
    ) -> None:
        self.device = device
        self.session = session
        self._call = call
        self._read = reader.read
        self._errors = errors
        self._reason = reason

    def run(self, leaves: list[Any]) -> Sequence[Output]:
        """Call the callable with a tensor, a list of strings or a number for each input leaf, None for one not sent.

        Returns a tensor, a list of strings or None for each output leaf, or a ModelRunError where the answer has no
        such part; the others are right.

        Raises:
            ModelRunError: the callable failed; the text is its own, in one line.
        """
        try:
            result = self._call(leaves)
        except self._errors as error:
            raise ModelRunError(self._reason(error), whole=str(error)) from error
        return self._read(result)

    def close(self) -> None:
        """Release the callable and its weights."""
        del self._call
