"""TorchScript through model.py: what the parameters put in force is what the model itself sees."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from triton_pytorch.tests.assets.configs import tensor_config
from triton_pytorch.tests.assets.scripts import Arithmetic, scripted
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


@pytest.mark.parametrize(("value", "told"), [(None, [1.0, 0.0]), ("true", [1.0, 0.0]), ("False", [0.0, 0.0])])
def test_the_model_runs_in_the_mode_asked_for(serve_script: Any, value: str | None, told: list[float]) -> None:
    parameters = {} if value is None else {"INFERENCE_MODE": value}
    model = serve_script(Tells(), [tensor_config("x")], [tensor_config("RESULT", dims=(2,))], parameters=parameters)
    assert model.infer({"x": torch.ones(1)})["RESULT"].tolist() == told


def test_weights_that_want_gradients_are_no_obstacle(serve_script: Any) -> None:
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


def test_another_method_is_called(serve_script: Any) -> None:
    model = serve_script(
        Arithmetic(), [tensor_config("x")], [tensor_config("RESULT")], parameters={"MODULE_METHOD_NAME": "twice"}
    )
    assert model.infer({"x": torch.tensor([3.0])})["RESULT"].tolist() == [6.0]


def test_what_is_in_force_is_logged_once(serve_script: Any) -> None:
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
        "model 'm': AOTI_MODEL_NAME, MODULE_CLASS have no effect on a TorchScript model"
    ]
    assert torch.get_num_threads() == 1
