"""Batching on a real server, with clients that send at once: each gets its own rows, whatever they ran with."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest
import torch

from triton_pytorch.examples.nested.nested_model import INPUT_PATHS, OUTPUT_PATHS
from triton_pytorch.local_server.server import Server
from triton_pytorch.tests.assets.configs import tensor_config
from triton_pytorch.tests.assets.packages import package_paths
from triton_pytorch.tests.server.conftest import (
    StartServer,
    connect,
    infer_at_once,
    merging,
    statistics,
    write_model,
)

CLIENTS, REQUESTS, SPACING = 32, 2000, 64
ROWS = (1, 3, 2, 1, 1)  # of requests that run together

Tensors = Sequence[torch.Tensor]


def values(*shape: int, number: int, kind: int = 0) -> torch.Tensor:
    """Make whole numbers that no other number and kind has, all of which float32 holds exactly."""
    count = torch.Size(shape).numel()
    assert count <= SPACING
    return torch.arange(float(count)).reshape(shape) + SPACING * (number + kind * REQUESTS)


# How the nested example is served; Triton merges requests under some of these.
NESTED: dict[str, dict[str, Any]] = {
    "merged": {"max_batch_size": 64, "dynamic_batching": {"max_queue_delay_microseconds": 2000}},
    "alone": {"max_batch_size": 8},
    "unbatched": {"max_batch_size": 0},
}


def nested_inputs(rows: int, number: int) -> dict[str, torch.Tensor]:
    return {name: values(rows, 3, number=number, kind=kind) for kind, name in enumerate(INPUT_PATHS)}


def nested_outputs(inputs: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    h, v, key_a, key_2, kwarg1, kw_arg2 = inputs.values()
    return dict(zip(OUTPUT_PATHS, (h + v, h - v, h, v, key_a, key_2, kwarg1, kw_arg2), strict=True))


@dataclass(frozen=True, slots=True)
class Batched:
    """A package, the config of its inputs and outputs, what one request sends, and what eager torch makes of that."""

    package: str
    inputs: list[Any]
    outputs: list[Any]
    sent: Callable[[int, int], Tensors]  # rows, and the number of the request
    eager: Callable[..., Tensors]


BATCHED = {
    "reshaped": Batched(
        "reshaped",
        [
            tensor_config("INPUT__0", dims=(4,), reshape={"shape": [2, 2]}),
            tensor_config("INPUT__1", dims=(1,), reshape={"shape": []}),
        ],
        [
            tensor_config("OUTPUT__0", dims=(4,), reshape={"shape": [2, 2]}),
            tensor_config("OUTPUT__1", dims=(1,), reshape={"shape": []}),
        ],
        lambda rows, number: (values(rows, 4, number=number), values(rows, 1, number=number)),
        lambda x, k: (
            (x.reshape(-1, 2, 2).transpose(1, 2) * k.reshape(-1, 1, 1)).reshape(-1, 4),
            x[:, 1:2] + k,
        ),
    ),
    "scores": Batched(
        "scores",
        [
            tensor_config("ARGS[2]", dims=(1,)),
            tensor_config("ARGS[1]", torch.int64, (1,), reshape={"shape": []}),
            tensor_config("ARGS[0]", dims=(3,)),
        ],
        [tensor_config("RESULT", dims=(1,), reshape={"shape": []})],
        lambda rows, number: (
            torch.full((rows, 1), 2.0 ** (number % 2)),
            torch.arange(number, number + rows).reshape(rows, 1) % 3,
            values(rows, 3, number=number),
        ),
        lambda temperature, labels, x: (x.gather(1, labels) / temperature,),
    ),
    "writes_to_its_input": Batched(
        "counting",
        [tensor_config("INPUT__0", dims=(2,)), tensor_config("INPUT__1", dims=(2,))],
        [tensor_config("OUTPUT__0", dims=(2,))],  # the other one counts calls
        lambda rows, number: (values(rows, 2, number=number), values(rows, 2, number=number, kind=1)),
        lambda x, y: ((x + 1) * y,),
    ),
}


@pytest.fixture(scope="module")
def server(start_server: StartServer, tmp_path_factory: pytest.TempPathFactory) -> Server:
    repository = tmp_path_factory.mktemp("models")
    packages = package_paths(["nested", "first_rows", *(batched.package for batched in BATCHED.values())])
    for name, config in NESTED.items():
        dims = (3,) if config["max_batch_size"] else (-1, 3)
        entries = [[tensor_config(path, dims=dims) for path in paths] for paths in (INPUT_PATHS, OUTPUT_PATHS)]
        write_model(repository, name, packages["nested"], *entries, **config)
    for name, batched in BATCHED.items():
        package = packages[batched.package]
        write_model(repository, name, package, batched.inputs, batched.outputs, **merging(sum(ROWS)))
    vector = [[tensor_config(name, dims=(2,))] for name in ("INPUT__0", "OUTPUT__0")]
    write_model(repository, "first_rows", packages["first_rows"], *vector, **merging(32))
    return start_server(repository)


def differences(answer: Any, expected: dict[str, torch.Tensor]) -> list[str]:
    """Name the outputs that are not what they should be; an error is not either."""
    if isinstance(answer, str):
        return [answer]
    wrong = [name for name in expected if name not in answer or not torch.equal(answer[name], expected[name])]
    return wrong + [name for name in answer if name not in expected]


def test_32_clients_in_2000_requests(server: Server) -> None:
    row_counts = [1 + (7 * number) % 4 for number in range(REQUESTS)]

    def ask(client_number: int) -> list[tuple[int, list[str]]]:
        client = connect(server, ("http", "grpc")[client_number % 2])
        wrong = []
        with client.connection:
            for number in range(client_number, REQUESTS, CLIENTS):
                inputs = nested_inputs(row_counts[number], number)
                if different := differences(client.infer("merged", inputs), nested_outputs(inputs)):
                    wrong.append((number, different))
        return wrong

    with ThreadPoolExecutor(CLIENTS) as pool:
        assert [wrong for each in pool.map(ask, range(CLIENTS)) for wrong in each] == []

    counted = statistics(server, "merged", REQUESTS)
    assert (counted.successes, counted.failures, counted.rows) == (REQUESTS, 0, sum(row_counts))
    assert counted.executions < REQUESTS


@pytest.mark.parametrize("model", [name for name in NESTED if name != "merged"])
def test_other_ways_of_batching(server: Server, model: str) -> None:
    row_counts = [1, 1, 1, 1, 2, 3, 1, 2, 4, 8, 1, 1]
    requests = [nested_inputs(rows, number) for number, rows in enumerate(row_counts)]
    for _ in range(2):
        answers = infer_at_once(server, model, requests)
        wrong = [differences(*pair) for pair in zip(answers, map(nested_outputs, requests), strict=True)]
        assert wrong == [[]] * len(requests)

    counted = statistics(server, model, 2 * len(requests))
    rows = sum(row_counts) if NESTED[model]["max_batch_size"] else len(requests)  # without batching, Triton knows none
    assert (counted.successes, counted.failures, counted.rows) == (2 * len(requests), 0, 2 * rows)
    assert counted.executions == 2 * len(requests)


@pytest.mark.parametrize("name", BATCHED)
def test_merged_rows(server: Server, name: str) -> None:
    batched = BATCHED[name]
    input_names, output_names = ([tensor["name"] for tensor in io] for io in (batched.inputs, batched.outputs))
    rounds = 3
    for _ in range(rounds):
        sent = [batched.sent(rows, number) for number, rows in enumerate(ROWS)]
        answers = infer_at_once(server, name, [dict(zip(input_names, tensors, strict=True)) for tensors in sent])
        expected = [dict(zip(output_names, batched.eager(*tensors), strict=True)) for tensors in sent]
        assert [differences(*pair) for pair in zip(answers, expected, strict=True)] == [[]] * len(ROWS)

    counted = statistics(server, name, rounds * len(ROWS))
    assert (counted.successes, counted.failures) == (rounds * len(ROWS), 0)
    assert (counted.rows, counted.executions) == (rounds * sum(ROWS), rounds)


def test_more_rows_than_the_model_takes(server: Server) -> None:
    """The package reads a table of 16 rows: merged requests share calls of 16 rows at most, and large ones are cut."""
    sent = [values(rows, 2, number=number) for number, rows in enumerate((3, 17, 10, 2))]
    answers = infer_at_once(server, "first_rows", [{"INPUT__0": x} for x in sent])
    expected = [{"OUTPUT__0": x + torch.tensor([1.0, 2.0])} for x in sent]
    assert [differences(*pair) for pair in zip(answers, expected, strict=True)] == [[]] * len(sent)
    counted = statistics(server, "first_rows", len(sent))
    assert (counted.rows, counted.executions) == (32, 1)
    line = "no call is of more than 16 rows, below max_batch_size: 128, since the model takes at most 16 in dimension 0"
    assert server.log.count(line) == 1


@pytest.mark.parametrize("protocol", ["http", "grpc"])
def test_outputs_in_the_order_of_the_config(server: Server, protocol: str) -> None:
    client = connect(server, protocol)
    with client.connection:
        for names in (OUTPUT_PATHS, OUTPUT_PATHS[::-1], sorted(OUTPUT_PATHS)):
            assert list(client.infer("alone", nested_inputs(1, 0), list(names))) == list(OUTPUT_PATHS)


@pytest.mark.parametrize("protocol", ["http", "grpc"])
def test_request_without_rows(server: Server, protocol: str) -> None:
    inputs, client = nested_inputs(2, 3), connect(server, protocol)
    with client.connection:
        assert "input byte size mismatch" in client.failure("alone", nested_inputs(0, 1))  # says the core itself
        assert differences(client.infer("alone", inputs), nested_outputs(inputs)) == []


def test_log_has_no_errors(server: Server) -> None:
    assert "internal error in model" not in server.log
    assert "the model failed on a batch" not in server.log
