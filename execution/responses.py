"""Responses: the outputs of an outcome as Triton's tensors, or the one sentence that says why there are none."""

from collections.abc import Mapping
from typing import Any

from triton_pytorch.batching.row_rule import OutputError
from triton_pytorch.execution.interfaces import Triton
from triton_pytorch.execution.model_log import ModelLog
from triton_pytorch.execution.outcomes import Outcome, UnforeseenError, as_outcome
from triton_pytorch.execution.outputs import ToTriton
from triton_pytorch.model_config.errors import BackendError
from triton_pytorch.model_config.file_names import printable


class Responder:
    """Makes the responses of one model; `to_triton` makes Triton's tensor of each of its outputs."""

    def __init__(self, model_name: str, to_triton: Mapping[str, ToTriton], triton: Triton, log: ModelLog) -> None:
        self._model_name = model_name
        self._to_triton = to_triton
        self._new_response = triton.response
        self._error = triton.error
        self._log = log

    def response(self, outcome: Outcome) -> Any:
        """Return the response of a request."""
        if isinstance(outcome, Exception):
            return self._failure(outcome)
        to_triton = self._to_triton
        try:
            return self._new_response([to_triton[name](part) for name, part in outcome.items()])
        except Exception as error:
            return self._failure(as_outcome(error))

    def _failure(self, error: Exception) -> Any:
        """Return the response of a request that failed; what nobody foresaw is logged whole and not told."""
        if isinstance(error, OutputError):
            self._log.error_once(f"output {error.output}", str(error))
        if isinstance(error, BackendError):
            return self._told(f"model '{self._model_name}': {error}", error.code)
        if isinstance(error, UnforeseenError):
            self._log.internal_error(error.trace)
        return self._told(f"internal error in model '{self._model_name}': see the server's log", "INTERNAL")

    def _told(self, message: str, code: str) -> Any:
        return self._new_response([], error=self._error(printable(message), getattr(self._error, code)))
