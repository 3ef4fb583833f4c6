"""Answers requests: merged into one call where they fit together, one by one where that call fails."""

import gc
from collections.abc import Sequence
from time import perf_counter
from typing import Any

import torch

from triton_pytorch.execution.inputs import assemblies
from triton_pytorch.execution.interfaces import Model, Triton, TritonRequest
from triton_pytorch.execution.outputs import Results
from triton_pytorch.execution.requests import Reading, RequestReader, check_shapes
from triton_pytorch.execution.responses import Parts, Responder
from triton_pytorch.formats.opening import open_model
from triton_pytorch.io_naming.contract import agree
from triton_pytorch.model_config.configuration import Instance, ModelConfig
from triton_pytorch.model_config.errors import CancelledError, ModelRunError, first_line

# Asking whether a request was cancelled takes 53-73 us (FACTS.md): 1.5 % of this, and what is saved is all of it.
CANCELLATION_PAYS_FROM_S = 0.005


def open_loop(instance: Instance, triton: Triton) -> "RunLoop":
    """Open the model of an instance and make it ready to answer.

    Raises:
        BackendError: the model cannot be served as it is configured; one sentence says why.
    """
    model = open_model(instance)
    for warning in model.warnings:
        triton.logger.log_warn(f"model '{instance.config.name}': {warning}")
    try:
        loop = RunLoop(model, instance.config, triton)
    except BaseException:
        model.close()
        raise
    gc.collect()
    gc.freeze()  # what loading left behind lives as long as the instance: no collection need look at it again
    return loop


class RunLoop:
    """Serves one opened model to Triton.

    Raises:
        ConfigError: what the configuration declares does not fit the model.
    """

    def __init__(self, model: Model, config: ModelConfig, triton: Triton) -> None:
        contract = agree(config, model.inputs, model.outputs)
        self._model = model
        self._run = model.run
        self._reader = RequestReader(config, contract, len(model.inputs))
        self._assemblies = assemblies(config, contract, model)
        self._call_rules = contract.call_rules
        self._responder = Responder(config, contract, triton)
        self._max_batch_size = config.max_batch_size
        self._unproven = {tensor.name for tensor in config.outputs} if config.max_batch_size else set()
        self._asks_for_cancellation = False
        for warning in contract.warnings:
            triton.logger.log_warn(f"model '{config.name}': {warning}")

    def execute(self, requests: Sequence[TritonRequest]) -> list[Any]:
        """Return one response for each request, in order; never raises."""
        answers: list[Any] = [None] * len(requests)
        with torch.inference_mode():
            groups = self._reader.mergeable(self._read(requests, answers))
            for group in groups:
                self._answer(group, answers, is_only_call=len(groups) == 1)
        return answers

    def close(self) -> None:
        """Let go of the model."""
        self._model.close()

    def _read(self, requests: Sequence[TritonRequest], answers: list[Any]) -> list[Reading]:
        """Return the requests that can be run; the others are answered here, so that they spoil no call."""
        readings = []
        for position, request in enumerate(requests):
            try:
                if self._asks_for_cancellation and request.is_cancelled():
                    raise CancelledError("the request was cancelled while it waited")
                readings.append(self._reader.read(position, request))
            except Exception as error:
                answers[position] = self._responder.failure(error)
        return readings

    def _answer(self, group: list[Reading], answers: list[Any], *, is_only_call: bool) -> None:
        """Answer a group with one call; if that raises, each of its requests with a call of its own."""
        readings = self._twice_if_unproven(group)
        try:
            parts = self._responder.parts(group, readings, self._call(readings), is_last_call=is_only_call)
            if len(readings) > len(group):
                parts = self._proven(parts, group)
        except Exception as error:
            if len(readings) == 1:
                answers[group[0].position] = self._responder.failure(error)
            else:
                self._answer_singly(group, answers, f"{sum(r.rows for r in readings)} rows ({first_line(error)})")
        else:
            self._responder.respond(group, parts, answers)

    def _answer_singly(self, group: list[Reading], answers: list[Any], failed_call: str) -> None:
        """Run each request alone, gathered afresh, since the model may have written to what was merged."""
        is_merge_at_fault = True
        for reading in group:
            alone = [reading]
            try:
                parts = self._responder.parts(alone, alone, self._call(alone), is_last_call=False)
            except Exception as error:
                answers[reading.position] = self._responder.failure(error)
                is_merge_at_fault = False
            else:
                self._responder.respond(alone, parts, answers)
        if is_merge_at_fault:
            self._unproven.clear()  # nothing can be proven by calls that fail
            self._responder.log_once(
                "merged call",
                f"the model failed on a batch of {failed_call}, but answered the requests in it one by one, at the "
                "cost of a run for each: set max_batch_size to what it takes",
            )

    def _twice_if_unproven(self, group: list[Reading]) -> list[Reading]:
        """Return the requests of the next call: this group, or twice the same while an output may not be batched.

        An output that does not follow the number of rows can pass for one that does as long as the numbers happen
        to agree: a mean over the batch has one row, as a single request has. On rows sent twice they cannot, so
        the first call for each output is of that kind, and a wrong config fails at its first request, not under load.
        """
        if self._unproven:
            rows = sum(reading.rows for reading in group)
            if 0 < 2 * rows <= self._max_batch_size and any(self._unproven & reading.requested for reading in group):
                return group + group
        return group

    def _proven(self, parts: Parts, group: list[Reading]) -> Parts:
        """Return the parts of a call on rows sent twice, or, where it shows a fault, what is to be said of that."""
        faults = {name: part for name, part in parts.items() if isinstance(part, ModelRunError)}
        self._unproven -= parts.keys() - faults.keys()
        if not faults:
            return parts
        once = self._responder.parts(group, group, self._call(group), is_last_call=False)
        hidden = {name: fault for name, fault in faults.items() if not isinstance(once[name], ModelRunError)}
        return {**once, **{name: ModelRunError(f"{fault} (seen on rows sent twice)") for name, fault in hidden.items()}}

    def _call(self, readings: Sequence[Reading]) -> Results:
        """Run the model once on the rows of these requests."""
        leaves = [assemble(readings) for assemble in self._assemblies]
        check_shapes(leaves, self._call_rules)
        start = perf_counter()
        results = self._run(leaves)
        self._asks_for_cancellation = perf_counter() - start > CANCELLATION_PAYS_FROM_S * len(readings)
        return results
