"""The one place that touches torch's private switches of the TorchScript executor.

torch has no public ones, except for optimised execution within a `with` block. Each is looked up when it is used, so
that a release of torch that has moved one costs a warning, and only where a model asks for it.
"""

from dataclasses import dataclass
from typing import Any

import torch


@dataclass(frozen=True, slots=True)
class Switch:
    """One switch: its name in the log, and what of `torch._C` sets and reads it; without `reader`, setting reads."""

    title: str
    setter: str
    reader: str | None = None

    def turn(self, is_on: bool) -> bool:
        """Turn the switch; returns False where this torch does not have it."""
        turn: Any = getattr(torch._C, self.setter, None)
        if turn is not None:
            turn(is_on)
        return turn is not None

    def state(self) -> bool | None:
        """Return whether the switch is on; None where this torch does not have it."""
        if self.reader is not None:
            read: Any = getattr(torch._C, self.reader, None)
            return None if read is None else bool(read())
        turn: Any = getattr(torch._C, self.setter, None)
        if turn is None:
            return None
        was_on = bool(turn(True))
        turn(was_on)
        return was_on


# This one belongs to the thread that turns it, the others to the process.
OPTIMIZED_EXECUTION = Switch("optimised execution", "_set_graph_executor_optimize", "_get_graph_executor_optimize")
PROFILING_EXECUTOR = Switch("profiling executor", "_jit_set_profiling_executor")
PROFILING = Switch("profiling", "_jit_set_profiling_mode")
TENSOR_FUSER = Switch("tensor fuser", "_jit_set_texpr_fuser_enabled", "_jit_texpr_fuser_enabled")
SWITCHES = (OPTIMIZED_EXECUTION, PROFILING_EXECUTOR, PROFILING, TENSOR_FUSER)
