"""Responses: the outputs of an outcome as Triton's tensors, or the one sentence that says why there are none."""

from collections.abc import Sequence
from typing import Any

import torch

from triton_pytorch.batching.row_rule import OutputError
from triton_pytorch.execution.interfaces import Triton
from triton_pytorch.execution.model_log import ModelLog
from triton_pytorch.execution.outcomes import Outcome, UnforeseenError, as_outcome
from triton_pytorch.execution.strings import as_triton_array
from triton_pytorch.model_config.errors import BackendError, ModelRunError
from triton_pytorch.model_config.file_names import printable
from triton_pytorch.torch_runtime.tensors import to_dlpack


class Responder:
    """Makes the responses of one model."""

    def __init__(self, model_name: str, triton: Triton, log: ModelLog) -> None:
        self._model_name = model_name
        self._new_tensor = triton.tensor
        self._new_response = triton.response
        self._error = triton.error
        self._log = log

    def responses(self, outcomes: Sequence[Outcome]) -> list[Any]:
        """Return a response for each outcome, in order."""
        new_response, new_tensor = self._new_response, self._new_tensor
        responses = []
        for outcome in outcomes:
            if isinstance(outcome, Exception):
                responses.append(self._failure(outcome))
                continue
            try:
                tensors = []
                for name, part in outcome.items():
                    if isinstance(part, torch.Tensor):
                        tensors.append(new_tensor.from_dlpack(name, to_dlpack(part)))
                    else:
                        tensors.append(new_tensor(name, as_triton_array(part)))
                responses.append(new_response(tensors))
            except Exception as error:
                responses.append(self._failure(as_outcome(error)))
        return responses

    def _failure(self, error: Exception) -> Any:
        """Return the response of a request that failed; what nobody foresaw is logged whole and not told."""
        if isinstance(error, OutputError):
            self._log.error_once(f"output {error.output}", str(error))
        if isinstance(error, ModelRunError) and error.whole is not None:
            self._log.failure(error.whole)
        if isinstance(error, BackendError):
            return self._told(f"model '{self._model_name}': {error}", error.code)
        if isinstance(error, UnforeseenError):
            self._log.internal_error(error.trace)
        return self._told(f"internal error in model '{self._model_name}': see the server's log", "INTERNAL")

    def _told(self, message: str, code: str) -> Any:
        return self._new_response([], error=self._error(printable(message), getattr(self._error, code)))
