"""Answers requests: merged into one call where they fit together, one by one where that call fails."""

import gc
from collections.abc import Sequence
from time import perf_counter
from typing import Any

from triton_pytorch.batching.grouping import Grouping
from triton_pytorch.batching.input_builders import input_builders
from triton_pytorch.batching.pieces import cut, join
from triton_pytorch.batching.requests import ParsedRequest
from triton_pytorch.batching.row_rule import OutputError, RowCountViolation
from triton_pytorch.contract.plan import Plan
from triton_pytorch.execution.interfaces import Model, Triton, TritonRequest
from triton_pytorch.execution.model_log import ModelLog
from triton_pytorch.execution.outcomes import Outcome, Parts, as_outcome, copied
from triton_pytorch.execution.outputs import Outputs
from triton_pytorch.execution.requests import RequestReader, check_shapes, shapes_of
from triton_pytorch.execution.responses import Responder
from triton_pytorch.execution.strings import check_strings_arrive
from triton_pytorch.model_config.datatypes import DataType
from triton_pytorch.model_config.errors import CancelledError, first_line

# Asking the server whether a request was cancelled takes up to 73 us: 1.5 % of this, and what is saved is all of it.
CANCELLATION_PAYS_FROM_S = 0.005


def settle() -> None:
    """Exempt all objects of this process from garbage collection; call it when the model is loaded.

    What loading left behind (torch's modules, graphs, specs) lives as long as the instance, and each collection of the
    oldest generation would look at all of it, in the middle of a request.
    """
    gc.collect()
    gc.freeze()


class RunLoop:
    """Serves one opened model to Triton.

    Raises:
        UnsupportedError: the model has strings, which this Triton's Python backend misreads.
    """

    def __init__(self, plan: Plan, model: Model, triton: Triton, version: str) -> None:
        data_types = [planned.declared.data_type for planned in plan.inputs]
        data_types += [planned.data_type for planned in plan.outputs]
        if DataType.STRING in data_types:
            check_strings_arrive(triton)
        self._model = model
        self._session = model.session
        self._run = model.run
        self._parse = RequestReader(plan).read
        self._grouping = Grouping(plan)
        self._builders = input_builders(plan, model.device)
        self._call_rules = plan.call_rules
        self._piece_rows = plan.piece_rows
        self._outputs = Outputs(plan)
        self._log = ModelLog(plan.model_name, triton.logger)
        self._responder = Responder(plan.model_name, version, triton, self._log)
        self._asks_for_cancellation = False

    def execute(self, requests: Sequence[TritonRequest]) -> list[Any]:
        """Return one response for each request, in order; never raises."""
        try:
            with self._session():
                outcomes = self._outcomes(requests)
        except Exception as error:  # of the device perhaps, as the session ends; whatever it is, each client is told
            outcomes = [as_outcome(error)] * len(requests)
        return self._responder.responses(outcomes)

    def run_group(self, group: Sequence[ParsedRequest]) -> list[Outcome]:
        """Run requests that one call can serve; where it does not serve all of them, each with a call of its own."""
        if len(group) == 1:
            return [self._run_alone(group[0])]
        outcomes = self._call(group)
        errors = [outcome for outcome in outcomes if isinstance(outcome, Exception)]
        if not errors:
            return outcomes
        # Each is gathered afresh, since the model may have written to what was merged.
        outcomes = [copied(self._call([request])[0]) for request in group]
        self._learn(group, errors, outcomes)
        return outcomes

    def close(self) -> None:
        """Release the model."""
        self._log.tell_number(at_once=True)
        self._model.close()

    def _outcomes(self, requests: Sequence[TritonRequest]) -> list[Outcome]:
        """Return what comes of each request, in order."""
        parsed_requests, errors = self._read(requests)
        outcomes: list[Any] = [None] * len(requests)
        for position, error in errors.items():
            outcomes[position] = error
        groups = self._grouping.groups(parsed_requests)
        for group in groups:
            group_outcomes = self.run_group(group)
            if group is not groups[-1]:
                group_outcomes = [copied(outcome) for outcome in group_outcomes]
            for request, outcome in zip(group, group_outcomes, strict=True):
                outcomes[request.position] = outcome
        return outcomes

    def _read(self, requests: Sequence[TritonRequest]) -> tuple[list[ParsedRequest], dict[int, Exception]]:
        """Return the requests that can be run, and the errors of the others by position: those spoil no call."""
        parsed_requests: list[ParsedRequest] = []
        errors: dict[int, Exception] = {}
        parse, asks_for_cancellation = self._parse, self._asks_for_cancellation
        for position, request in enumerate(requests):
            try:
                if asks_for_cancellation and request.is_cancelled():
                    errors[position] = CancelledError("the request was cancelled while it waited")
                else:
                    parsed_requests.append(parse(position, request))
            except Exception as error:
                errors[position] = as_outcome(error)
        return parsed_requests, errors

    def _call(self, requests: Sequence[ParsedRequest]) -> list[Outcome]:
        """Run the model once on the rows of these requests."""
        try:
            leaves = [build(requests) for build in self._builders]
            if self._call_rules:
                check_shapes(shapes_of(leaves), self._call_rules)
            start = perf_counter()
            results = self._run(leaves)
            self._asks_for_cancellation = perf_counter() - start > CANCELLATION_PAYS_FROM_S * len(requests)
            return self._outputs.scatter(results, requests)
        except Exception as error:
            return [as_outcome(error)] * len(requests)

    def _run_alone(self, request: ParsedRequest) -> Outcome:
        """Run one request, in pieces where it has more rows than a call may have."""
        if self._piece_rows is None or request.rows <= self._piece_rows:
            return self._call([request])[0]
        pieces: list[Parts] = []
        for piece in cut(request, self._piece_rows):
            outcome = copied(self._call([piece])[0])
            if isinstance(outcome, Exception):
                return outcome
            pieces.append(outcome)
        try:
            return {name: join(name, [parts[name] for parts in pieces], request.rows) for name in pieces[0]}
        except (OutputError, RuntimeError) as error:  # the latter: not enough memory for the whole
            return as_outcome(error)

    def _learn(self, group: Sequence[ParsedRequest], errors: Sequence[Exception], outcomes: Sequence[Outcome]) -> None:
        """Keep in mind and log why a merged call served nobody, where that is not the error of a request."""
        violations = [it for error in errors if isinstance(error, OutputError) for it in error.violations]
        mismatches = [it for it in violations if isinstance(it, RowCountViolation)]
        for mismatch in mismatches:
            self._grouping.stop_merging(mismatch.output)
            self._log.warn_once(
                f"rows of {mismatch.output}",
                f"output '{mismatch.output}' is not batched: {mismatch.counts} of one call for {len(group)} requests; "
                f"requests for it are run alone from now on; {mismatch.hint}",
            )
        if not mismatches and not any(isinstance(outcome, Exception) for outcome in outcomes):
            rows = sum(request.rows for request in group)
            self._log.warn_once(
                "merged call",
                f"the model failed on a batch of {rows} rows ({first_line(errors[0])}), but answered the requests in "
                "it one by one, at the cost of a run for each: if that repeats, set max_batch_size to what it takes",
            )
