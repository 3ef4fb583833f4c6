"""Ragged batching on a real server: core merges requests of any length, and each client gets what is its own."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch
import tritonclient.grpc

from triton_pytorch.local_server.server import Server
from triton_pytorch.tests.assets.configs import tensor_config
from triton_pytorch.tests.assets.packages import package_path
from triton_pytorch.tests.integration.test_ragged import batch_input, scatter
from triton_pytorch.tests.server.conftest import StartServer, connect, load_errors, write_model

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
REFUSED = {
    "without_batching": (0, BATCH_INPUTS, "but max_batch_size: 0, so that no requests are merged"),
    "unknown_leaf": (8, [*BATCH_INPUTS, batch_input("ELEMENT_COUNT", "KWARGS[end]", source=VALUES)], "did you mean"),
    "not_flat": (8, [*BATCH_INPUTS[:1], batch_input("ELEMENT_COUNT", "KWARGS[shapes]", source=VALUES)], "dimensions"),
}


@pytest.fixture(scope="module")
def server(start_server: StartServer, tmp_path_factory: pytest.TempPathFactory) -> Server:
    repository = tmp_path_factory.mktemp("models")

    def write(name: str, max_batch_size: int, batch_inputs: list[dict[str, Any]]) -> Path:
        return write_model(
            repository,
            name,
            package_path("ragged"),
            INPUTS,
            OUTPUTS,
            max_batch_size=max_batch_size,
            batch_input=batch_inputs,
            batch_output=BATCH_OUTPUTS,
            **({"dynamic_batching": {"max_queue_delay_microseconds": 50_000}} if max_batch_size else {}),
        )

    write("ragged", 8, BATCH_INPUTS)
    for name, (max_batch_size, batch_inputs, _) in REFUSED.items():
        write(name, max_batch_size, batch_inputs)
    return start_server(repository)


def test_requests_of_any_length_share_calls(server: Server) -> None:
    lengths = [2, 0, 5, 1, 1, 40, 3, 0] * 10

    def ask(number: int) -> None:
        client = connect(server, "http" if number % 2 else "grpc")
        values = torch.arange(float(lengths[number])).reshape(1, -1) + 1000 * number
        answer = client.infer("ragged", {VALUES: values, "KWARGS[scale]": torch.tensor([[2.0]])})
        assert answer["RESULT[sums]"].tolist() == [[float(values.double().sum() * 2)]]
        assert answer["RESULT[lengths]"].tolist() == [[lengths[number]]]
        assert answer["RESULT[doubled]"].tolist() == (2 * values).tolist()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(ask, range(len(lengths))))

    with tritonclient.grpc.InferenceServerClient(server.grpc_url) as client:
        (statistics,) = client.get_inference_statistics("ragged").model_stats
    assert statistics.inference_stats.success.count == len(lengths)
    assert statistics.inference_stats.fail.count == 0
    assert statistics.execution_count < len(lengths)


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_work_is_refused_at_load(server: Server, name: str) -> None:
    assert REFUSED[name][2] in load_errors(server)[name].splitlines()[0]
