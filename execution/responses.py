"""Answers to requests: the parts of a result that are theirs, or the one sentence that says why there are none."""

import traceback
from collections.abc import Mapping, Sequence
from typing import Any, cast

import torch

from triton_pytorch.execution.interfaces import Triton
from triton_pytorch.execution.outputs import Results, declare_outputs
from triton_pytorch.execution.requests import Reading
from triton_pytorch.contract.binding import Contract
from triton_pytorch.model_config.configuration import ModelConfig
from triton_pytorch.model_config.errors import BackendError, ModelRunError
from triton_pytorch.model_config.file_names import printable

# Of an output: tensors or lists of strings, one for each request of the call, or why there are none.
Part = list[Any] | ModelRunError
Parts = Mapping[str, Part]


def faults(parts: Parts) -> dict[str, ModelRunError]:
    """Return the outputs that are not there, each with the reason."""
    return {name: part for name, part in parts.items() if isinstance(part, ModelRunError)}


class Responder:
    """Makes the responses of one model."""

    def __init__(self, config: ModelConfig, contract: Contract, triton: Triton) -> None:
        self._model_name = config.name
        self._outputs = declare_outputs(config, contract)
        self._triton = triton
        self._to_triton = {name: output.to_triton(triton.tensor) for name, output in self._outputs.items()}
        self._new_response = triton.response
        self._logged: set[str] = set()

    def parts(self, readings: Sequence[Reading], results: Results, *, is_last_call: bool) -> Parts:
        """Return what the requests of a call asked for.

        A model may return memory that it writes to in its next call: unless this call is the last one before the
        answers are sent, the parts are copies.
        """
        if not is_last_call:
            results = [result.clone() if isinstance(result, torch.Tensor) else result for result in results]
        parts: dict[str, Part] = {}
        for name in readings[0].requested.union(*[reading.requested for reading in readings[1:]]):
            try:
                parts[name] = self._outputs[name].parts(results, readings)
            except ModelRunError as error:
                parts[name] = error.with_traceback(None)  # which would keep the tensors of the call alive
        return parts

    def respond(self, group: Sequence[Reading], parts: Parts, answers: list[Any]) -> None:
        """Answer each request of a group with its parts."""
        missing = faults(parts)
        made = [(name, self._to_triton[name], cast("list[Any]", parts[name])) for name in parts.keys() - missing]
        for index, reading in enumerate(group):
            try:
                if missing:
                    self._raise_first(missing, reading)
                answers[reading.position] = self._new_response(
                    [to_triton(part[index]) for name, to_triton, part in made if name in reading.requested]
                )
            except Exception as error:
                answers[reading.position] = self.failure(error)

    def failure(self, error: Exception) -> Any:
        """Return the response of a request that failed; what nobody foresaw is logged whole and not told."""
        if isinstance(error, BackendError):
            return self._error(f"model '{self._model_name}': {error}", error.code)
        trace = "".join(traceback.format_exception(error))
        self._triton.logger.log_error(f"internal error in model '{self._model_name}':\n{trace}")
        return self._error(f"internal error in model '{self._model_name}': see the server's log", "INTERNAL")

    def log_once(self, topic: str, text: str) -> None:
        """Log a fault of the model or its config the first time; the next request would say the same."""
        if topic not in self._logged:
            self._logged.add(topic)
            self._triton.logger.log_error(f"model '{self._model_name}': {text}")

    def _raise_first(self, missing: Mapping[str, ModelRunError], reading: Reading) -> None:
        """Raise the first fault, in the order of the config, that a request is concerned with."""
        for name in self._outputs:
            if name in missing and name in reading.requested:
                self.log_once(name, str(missing[name]))
                # Another one: what is raised is kept alive by where it was raised, with the tensors there.
                raise ModelRunError(str(missing[name]))

    def _error(self, message: str, code: str) -> Any:
        error = self._triton.error
        return self._new_response([], error=error(printable(message), getattr(error, code)))
