"""Ragged batching on a real server: core merges requests of any length, and each client gets what is its own."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
import tritonclient.grpc

from triton_pytorch.local_server.server import Server
from triton_pytorch.tests.assets.configs import tensor_config
from triton_pytorch.tests.assets.packages import package_path
from triton_pytorch.tests.integration.test_ragged import batch_input, scatter
from triton_pytorch.tests.server.conftest import StartServer, connect, write_model

INT32 = torch.int32
VALUES = "KWARGS[values]"
INPUTS = [tensor_config(VALUES, allow_ragged_batch=True), tensor_config("KWARGS[scale]", dims=(1,))]
OUTPUTS = [
    tensor_config("RESULT[sums]", dims=(1,)),
    tensor_config("RESULT[lengths]", INT32, dims=(1,)),
    tensor_config("RESULT[doubled]", dims=(-1,)),
]
BATCH_INPUTS = [
    batch_input("ACCUMULATED_ELEMENT_COUNT_WITH_ZERO", "KWARGS[ends]", source=VALUES),
    batch_input("ITEM_SHAPE", "KWARGS[shapes]", source=VALUES),
]
BATCH_OUTPUTS = [scatter("RESULT[doubled]", VALUES)]


@pytest.fixture(scope="module")
def server(start_server: StartServer, tmp_path_factory: pytest.TempPathFactory) -> Server:
    repository = tmp_path_factory.mktemp("models")
    write_model(
        repository,
        "ragged",
        package_path("ragged"),
        INPUTS,
        OUTPUTS,
        max_batch_size=8,
        batch_input=BATCH_INPUTS,
        batch_output=BATCH_OUTPUTS,
        dynamic_batching={"max_queue_delay_microseconds": 50_000},
        parameters={"ALLOW_EMPTY_INPUTS": "true"},
    )
    return start_server(repository)


def test_requests_of_any_length(server: Server) -> None:
    lengths = [2, 0, 5, 1, 2000, 40, 3, 1500] * 10  # a call takes 4096 numbers, the bound that torch states

    def ask(number: int) -> None:
        client = connect(server, "http" if number % 2 else "grpc")
        values = (torch.arange(float(lengths[number])) % 7).reshape(1, -1) + number
        with client.connection:
            answer = client.infer("ragged", {VALUES: values, "KWARGS[scale]": torch.tensor([[2.0]])})
        assert answer["RESULT[sums]"].tolist() == [[float(values.sum() * 2)]]
        assert answer["RESULT[lengths]"].tolist() == [[lengths[number]]]
        assert answer["RESULT[doubled]"].tolist() == (2 * values).tolist()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(ask, range(len(lengths))))

    with tritonclient.grpc.InferenceServerClient(server.grpc_url) as client:
        (statistics,) = client.get_inference_statistics("ragged").model_stats
    assert statistics.inference_stats.success.count == len(lengths)
    assert statistics.inference_stats.fail.count == 0
    assert statistics.execution_count < len(lengths)


def test_request_above_the_bound_that_torch_states(server: Server) -> None:
    client = connect(server, "grpc")
    with client.connection:
        text = client.failure("ragged", {VALUES: torch.ones(1, 4097), "KWARGS[scale]": torch.ones(1, 1)})
    assert "the request has 4097 elements of input 'KWARGS[values]', but the model takes at most 4096" in text
    assert "ENFORCE_UPPER_BOUNDS" in text
