"""TorchScript through model.py: what a request gets, alone and merged, and what the parameters decide."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from triton_pytorch.tests.assets.configs import tensor_config
from triton_pytorch.tests.assets.scripts import Arithmetic, ReadsKeys, scripted
from triton_pytorch.tests.integration.conftest import Serve, ServedModel


class Tells(torch.nn.Module):
    """Says how it was called: under inference mode, and whether gradients would be recorded."""

    def forward(self, x: Tensor) -> Tensor:
        is_inference, records = torch.is_inference(x + 1), torch.is_grad_enabled()
        return torch.stack([torch.tensor(float(is_inference)), torch.tensor(float(records))])


@pytest.fixture
def serve_script(serve: Serve, tmp_path: Path) -> Any:
    def serve_it(module: torch.nn.Module, inputs: list[Any], outputs: list[Any], **config: Any) -> ServedModel:
        archive = scripted(module, tmp_path / "archive.pt")
        return serve(archive, inputs, outputs, file_name="model.pt", platform="pytorch_libtorch", **config)

    return serve_it


def outputs_of(responses: list[Any]) -> list[dict[str, Tensor]]:
    assert [response.error() for response in responses] == [None] * len(responses)
    return [{tensor.name(): tensor.data for tensor in response.output_tensors()} for response in responses]


def test_merged_requests_get_their_rows(serve_script: Any) -> None:
    inputs = [tensor_config("y"), tensor_config("bias", optional=True), tensor_config("x")]
    model = serve_script(Arithmetic(), inputs, [tensor_config("RESULT")], max_batch_size=16)
    eager = Arithmetic()
    x, y, bias = (torch.randn(4, 3) for _ in range(3))
    requests = [{"x": x, "y": y}, {"x": x[:1], "y": y[:1], "bias": bias[:1]}, {"y": y[1:3], "x": x[1:3]}]
    expected = [eager(x, y), eager(x[:1], y[:1], bias[:1]), eager(x[1:3], y[1:3])]
    answers = outputs_of(model.execute(*map(model.request, requests)))
    assert all(torch.allclose(got["RESULT"], want) for got, want in zip(answers, expected, strict=True))


def test_merged_requests_of_a_dictionary(serve_script: Any) -> None:
    outputs = [tensor_config("difference"), tensor_config("RESULT[a]")]
    model = serve_script(ReadsKeys(), [tensor_config("b"), tensor_config("a")], outputs, max_batch_size=16)
    a, b = torch.randn(3, 2), torch.randn(3, 2)
    responses = model.execute(model.request({"a": a, "b": b}), model.request({"b": a, "a": b}))
    first, second = outputs_of(responses)
    assert torch.equal(first["difference"], a - b)
    assert torch.equal(second["difference"], b - a)
    assert torch.equal(first["RESULT[a]"], a)


@pytest.mark.parametrize(("value", "told"), [(None, [1.0, 0.0]), ("true", [1.0, 0.0]), ("False", [0.0, 0.0])])
def test_inference_mode(serve_script: Any, value: str | None, told: list[float]) -> None:
    parameters = {} if value is None else {"INFERENCE_MODE": value}
    model = serve_script(Tells(), [tensor_config("x")], [tensor_config("RESULT", dims=(2,))], parameters=parameters)
    assert model.infer({"x": torch.ones(1)})["RESULT"].tolist() == told


def test_weights_that_require_gradients(serve_script: Any) -> None:
    class Weight(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.tensor([1.0, 2.0]))

        def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
            return self.weight, x * self.weight

    outputs = [tensor_config("RESULT[0]", dims=(2,)), tensor_config("RESULT[1]", dims=(2,))]
    for value in ("true", "false"):
        model = serve_script(Weight(), [tensor_config("x")], outputs, parameters={"INFERENCE_MODE": value})
        answer = model.infer({"x": torch.tensor([3.0, 4.0])})
        assert [answer["RESULT[0]"].tolist(), answer["RESULT[1]"].tolist()] == [[1.0, 2.0], [3.0, 8.0]]


def test_method_other_than_forward(serve_script: Any) -> None:
    model = serve_script(
        Arithmetic(), [tensor_config("x")], [tensor_config("RESULT")], parameters={"MODULE_METHOD_NAME": "twice"}
    )
    assert model.infer({"x": torch.tensor([3.0])})["RESULT"].tolist() == [6.0]


def test_settings_are_logged_once(serve_script: Any) -> None:
    model = serve_script(
        Arithmetic(),
        [tensor_config("x"), tensor_config("y")],
        [tensor_config("RESULT")],
        parameters={"INTRA_OP_THREAD_COUNT": "1", "INFERENCE_MODE": "0", "AOTI_MODEL_NAME": "m", "MODULE_CLASS": "M"},
    )
    (line,) = [text for level, text in model.logger.lines if level == "info"]
    assert line.startswith("model 'm': intra-op threads 1 (INTRA_OP_THREAD_COUNT), ")
    assert "inference mode off" in line
    assert line.endswith("method forward")
    assert [text for level, text in model.logger.lines if level == "warn"] == [
        "model 'm': AOTI_MODEL_NAME, MODULE_CLASS have no effect on a TorchScript archive"
    ]
    assert torch.get_num_threads() == 1
