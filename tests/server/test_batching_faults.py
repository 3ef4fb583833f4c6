"""What goes wrong in a batch on a real server: one sentence for its request, and nothing for those that share it."""

import re
from collections.abc import Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any

import pytest
import torch
from tritonclient.utils import InferenceServerException

from triton_pytorch.local_server.server import Server
from triton_pytorch.tests.assets.configs import tensor_config
from triton_pytorch.tests.assets.packages import package_paths
from triton_pytorch.tests.server.conftest import (
    PATIENCE_S,
    Answer,
    Client,
    StartServer,
    connect,
    failed_requests,
    infer_at_once,
    statistics,
    write_model,
)

CLIENTS = 4
UNDER_LOAD = {"preferred_batch_size": [CLIENTS], "max_queue_delay_microseconds": 50_000}
VECTOR, RESULT = [tensor_config("INPUT__0", dims=(3,))], [tensor_config("OUTPUT__0", dims=(3,))]


def waiting_for(rows: int, max_batch_size: int) -> dict[str, Any]:
    delayed = {"preferred_batch_size": [rows], "max_queue_delay_microseconds": 20_000_000}
    return {"max_batch_size": max_batch_size, "dynamic_batching": delayed}


@pytest.fixture(scope="module")
def server(start_server: StartServer, tmp_path_factory: pytest.TempPathFactory) -> Server:
    repository = tmp_path_factory.mktemp("models")
    packages = package_paths(["reduces_the_batch", "table_rows", "slow"])
    under_load: dict[str, Any] = {"max_batch_size": 4 * CLIENTS, "dynamic_batching": UNDER_LOAD}
    reduced = [tensor_config(f"OUTPUT__{i}", dims=(-1,) if i == 1 else (3,)) for i in range(3)]
    write_model(repository, "reduces_the_batch", packages["reduces_the_batch"], VECTOR, reduced, **under_load)
    looked_up = (
        [*VECTOR, tensor_config("INPUT__1", torch.int64, (2,))],
        [*RESULT, tensor_config("OUTPUT__1", dims=(2,))],
    )
    write_model(repository, "table_rows", packages["table_rows"], *looked_up, **waiting_for(8, 32))
    rows = [[tensor_config(name, dims=(-1, 3))] for name in ("INPUT__0", "OUTPUT__0")]
    write_model(repository, "slow_unbatched", packages["slow"], *rows)
    write_model(repository, "slow_merged", packages["slow"], VECTOR, RESULT, max_batch_size=4, dynamic_batching={})
    return start_server(repository)


def refusal(client: Client, model: str, x: torch.Tensor, output: str) -> str:
    """Return why a model does not give an output."""
    with pytest.raises(InferenceServerException) as caught:
        client.infer(model, {"INPUT__0": x}, [output])
    return str(caught.value.message())


def rows_in_and_out(message: Answer, model: str, output: str) -> tuple[int, int]:
    """Return the two numbers of the one sentence that says that an output is not batched."""
    assert isinstance(message, str), f"an output that is not batched was answered: {message}"
    found = re.fullmatch(
        rf"model '{model}': output '{output}' is not batched: (\d+) rows? went in and (\d+) rows? came out; "
        r"if that is how the model works, set max_batch_size: 0",
        message,
    )
    assert found, message
    return int(found[1]), int(found[2])


def test_reduction_over_the_batch(client: Client) -> None:
    mean = refusal(client, "reduces_the_batch", torch.ones(4, 3), "OUTPUT__0")
    assert rows_in_and_out(mean, "reduces_the_batch", "OUTPUT__0") == (4, 1)
    x = torch.tensor([[1.0, 2.0, 3.0]])
    total = refusal(client, "reduces_the_batch", x, "OUTPUT__1")
    assert "output 'OUTPUT__1' is not batched: 1 row went in and a single number came out; " in total
    assert torch.equal(client.infer("reduces_the_batch", {"INPUT__0": x}, ["OUTPUT__2"])["OUTPUT__2"], x + 1)


def test_faults_of_several_outputs(client: Client) -> None:
    text = client.failure("reduces_the_batch", {"INPUT__0": torch.ones(4, 3)})
    hint = "if that is how the model works, set max_batch_size: 0."
    assert text == (
        f"model 'reduces_the_batch': Output 'OUTPUT__0' is not batched: 4 rows went in and 1 row came out; {hint} "
        f"Output 'OUTPUT__1' is not batched: 4 rows went in and a single number came out; {hint}"
    )


