"""Whether the rows of an output are those of its request and of no other: seen before requests share a call.

Nothing says that a model is batched in its first dimension, and numbers of rows agree by chance: a mean over the batch
has one row, as a single request has, and a time-first output as many as there are steps. So a request for an output
that was not seen to be batched runs alone, and then

1. its rows are sent twice in one call. Other numbers of rows than that show a wrong config. The same rows twice allow
   requests equal to this one to share calls, and no others;
2. requests that come together, and whose answers differ, run once more in one call, in both orders. The same rows as
   alone prove the output.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from triton_pytorch.execution.outputs import Results
from triton_pytorch.execution.requests import Leaves, Reading
from triton_pytorch.execution.responses import Part, Parts, Responder
from triton_pytorch.model_config.configuration import ModelConfig
from triton_pytorch.model_config.errors import ModelRunError, first_line

_ALIKE_ENOUGH = 8  # an output that is the same for everybody (a flag) cannot show whose rows are whose
_COMPARED_TOGETHER = 4096  # numbers in a tensor: copying larger ones to compare them costs more than it saves
_TRIALS = 3  # for a model that was disturbed once
# Kernels take other paths for other numbers of rows, and round differently; the rows of others differ by more.
_TOLERANCE = 1e-3


@dataclass(frozen=True, slots=True)
class Served:
    """A request with what it got from a call of its own."""

    reading: Reading
    parts: Parts

    def part(self, name: str) -> Any:
        """Return its part of an output; None where there is a fault instead."""
        part = self.parts.get(name)
        return None if part is None or isinstance(part, ModelRunError) else part[0]


class Proof:
    """Knows which outputs of a model are doubtful: not seen to be batched, for requests of one set of inputs."""

    def __init__(self, config: ModelConfig, responder: Responder, call: Callable[[Sequence[Reading]], Results]) -> None:
        self.doubtful = {tensor.name for tensor in config.outputs} if config.max_batch_size > 1 else set()
        self._samples: dict[str, Leaves] = {}  # what outputs were given whose rows came back twice
        self._trials = dict.fromkeys(self.doubtful, _TRIALS)
        self._alike = dict.fromkeys(self.doubtful, 0)  # how often answers were the same where requests differed
        self._max_batch_size = config.max_batch_size
        self._responder = responder
        self._call = call

    def is_open(self, names: set[str]) -> bool:
        """Return whether any of these outputs is doubtful and has a trial left."""
        return any(self._trials[name] for name in names & self.doubtful)

    def learns_from(self, reading: Reading) -> bool:
        """Return whether a request on its own, with its rows sent twice, can show anything new."""
        return 0 < 2 * reading.rows <= self._max_batch_size and self.is_open(reading.requested - self._samples.keys())

    def can_share(self, readings: Sequence[Reading]) -> bool:
        """Return whether requests that ask for doubtful outputs are equal to one that was sent twice for each."""
        names = self.doubtful & set().union(*[reading.requested for reading in readings])
        if len(readings) < 2 or not names <= self._samples.keys():
            return False
        samples = {id(sample): sample for sample in (self._samples[name] for name in names)}.values()
        return all(_are_like([reading.leaves for reading in readings], sample) for sample in samples)

    def examine(self, served: Sequence[Served]) -> list[Served]:
        """Return what requests got, without what further calls show not to be batched; never raises."""
        try:
            checked = [self._sent_twice(one) for one in served]
            if len(checked) > 1:
                self._send_together(checked)
        except Exception as error:  # of comparing what may be of any size: the answers are there already
            self._lose_trials(self.doubtful, f"its rows could not be compared ({first_line(error)})")
            return list(served)
        return checked

    def _sent_twice(self, one: Served) -> Served:
        reading = one.reading
        names = self._open(one) - self._samples.keys()
        if not names or not self.learns_from(reading):
            return one
        sample = reading.copy().leaves
        shown: dict[str, ModelRunError] = {}
        for name, part in self._parts([reading, reading], names).items():
            if name not in names:
                continue
            if isinstance(part, ModelRunError):
                shown[name] = ModelRunError(f"{part} (seen on rows sent twice)")
            elif all(_is_close(one.part(name), rows) for rows in part):
                self._samples[name] = sample
            else:
                self._lose_trials({name}, "its rows come out different where they are sent twice in one call")
        return Served(reading, {**one.parts, **shown})

    def _send_together(self, served: Sequence[Served]) -> None:
        if _are_like([one.reading.leaves for one in served], served[0].reading.leaves):
            return  # whoever got whose rows
        names = set().union(*map(self._open, served)) & self._samples.keys()
        for order in (served, served[::-1]):
            if names:
                together = self._parts([one.reading for one in order], names)
                names = {name for name in names & together.keys() if self._came_back(name, order, together[name])}
        for name in names:
            is_alike = not _differ([one.part(name) for one in served])
            self._alike[name] += is_alike
            if not is_alike or self._alike[name] == _ALIKE_ENOUGH:
                self.doubtful.discard(name)

    def _came_back(self, name: str, served: Sequence[Served], together: Part) -> bool:
        """Return whether requests got the same from one call, in this order, as each got alone."""
        if not isinstance(together, ModelRunError) and all(
            one.part(name) is not None and _is_close(one.part(name), rows)
            for one, rows in zip(served, together, strict=True)
        ):
            return True
        self._lose_trials({name}, "its rows come out different in one call with those of other requests")
        return False

    def _open(self, one: Served) -> set[str]:
        return {name for name in self.doubtful if one.part(name) is not None and self._trials[name]}

    def _parts(self, readings: Sequence[Reading], names: set[str]) -> Parts:
        """Return what a further call gives; nothing, and a trial lost, where the model fails on it."""
        try:
            return self._responder.parts(readings, self._call(readings), is_last_call=True)  # none of it is sent
        except Exception as error:
            rows = sum(reading.rows for reading in readings)
            self._lose_trials(names, f"the model fails on {rows} rows ({first_line(error)})")
            return {}

    def _lose_trials(self, names: set[str], reason: str) -> None:
        for name in names:
            if not self._trials[name]:
                continue
            self._trials[name] -= 1
            if not self._trials[name]:
                self._responder.log_once(
                    f"proof of {name}",
                    f"requests for output '{name}' are not merged, since {reason}: if its rows depend on one another, "
                    "set max_batch_size: 0",
                )


def _are_like(requests: Sequence[Leaves], sample: Leaves) -> bool:
    """Return whether all requests have the leaves of a sample; small tensors are compared at once, which is faster."""
    return all(
        _are_copies(leaves, expected)
        if isinstance(expected, torch.Tensor)
        else all(leaf == expected for leaf in leaves)
        for leaves, expected in zip(zip(*requests, strict=True), sample, strict=True)
    )


def _are_copies(leaves: Sequence[Any], expected: torch.Tensor) -> bool:
    if expected.numel() > _COMPARED_TOGETHER:
        return all(isinstance(leaf, torch.Tensor) and torch.equal(leaf, expected) for leaf in leaves)
    shape = expected.shape
    for leaf in leaves:
        if not isinstance(leaf, torch.Tensor) or leaf.shape != shape:
            return False
    together = torch.cat(list(leaves)).view(len(leaves), *shape)
    return torch.equal(together, expected.expand(len(leaves), *shape))


def _differ(parts: Sequence[Any]) -> bool:
    """Return whether some parts differ in what all have: in the rows that the shorter one has too."""
    there = [part.flatten() if isinstance(part, torch.Tensor) else part for part in parts if part is not None]
    return any(not _is_close(there[0][: len(part)], part[: len(there[0])]) for part in there[1:])


def _is_close(one: Any, other: Any) -> bool:
    """Return whether two parts are the same, but for the rounding of their data type, number by number."""
    if not isinstance(one, torch.Tensor):
        return bool(one == other)
    if one.shape != other.shape:
        return False
    if not one.is_floating_point() or not one.numel():
        return torch.equal(one, other)
    tolerance = max(_TOLERANCE, 8 * torch.finfo(one.dtype).eps)
    one, other = (part.float() if part.dtype.itemsize < 4 else part for part in (one, other))
    finite = one[one.isfinite()].abs()
    # What is nearly zero is rounded as the numbers that it comes from are: as a typical one, not as the largest.
    typical = float(finite.median()) if finite.numel() else 0.0
    return torch.allclose(one, other, rtol=tolerance, atol=tolerance * typical, equal_nan=True)
