"""What only a GPU can show: `make test-gpu`. Everything is made here, and takes less than a minute."""

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from triton_pytorch.artifact_store.model_file import open_model_file
from triton_pytorch.batching.gather import gather
from triton_pytorch.model_config.parameters import Parameters
from triton_pytorch.tests.assets.configs import tensor_config
from triton_pytorch.tests.assets.scripts import scripted
from triton_pytorch.tests.integration.conftest import Serve
from triton_pytorch.tests.integration.function_model import function_loop
from triton_pytorch.torch_runtime.session import RunMode
from triton_pytorch.torch_runtime.tensors import as_response_output
from triton_pytorch.torchscript_loader.description import describe

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


def test_model_without_weights_takes_the_first_gpu(tmp_path: Path) -> None:
    with open_model_file(scripted(WithoutWeights(), tmp_path / "archive.pt")) as file:
        assert describe(file, Parameters(), None).device == gpu()


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


def test_inputs_on_the_gpu_stay_there() -> None:
    x = torch.randn(2, 3, device=gpu())
    assert gather([x], gpu(), None).data_ptr() == x.data_ptr()
    assert torch.equal(gather([x, x + 1], gpu(), None), torch.cat([x, x + 1]))
    assert torch.equal(gather([x, x.cpu()], gpu(), None), torch.cat([x, x]))


def test_stream_of_each_instance() -> None:
    seen: list[tuple[int, int]] = []

    def function(x: Tensor) -> list[Tensor]:
        seen.append((torch.cuda.current_stream().cuda_stream, torch.cuda.current_device()))
        busy = torch.ones(2000, 2000, device=x.device)
        for _ in range(20):  # slow enough to be caught unfinished
            busy = busy @ busy / 2000
        return [x * 2 + 0 * busy[0, 0]]

    tensors = [tensor_config("INPUT__0", dims=(3,))], [tensor_config("OUTPUT__0", dims=(3,))]
    for _ in range(2):
        session = RunMode().session_on(gpu())
        served = function_loop(function, *tensors, device=gpu(), session=session)
        (response,) = served.loop.execute([served.request(torch.ones(3))])
        assert response.error() is None, response.error().message()
        other = torch.cuda.Stream()  # type: ignore[no-untyped-call]  # one that has waited for nothing
        with torch.cuda.stream(other):
            assert response.output_tensors()[0].data.cpu().tolist() == [2.0, 2.0, 2.0]
    streams, devices = zip(*seen, strict=True)
    assert len({*streams, torch.cuda.default_stream().cuda_stream}) == 3
    assert devices == (0, 0)


def test_cache_is_emptied_as_a_session_ends() -> None:
    session = RunMode(cleans_cache=True).session_on(gpu())
    torch.cuda.empty_cache()
    with session():
        before = torch.cuda.memory_reserved(0)
        torch.empty(2**26, dtype=torch.uint8, device=gpu())
        assert torch.cuda.memory_reserved(0) >= before + 2**26
    assert torch.cuda.memory_reserved(0) == before


def test_empty_results_stay_on_their_device() -> None:
    assert as_response_output(torch.empty(2, 0, device=gpu())).device == gpu()
