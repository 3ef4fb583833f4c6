"""What the model gets and what Triton gets: aligned, in the right layout, and nothing that another one can change."""

import gc
from collections.abc import Sequence

import pytest
import torch

from triton_pytorch.tests.assets.configs import tensor_config
from triton_pytorch.tests.integration import fake_triton
from triton_pytorch.tests.integration.conftest import Serve
from triton_pytorch.tests.integration.function_model import function_loop
from triton_pytorch.torch_runtime.session import RunMode
from triton_pytorch.torch_runtime.tensors import ALIGNMENT_BYTES, as_model_input, as_response_output

CPU = torch.device("cpu")


def test_unaligned_memory_is_copied() -> None:
    x = fake_triton.unaligned(torch.arange(6.0).reshape(2, 3))
    taken = as_model_input(x, CPU, None)
    assert x.data_ptr() % ALIGNMENT_BYTES != 0
    assert taken.data_ptr() % ALIGNMENT_BYTES == 0
    assert torch.equal(taken, x)


def test_aligned_row_major_memory_is_not_copied() -> None:
    x = torch.zeros(2, 3)
    assert as_model_input(x, CPU, None).data_ptr() == x.data_ptr()


@pytest.mark.parametrize("x", [torch.arange(6.0).reshape(2, 3).t(), torch.arange(16.0).reshape(2, 8)[:, ::2]])
def test_strided_memory_is_made_row_major(x: torch.Tensor) -> None:
    taken = as_model_input(x, CPU, None)
    assert taken.is_contiguous()
    assert torch.equal(taken, x)


def test_layout_of_an_input() -> None:
    x = torch.arange(2.0 * 3 * 4 * 5).reshape(2, 3, 4, 5)
    taken = as_model_input(x, CPU, (0, 2, 3, 1))
    assert taken.is_contiguous(memory_format=torch.channels_last)
    assert torch.equal(taken, x)


@pytest.mark.parametrize("shape", [(0,), (2, 0), (0, 3), (2, 2, 0), (0, 2, 0), (3, 2, 0, 4)])
def test_strides_of_empty_results(shape: tuple[int, ...]) -> None:
    sent = fake_triton.Tensor.from_dlpack(
        "x", fake_triton.Tensor("x", as_response_output(torch.empty(shape))).to_dlpack()
    )
    assert sent.data.shape == shape


@pytest.mark.parametrize(
    ("mode", "is_inference"), [(RunMode(), True), (RunMode(inference_mode=False, cleans_cache=True), False)]
)
def test_models_run_in_their_session(mode: RunMode, is_inference: bool) -> None:
    seen: list[tuple[bool, bool]] = []

    def function(x: torch.Tensor) -> Sequence[torch.Tensor]:
        seen.append((torch.is_inference_mode_enabled(), torch.is_grad_enabled()))
        return [x]

    served = function_loop(
        function, [tensor_config("INPUT__0")], [tensor_config("OUTPUT__0")], session=mode.session_on(CPU)
    )
    (answer,) = served.execute(served.request(torch.ones(2)))
    assert answer["OUTPUT__0"].tolist() == [1.0, 1.0]
    assert seen == [(is_inference, False)]


def test_objects_of_loading_are_frozen(serve: Serve) -> None:
    gc.unfreeze()
    serve("looks_up", [tensor_config("INPUT__0", torch.int64, (2,))], [tensor_config("OUTPUT__0")])
    assert gc.get_freeze_count() > 0