def test_reduction_over_merged_requests(server: Server) -> None:
    for number in range(3):
        xs = [torch.arange(3.0).reshape(1, 3) + 10 * (CLIENTS * number + i) for i in range(CLIENTS)]
        requests = [{"INPUT__0": x} for x in xs]
        for x, answer in zip(xs, infer_at_once(server, "reduces_the_batch", requests, ["OUTPUT__0"]), strict=True):
            assert isinstance(answer, dict), answer
            assert torch.equal(answer["OUTPUT__0"], x)  # the mean of one row
        for x, answer in zip(xs, infer_at_once(server, "reduces_the_batch", requests, ["OUTPUT__2"]), strict=True):
            assert isinstance(answer, dict), answer
            assert torch.equal(answer["OUTPUT__2"], x + 1)
    warning = "model 'reduces_the_batch': output 'OUTPUT__0' is not batched: "
    logged = [line for line in server.log.splitlines() if warning in line and "are run alone from now on" in line]
    assert len(logged) == 1
    assert re.search(r"\d rows went in and 1 row came out of one call for \d requests; ", logged[0])


TABLE = torch.arange(20.0).reshape(10, 2)


def look_up(number: int, rows: int, *, is_bad: bool) -> dict[str, torch.Tensor]:
    index = torch.arange(2 * rows).reshape(rows, 2) + number
    if is_bad:
        index[-1, 1] = 400
    return {"INPUT__0": torch.arange(3.0 * rows).reshape(rows, 3) + 100 * number, "INPUT__1": index}


@pytest.mark.parametrize("bad", [{1}, {0, 5}, {0, 1, 2, 3, 4, 5}, set()], ids=str)
def test_bad_request_fails_alone(server: Server, bad: set[int]) -> None:
    requests = [look_up(i, rows, is_bad=i in bad) for i, rows in enumerate((1, 2, 1, 1, 2, 1))]
    before, failed_before = statistics(server, "table_rows", 0), failed_requests(server, "table_rows")

    answers = infer_at_once(server, "table_rows", requests)

    for number, (request, answer) in enumerate(zip(requests, answers, strict=True)):
        if number in bad:
            assert isinstance(answer, str)
            assert re.fullmatch(r"model 'table_rows': .*index out of bounds.*", answer), answer
        else:
            assert isinstance(answer, dict), answer
            assert torch.equal(answer["OUTPUT__0"], (request["INPUT__0"] + 1) * 2)
            assert torch.equal(answer["OUTPUT__1"], TABLE[request["INPUT__1"]].sum(-1))
    sent = before.successes + before.failures + len(requests)
    after = statistics(server, "table_rows", sent)
    # Triton's Python backend counts a request that was answered with an error as a success (server#7713).
    assert after.successes + after.failures == sent
    assert failed_requests(server, "table_rows") - failed_before == len(bad)
    for number in bad:
        assert f"a request failed: {answers[number]}" in server.log
    assert (after.rows - before.rows, after.executions - before.executions) == (8, 1)


class SentRequest:
    """A request on its way over gRPC, which can be cancelled; the answer is a tensor or an error."""

    def __init__(self, client: Client, model: str, inputs: Mapping[str, torch.Tensor]) -> None:
        self.answer: Future[Any] = Future()
        sent = [client._input(*item) for item in inputs.items()]
        self._call = client.connection.async_infer(model, sent, callback=self._answered)

    def _answered(self, result: Any, error: InferenceServerException | None) -> None:
        self.answer.set_result(error or torch.from_numpy(result.as_numpy("OUTPUT__0").copy()))

    def cancel(self) -> None:
        self._call.cancel()


@pytest.mark.parametrize("model", ["slow_unbatched", "slow_merged"])
def test_cancelled_requests_are_not_run(server: Server, model: str) -> None:
    client = connect(server, "grpc")
    with client.connection:

        def calls() -> int:
            """The number of calls so far, this one included."""
            return int(client.infer(model, {"INPUT__0": torch.zeros(1, 3)})["OUTPUT__0"][0, 0])

        before = calls()
        xs = [torch.full((1, 3), 1000.0 * i) for i in range(16)]
        requests = [SentRequest(client, model, {"INPUT__0": x}) for x in xs]
        wait([request.answer for request in requests], PATIENCE_S, FIRST_COMPLETED)  # the others wait for their turn
        cancelled = requests[2:14]
        for request in cancelled:
            request.cancel()
        answers = [request.answer.result(PATIENCE_S) for request in requests]
        run = calls() - 1 - before

    for request, x, answer in zip(requests, xs, answers, strict=True):
        if isinstance(answer, InferenceServerException):
            assert request in cancelled
            assert answer.status() == "StatusCode.CANCELLED"
        else:
            number_of_the_call = int(answer[0, 0] - x[0, 0])
            assert torch.equal(answer, x + number_of_the_call)
            assert before < number_of_the_call <= before + run
    assert run < len(requests)  # of requests that can be merged, this says nothing
