"""What the model gets and what Triton gets: aligned, in the right layout, and nothing that somebody else can change."""

import gc
import json
from collections.abc import Sequence

import pytest
import torch

from triton_pytorch.execution.loop import RunLoop
from triton_pytorch.contract.leaves import Leaf
from triton_pytorch.io_naming.names import LeafPath
from triton_pytorch.model_config.configuration import read_config
from triton_pytorch.tests.assets.configs import tensor_config
from triton_pytorch.tests.integration import fake_triton
from triton_pytorch.tests.integration.conftest import Serve
from triton_pytorch.torch_runtime.tensors import ALIGNMENT_BYTES, as_model_input, as_response_output

CPU = torch.device("cpu")


def test_unaligned_memory_is_copied_to_an_aligned_place() -> None:
    x = fake_triton.unaligned(torch.arange(6.0).reshape(2, 3))
    taken = as_model_input(x, CPU, None)
    assert x.data_ptr() % ALIGNMENT_BYTES != 0
    assert taken.data_ptr() % ALIGNMENT_BYTES == 0
    assert torch.equal(taken, x)


def test_aligned_row_major_memory_is_taken_as_it_is() -> None:
    x = torch.zeros(2, 3)
    assert as_model_input(x, CPU, None).data_ptr() == x.data_ptr()


@pytest.mark.parametrize("x", [torch.arange(6.0).reshape(2, 3).t(), torch.arange(16.0).reshape(2, 8)[:, ::2]])
def test_strided_memory_is_made_row_major(x: torch.Tensor) -> None:
    taken = as_model_input(x, CPU, None)
    assert taken.is_contiguous()
    assert torch.equal(taken, x)


def test_a_layout_is_kept_to() -> None:
    x = torch.arange(2.0 * 3 * 4 * 5).reshape(2, 3, 4, 5)
    taken = as_model_input(x, CPU, (0, 2, 3, 1))
    assert taken.is_contiguous(memory_format=torch.channels_last)
    assert torch.equal(taken, x)


@pytest.mark.parametrize("shape", [(0,), (2, 0), (0, 3), (2, 2, 0), (0, 2, 0), (3, 2, 0, 4)])
def test_zero_size_results_have_the_strides_that_the_python_backend_wants(shape: tuple[int, ...]) -> None:
    sent = fake_triton.Tensor.from_dlpack(
        "x", fake_triton.Tensor("x", as_response_output(torch.empty(shape))).to_dlpack()
    )
    assert sent.data.shape == shape


class Watcher:
    """A model that tells whether it runs under inference mode."""

    inputs = (Leaf(LeafPath("ARGS", ("0",))),)
    outputs = (Leaf(LeafPath("RESULT")),)
    device = CPU

    def run(self, leaves: list[torch.Tensor]) -> Sequence[torch.Tensor]:
        return [torch.full_like(leaves[0], float(torch.is_inference_mode_enabled()))]

    def close(self) -> None:
        """Nothing to let go of."""


def test_models_run_under_inference_mode() -> None:
    config = {"name": "m", "input": [tensor_config("INPUT__0")], "output": [tensor_config("RESULT")]}
    loop = RunLoop(Watcher(), read_config(json.dumps(config)), fake_triton.names())
    request = fake_triton.InferenceRequest([fake_triton.Tensor("INPUT__0", torch.zeros(2))], ["RESULT"])
    (response,) = loop.execute([request])
    assert response.output_tensors()[0].data.tolist() == [1.0, 1.0]


def test_what_loading_left_behind_is_frozen(serve: Serve) -> None:
    gc.unfreeze()
    serve("looks_up", [tensor_config("INPUT__0", torch.int64, (2,))], [tensor_config("OUTPUT__0")])
    assert gc.get_freeze_count() > 0
