"""Whether the rows of an output are those of its request and of no other: seen once, before requests share a call.

Numbers of rows agree by chance: a mean over the batch has one row, as a single request has, and a time-first output as
many as there are steps. So the rows of a request are sent once and, in a call of their own, twice. Outputs that give
the same rows each time are batched. Rows that depend on other rows, but not where those are equal, pass: nothing short
of the model's source can tell.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from triton_pytorch.execution.outputs import Results
from triton_pytorch.execution.requests import Reading
from triton_pytorch.execution.responses import Part, Parts, Responder, faults
from triton_pytorch.model_config.configuration import ModelConfig
from triton_pytorch.model_config.errors import ModelRunError, first_line

_TRIALS = 3  # for a model that was disturbed once, or answers one kind of request differently
_TOLERANCE = 0.01  # of the largest value: kernels take other paths for other numbers of rows, and round differently


class Proof:
    """Knows which outputs of a model were not seen to be batched yet: their requests share no call.

    An output that stays doubtful for all of its trials is left so for good, with a line in the log.
    """

    def __init__(self, config: ModelConfig, responder: Responder, call: Callable[[Sequence[Reading]], Results]) -> None:
        self.doubtful = {tensor.name for tensor in config.outputs} if config.max_batch_size > 1 else set()
        self._trials = dict.fromkeys(self.doubtful, _TRIALS)
        self._max_batch_size = config.max_batch_size
        self._responder = responder
        self._call = call

    def examined(self, reading: Reading, parts: Parts) -> Parts:
        """Return what a request got alone, without what its rows sent twice show not to be batched.

        So a wrong config fails at its first request, and not under load.
        """
        names = {name for name in self.doubtful & reading.requested - faults(parts).keys() if self._trials[name]}
        if not names or not 0 < 2 * reading.rows <= self._max_batch_size:
            return parts
        twice = [reading, reading]
        try:
            again = self._responder.parts(twice, self._call(twice), is_last_call=True)  # none of it is sent
        except Exception as error:
            for name in names:
                self._fail(name, f"the model fails on {2 * reading.rows} rows ({first_line(error)})")
            return parts
        return {
            name: self._compared(name, part, again[name]) if name in names else part for name, part in parts.items()
        }

    def _compared(self, name: str, once: Part, twice: Part) -> Part:
        if isinstance(once, ModelRunError):
            return once
        if isinstance(twice, ModelRunError):
            return ModelRunError(f"{twice} (seen on rows sent twice)")
        if all(_are_same(once[0], rows) for rows in twice):
            self.doubtful.discard(name)
        else:
            self._fail(name, "its rows come out different where they are sent twice in one call")
        return once

    def _fail(self, name: str, reason: str) -> None:
        self._trials[name] -= 1
        if not self._trials[name]:
            self._responder.log_once(
                f"proof of {name}",
                f"requests for output '{name}' are not merged, since {reason}: if its rows depend on one another, set "
                "max_batch_size: 0",
            )


def _are_same(one: Any, other: Any) -> bool:
    if not isinstance(one, torch.Tensor):
        return bool(one == other)
    if one.shape != other.shape:
        return False
    if not one.is_floating_point():
        return torch.equal(one, other)
    one, other = one.double(), other.double()
    largest = float(one.nan_to_num().abs().max()) if one.numel() else 0.0
    return torch.allclose(one, other, rtol=_TOLERANCE, atol=_TOLERANCE * largest, equal_nan=True)
