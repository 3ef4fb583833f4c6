"""What only a GPU can show: `make test-gpu`. Everything is made here, and takes less than a minute."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from triton_pytorch.batching.gather import gather
from triton_pytorch.execution.loop import RunLoop
from triton_pytorch.model_config.configuration import read_config
from triton_pytorch.tests.assets.configs import model_config, tensor_config
from triton_pytorch.tests.assets.scripts import scripted
from triton_pytorch.tests.integration import fake_triton
from triton_pytorch.tests.integration.conftest import Serve
from triton_pytorch.torch_runtime.streams import execution_scope
from triton_pytorch.torchscript_loader.script import open_script

pytestmark = pytest.mark.gpu

INPUTS, OUTPUTS = [tensor_config("x", dims=(3,))], [tensor_config("RESULT", dims=(3,))]


class Weighted(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.tensor([1.0, 2.0, 3.0]))

    def forward(self, x: Tensor) -> Tensor:
        return x * self.weight


class WithoutWeights(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * 2


def gpu() -> torch.device:
    return torch.device("cuda", 0)


@pytest.mark.parametrize("kind", ["GPU", "MODEL", "CPU"])
@pytest.mark.parametrize("saved_from", ["cpu", "cuda:0"])
def test_weights_and_inputs_meet_on_one_device(serve: Serve, tmp_path: Path, kind: str, saved_from: str) -> None:
    archive = scripted(Weighted().to(saved_from), tmp_path / "archive.pt")
    model = serve(
        archive, INPUTS, OUTPUTS, kind=kind, file_name="model.pt", platform="pytorch_libtorch", max_batch_size=8
    )
    expected_device = {"GPU": "cuda:0", "CPU": "cpu", "MODEL": saved_from}[kind]
    assert str(model.entry._loop._model.device) == expected_device
    for _ in range(2):
        sent = [torch.randn(rows, 3) for rows in (1, 2, 3)]
        responses = model.execute(*[model.request({"x": x}) for x in sent])
        for x, response in zip(sent, responses, strict=True):
            assert response.error() is None, response.error().message()
            (answer,) = response.output_tensors()
            assert torch.allclose(answer.data.cpu(), x * torch.tensor([1.0, 2.0, 3.0]))


def test_a_model_without_weights_takes_the_first_gpu(tmp_path: Path) -> None:
    config = read_config(json.dumps({"name": "m", **model_config(INPUTS, OUTPUTS)}))
    assert open_script(scripted(WithoutWeights(), tmp_path / "archive.pt"), config, None).device == gpu()


@pytest.mark.parametrize("layout", [None, (0, 2, 3, 1)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bool, torch.int64])
@pytest.mark.parametrize("count", [1, 3])
def test_inputs_reach_the_gpu_whole(layout: tuple[int, ...] | None, dtype: torch.dtype, count: int) -> None:
    tensors = [torch.randn(2, 3, 4, 5).mul(3).to(dtype) for _ in range(count)]
    gathered = gather(tensors, gpu(), layout)
    assert gathered.device == gpu()
    assert torch.equal(gathered.cpu(), torch.cat(tensors))
    order = layout or (0, 1, 2, 3)
    assert gathered.permute(order).is_contiguous()


def test_inputs_that_lie_on_the_gpu_stay_there() -> None:
    x = torch.randn(2, 3, device=gpu())
    assert gather([x], gpu(), None).data_ptr() == x.data_ptr()
    assert torch.equal(gather([x, x + 1], gpu(), None), torch.cat([x, x + 1]))
    assert torch.equal(gather([x, x.cpu()], gpu(), None), torch.cat([x, x]))


class Streams:
    """A model that keeps the stream and the device of each call, and is slow enough to be caught unfinished."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.inputs, self.outputs = open_leaves()
        self.seen: list[tuple[int, int]] = []

    def run(self, leaves: list[Any]) -> list[Tensor]:
        self.seen.append((torch.cuda.current_stream().cuda_stream, torch.cuda.current_device()))
        (x,) = leaves
        busy = torch.ones(2000, 2000, device=self.device)
        for _ in range(20):
            busy = busy @ busy / 2000
        return [x * 2 + 0 * busy[0, 0]]

    def close(self) -> None:
        """Nothing to let go of."""


def open_leaves() -> tuple[Any, Any]:
    from triton_pytorch.contract.leaves import Leaf
    from triton_pytorch.io_naming.names import LeafPath

    return [Leaf(LeafPath("ARGS", ("0",)), names=("x",))], [Leaf(LeafPath("RESULT"))]


def test_each_instance_has_a_stream_of_its_own_and_is_done_when_it_answers() -> None:
    config = read_config(json.dumps({"name": "m", **model_config(INPUTS, OUTPUTS)}))
    streams = set()
    for _ in range(2):
        model = Streams(gpu())
        loop = RunLoop(model, config, fake_triton.names(), scope=execution_scope(gpu(), torch.inference_mode))
        request = fake_triton.InferenceRequest([fake_triton.Tensor("x", torch.ones(3))], ["RESULT"])
        (response,) = loop.execute([request])
        assert response.error() is None, response.error().message()
        ((stream, device),) = model.seen
        assert stream != torch.cuda.default_stream().cuda_stream
        assert device == 0
        streams.add(stream)
        other = torch.cuda.Stream()  # type: ignore[no-untyped-call]  # one that has waited for nothing
        with torch.cuda.stream(other):
            assert response.output_tensors()[0].data.cpu().tolist() == [2.0, 2.0, 2.0]
    assert len(streams) == 2


def test_zero_size_results_stay_on_their_device() -> None:
    from triton_pytorch.torch_runtime.tensors import as_response_output

    assert as_response_output(torch.empty(2, 0, device=gpu())).device == gpu()
