"""What comes of a request, as a value: its outputs, or the error that it is told."""

import traceback
from typing import Any

import torch

from triton_pytorch.model_config.errors import BackendError

# The requested outputs by name, in the order of config.pbtxt: tensors or lists of strings.
Parts = dict[str, Any]
Outcome = Parts | Exception


class UnforeseenError(Exception):
    """An error that nobody foresaw, as text: the error alone, and with its traceback."""

    def __init__(self, error: Exception) -> None:
        super().__init__("".join(traceback.format_exception_only(error)).strip())
        self.trace = "".join(traceback.format_exception(error))


def as_outcome(error: Exception) -> Exception:
    """Return an error as a value: without its traceback and cause, whose frames keep the tensors of a call alive."""
    if not isinstance(error, BackendError):
        return UnforeseenError(error)
    error.__traceback__ = error.__cause__ = error.__context__ = None
    return error


def copied(outcome: Outcome) -> Outcome:
    """Return an outcome in memory of its own: a model may return memory that it writes to in its next call."""
    if isinstance(outcome, Exception):
        return outcome
    try:
        return {name: part.clone() if isinstance(part, torch.Tensor) else part for name, part in outcome.items()}
    except RuntimeError as error:  # not enough memory for these outputs: the error of this request, and of no other
        return as_outcome(error)
