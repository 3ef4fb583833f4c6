"""Responses: the outputs of an outcome as Triton's tensors, or the one sentence that says why there are none."""

from collections.abc import Sequence
from typing import Any

import torch

from triton_pytorch.execution.failed_requests import FailedRequests
from triton_pytorch.execution.interfaces import Triton
from triton_pytorch.execution.model_log import ModelLog
from triton_pytorch.execution.outcomes import Outcome, UnforeseenError, as_outcome
from triton_pytorch.execution.strings import as_triton_array
from triton_pytorch.model_config.errors import BackendError, CancelledError, ModelRunError, RequestError
from triton_pytorch.model_config.file_names import printable
from triton_pytorch.torch_runtime.tensors import to_dlpack


class Responder:
    """Makes the responses of one model."""

    def __init__(self, model_name: str, version: str, triton: Triton, log: ModelLog) -> None:
        self._model_name = model_name
        self._failed_requests = FailedRequests(triton.metric_family, model_name, version)
        self._new_tensor = triton.tensor
        self._new_response = triton.response
        self._error = triton.error
        self._log = log

    def responses(self, outcomes: Sequence[Outcome]) -> list[Any]:
        """Return a response for each outcome, in order."""
        self._log.tell_number()
        new_response, new_tensor = self._new_response, self._new_tensor
        responses, failures = [], 0
        for outcome in outcomes:
            if isinstance(outcome, Exception):
                responses.append(self._failure(outcome))
                failures += not isinstance(outcome, CancelledError)  # that client has no use for an answer
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
                failures += 1
        if failures:
            self._failed_requests.add(failures)
        return responses

    def _failure(self, error: Exception) -> Any:
        """Log why a request failed, and return its response; what nobody foresaw is logged whole and not told."""
        if isinstance(error, BackendError):
            code, message = error.code, f"model '{self._model_name}': {error}"
            whole = error.whole if isinstance(error, ModelRunError) else None
            logged = message if whole is None else f"{message}\n{whole}"
        else:
            code, message = "INTERNAL", f"internal error in model '{self._model_name}': see the server's log"
            trace = error.trace if isinstance(error, UnforeseenError) else str(error)
            logged = f"internal error in model '{self._model_name}':\n{trace}"
        if not isinstance(error, CancelledError):
            self._log.failed_request(printable(logged), is_client_error=isinstance(error, RequestError))
        return self._new_response([], error=self._error(printable(message), getattr(self._error, code)))
