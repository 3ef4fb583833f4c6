"""Answers requests: merged into one call where they fit together, one by one where that call fails."""

import gc
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from time import perf_counter
from typing import Any

import torch

from triton_pytorch.execution.inputs import assemblies
from triton_pytorch.execution.interfaces import Model, Triton, TritonRequest
from triton_pytorch.execution.outputs import Results
from triton_pytorch.execution.proof import Proof, Served
from triton_pytorch.execution.requests import Reading, RequestReader, check_shapes
from triton_pytorch.execution.responses import Responder, faults
from triton_pytorch.execution.strings import check_strings_arrive
from triton_pytorch.formats.opening import open_model
from triton_pytorch.contract.binding import agree
from triton_pytorch.model_config.configuration import Instance, ModelConfig
from triton_pytorch.model_config.datatypes import DataType
from triton_pytorch.model_config.errors import CancelledError, ModelRunError, first_line
from triton_pytorch.torch_runtime.settings import cache_cleaner, describe, grad_mode
from triton_pytorch.torch_runtime.streams import Scope, execution_scope

# Asking whether a request was cancelled takes 53-73 us (FACTS.md): 1.5 % of this, and what is saved is all of it.
CANCELLATION_PAYS_FROM_S = 0.005


def open_loop(instance: Instance, triton: Triton) -> "RunLoop":
    """Open the model of an instance and make it ready to answer.

    Raises:
        BackendError: the model cannot be served as it is configured; one sentence says why.
    """
    opened = open_model(instance)
    model, name, parameters = opened.model, instance.config.name, opened.settings.parameters
    triton.logger.log_info(f"model '{name}': {describe(opened.settings)}")
    for warning in opened.warnings:
        triton.logger.log_warn(f"model '{name}': {warning}")
    try:
        loop = RunLoop(
            model,
            instance.config,
            triton,
            scope=execution_scope(model.device, grad_mode(parameters)),
            clean_up=cache_cleaner(parameters, model.device),
        )
    except BaseException:
        model.close()
        raise
    gc.collect()
    gc.freeze()  # what loading left behind lives as long as the instance: no collection need look at it again
    return loop


class RunLoop:
    """Serves one opened model to Triton.

    `scope` makes what is entered around each execution, and `clean_up` is called after it.

    Raises:
        ConfigError: what the configuration declares does not fit the model.
    """

    def __init__(
        self,
        model: Model,
        config: ModelConfig,
        triton: Triton,
        *,
        scope: Scope = torch.inference_mode,
        clean_up: Callable[[], None] | None = None,
    ) -> None:
        if any(tensor.data_type is DataType.STRING for tensor in config.inputs + config.outputs):
            check_strings_arrive(triton)
        contract = agree(config, model.inputs, model.outputs)
        self._model = model
        self._run = model.run
        self._scope = scope
        self._clean_up = clean_up
        self._reader = RequestReader(config, contract, len(model.inputs))
        self._assemblies = assemblies(config, contract, model)
        self._call_rules = contract.call_rules
        self._responder = Responder(config, contract, triton)
        self._proofs: dict[Hashable, Proof] = defaultdict(partial(Proof, config, self._responder, self._call))
        self._asks_for_cancellation = False
        for warning in contract.warnings:
            triton.logger.log_warn(f"model '{config.name}': {warning}")

    def execute(self, requests: Sequence[TritonRequest]) -> list[Any]:
        """Return one response for each request, in order; never raises."""
        answers: list[Any] = [None] * len(requests)
        try:
            with self._scope():
                groups = self._reader.mergeable(self._read(requests, answers))
                for group in groups:
                    self._answer(group, answers, is_last_call=group is groups[-1])
                if self._clean_up is not None:
                    self._clean_up()
        except Exception as error:  # whatever it is, each client hears of it
            answers = [self._responder.failure(error) for _ in requests]
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

    def _answer(self, group: list[Reading], answers: list[Any], *, is_last_call: bool) -> None:
        """Answer a group with one call; where that does not serve all, each of its requests with a call of its own."""
        proof = self._proofs[self._reader.optional_inputs(group[0])]
        if proof.doubtful:
            group = self._answer_doubtful(proof, group, answers, is_last_call=is_last_call)
        if len(group) == 1:
            self._answer_alone(group[0], answers, is_last_call=is_last_call)
        elif group:
            self._answer_together(group, answers, is_last_call=is_last_call)

    def _answer_doubtful(
        self, proof: Proof, group: list[Reading], answers: list[Any], *, is_last_call: bool
    ) -> list[Reading]:
        """Answer the requests for outputs that were not seen to be batched; return those that need no such care."""
        if len(group) == 1 and not proof.learns_from(group[0]):
            return group
        asking = [reading for reading in group if not proof.doubtful.isdisjoint(reading.requested)]
        others = [] if len(asking) == len(group) else [reading for reading in group if reading not in asking]
        if proof.can_share(asking):
            self._answer_together(asking, answers, is_last_call=is_last_call and not others)
        else:
            served = [one for reading in asking if (one := self._served_alone(proof, reading, answers)) is not None]
            for one in proof.examine(served):
                self._responder.respond([one.reading], one.parts, answers)
        return others

    def _served_alone(self, proof: Proof, reading: Reading, answers: list[Any]) -> Served | None:
        """Return what a call of its own gives a request, or None once it is told why there is nothing."""
        # Its rows may run again, and a model may write to what it is given.
        alone = [reading.copy() if proof.is_open(reading.requested) else reading]
        try:
            return Served(reading, self._responder.parts(alone, self._call(alone), is_last_call=False))
        except Exception as error:
            answers[reading.position] = self._responder.failure(error)
            return None

    def _answer_together(self, group: list[Reading], answers: list[Any], *, is_last_call: bool) -> None:
        try:
            parts = self._responder.parts(group, self._call(group), is_last_call=is_last_call)
            for fault in faults(parts).values():
                raise ModelRunError(str(fault))  # of one request perhaps, as where a model takes rows in pairs
        except Exception as error:
            failed_call = f"{sum(reading.rows for reading in group)} rows ({first_line(error)})"
        else:
            self._responder.respond(group, parts, answers)
            return
        # Each is gathered afresh, since the model may have written to what was merged.
        are_served = [self._answer_alone(reading, answers, is_last_call=False) for reading in group]
        if all(are_served):
            self._responder.log_once(
                "merged call",
                f"the model failed on a batch of {failed_call}, but answered the requests in it one by one, at the "
                "cost of a run for each: if that repeats, set max_batch_size to what it takes",
            )

    def _answer_alone(self, reading: Reading, answers: list[Any], *, is_last_call: bool) -> bool:
        """Answer a request with a call of its own; return whether it got all that it asked for."""
        alone = [reading]
        try:
            parts = self._responder.parts(alone, self._call(alone), is_last_call=is_last_call)
        except Exception as error:
            answers[reading.position] = self._responder.failure(error)
            return False
        self._responder.respond(alone, parts, answers)
        return not faults(parts)

    def _call(self, readings: Sequence[Reading]) -> Results:
        """Run the model once on the rows of these requests."""
        leaves = [assemble(readings) for assemble in self._assemblies]
        check_shapes(leaves, self._call_rules)
        start = perf_counter()
        results = self._run(leaves)
        self._asks_for_cancellation = perf_counter() - start > CANCELLATION_PAYS_FROM_S * len(readings)
        return results
