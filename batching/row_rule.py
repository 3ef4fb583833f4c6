"""The row rule: a call returns as many rows of an output as went in.

That an output has a row for each row of the inputs is the user's word (`max_batch_size`), as everywhere in Triton.
Where a call shows that it is not so, whose rows are whose cannot be told: its requests are run alone.
"""

from collections.abc import Sequence

from triton_pytorch.model_config.errors import ModelRunError
from triton_pytorch.model_config.suggestions import counted, joined


class OutputViolation:
    """Why an output of a call is not what config.pbtxt declares."""

    def __init__(self, output: str, text: str) -> None:
        self.output = output
        self.text = text


class RowCountViolation(OutputViolation):
    """A call returned another number of rows of an output than went in.

    `counts` has both numbers, `hint` what to change if the model is meant to do so.
    """

    def __init__(self, output: str, sent: int, returned: int | None, hint: str) -> None:
        came_out = "a single number" if returned is None else counted(returned, "row")
        self.counts = f"{counted(sent, 'row')} went in and {came_out} came out"
        self.hint = hint
        super().__init__(output, f"output '{output}' is not batched: {self.counts}; {hint}")


class OutputError(ModelRunError):
    """Outputs that a request asked for are not what config.pbtxt declares; all their violations in one text."""

    def __init__(self, violations: Sequence[OutputViolation]) -> None:
        super().__init__(joined([violation.text for violation in violations]))
        self.violations = violations
