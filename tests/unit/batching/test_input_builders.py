"""Each input leaf of a call is built of the requests that share it, in the order of the model's leaves."""

import math
from typing import Any

import pytest
import torch

from triton_pytorch.batching.input_builders import input_builders
from triton_pytorch.contract.leaves import Leaf
from triton_pytorch.contract.plan import Plan
from triton_pytorch.execution.strings import Strings
from triton_pytorch.tests.assets.configs import TYPES, tensor_config
from triton_pytorch.tests.assets.leaves import number, positional
from triton_pytorch.tests.integration.fake_triton import unaligned
from triton_pytorch.tests.unit.batching.plans import a_request, planned
from triton_pytorch.torch_runtime.tensors import ALIGNMENT_BYTES

CPU = torch.device("cpu")
COUNTS = {
    "kind": "BATCH_ELEMENT_COUNT",
    "target_name": ["INPUT__1"],
    "data_type": "TYPE_INT32",
    "source_input": ["INPUT__0"],
}


def built(plan: Plan, *requests: Any) -> list[Any]:
    return [build([a_request(*leaves) for leaves in requests]) for build in input_builders(plan, CPU)]


def numbers(*shape: int) -> torch.Tensor:
    return unaligned(torch.arange(float(torch.Size(shape).numel())).reshape(shape))


def test_tensors_stand_in_the_order_of_the_model() -> None:
    plan = planned(tensor_config("INPUT__1", dims=(2,)), tensor_config("INPUT__0", dims=(3,)))
    first, second = built(plan, [numbers(1, 3), numbers(1, 2)], [numbers(2, 3), numbers(2, 2)])
    assert torch.equal(first, torch.cat([numbers(1, 3), numbers(2, 3)]))
    assert torch.equal(second, torch.cat([numbers(1, 2), numbers(2, 2)]))


@pytest.mark.parametrize("rows", [[1], [2, 1]])
def test_layout_of_a_leaf(rows: list[int]) -> None:
    def laid_out(index: int) -> Leaf:
        return positional(index, layout=(0, 2, 3, 1))

    plan = planned(tensor_config("INPUT__0", dims=(3, 4, 5)), leaf=laid_out)
    (x,) = built(plan, *[[numbers(count, 3, 4, 5)] for count in rows])
    assert x.is_contiguous(memory_format=torch.channels_last)
    assert x.data_ptr() % ALIGNMENT_BYTES == 0
    assert torch.equal(x, torch.cat([numbers(count, 3, 4, 5) for count in rows]))


def test_optional_input_that_was_not_sent() -> None:
    plan = planned(tensor_config("INPUT__0", dims=(3,)), tensor_config("INPUT__1", dims=(2,), optional=True))
    assert built(plan, [numbers(1, 3), None], [numbers(1, 3), None])[1] is None
    assert torch.equal(built(plan, [numbers(1, 3), numbers(1, 2)])[1], numbers(1, 2))


def test_ragged_input_is_flat() -> None:
    plan = planned(tensor_config("INPUT__0", dims=(-1,), allow_ragged_batch=True), batch_inputs=(COUNTS,))
    x, counts = built(plan, [numbers(1, 2), None], [numbers(2, 0), None], [numbers(1, 3), None])
    assert x.tolist() == [0.0, 1.0, 0.0, 1.0, 2.0]
    assert torch.equal(counts, torch.tensor([2, 0, 3], dtype=torch.int32))


def test_strings_of_all_requests() -> None:
    plan = planned({"name": "INPUT__0", "data_type": "TYPE_STRING", "dims": [1], "reshape": {"shape": []}})
    assert built(plan, [Strings(["a", "b"])], [Strings(["c"])]) == [["a", "b", "c"]]


def test_optional_strings_that_were_not_sent() -> None:
    strings = {"name": "INPUT__1", "data_type": "TYPE_STRING", "dims": [1], "reshape": {"shape": []}, "optional": True}
    plan = planned(tensor_config("INPUT__0", dims=(1,)), strings)
    assert built(plan, [numbers(1, 1), None])[1] is None


def without_dimensions(index: int) -> Leaf:
    return positional(index, shape=())


def test_one_tensor_without_batching() -> None:
    plan = planned(tensor_config("INPUT__0", dims=(1,)), leaf=without_dimensions, max_batch_size=0)
    (x,) = built(plan, [torch.tensor([7.0])])
    assert x.shape == ()
    assert float(x) == 7.0


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [(2, 1), (2,)])
def test_one_tensor_of_a_call(dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    more: dict[str, Any] = {"reshape": {"shape": []}} if len(shape) == 1 else {}
    plan = planned(tensor_config("INPUT__0", dtype, (1,), **more), leaf=without_dimensions)
    value = torch.tensor(100).to(dtype)
    for sent in (value.expand(shape).contiguous(), unaligned(value.expand(shape))):
        (x,) = built(plan, [sent], [sent[:1]])
        assert (x.shape, x.dtype) == ((), dtype)
        assert torch.equal(x, value)
        assert x.data_ptr() % ALIGNMENT_BYTES == 0
        x.zero_()  # as models may
        assert torch.equal(sent, value.expand(shape))


@pytest.mark.parametrize("rows", [0, 1, 2], ids=["unbatched", "one", "two"])
@pytest.mark.parametrize(
    ("kind", "dtype", "value", "expected"),
    [
        ("int", torch.int64, -(2**63), -(2**63)),
        ("int", torch.uint64, 2**63 - 1, 2**63 - 1),
        ("int", torch.uint8, 255, 255),
        ("int", torch.int8, -1, -1),
        ("float", torch.float64, 0.1, 0.1),
        ("float", torch.float32, 0.5, 0.5),
        ("float", torch.float64, -math.inf, -math.inf),
        ("bool", torch.bool, True, True),
        ("bool", torch.bool, False, False),
    ],
)
def test_number_of_a_call(kind: str, dtype: torch.dtype, value: Any, expected: Any, rows: int) -> None:
    entry = tensor_config("INPUT__0", dtype, (1,))
    plan = planned(entry, leaf=lambda index: number("n", index, kind), max_batch_size=8 if rows else 0)
    shape = (rows, 1) if rows else (1,)
    (built_number,) = built(plan, *[[unaligned(torch.full(shape, value, dtype=dtype))]] * max(1, rows))
    assert type(built_number) is {"int": int, "float": float, "bool": bool}[kind]
    assert built_number == expected


def test_boolean_of_any_byte() -> None:
    plan = planned(tensor_config("INPUT__0", torch.bool, (1,)), leaf=lambda index: number("n", index, "bool"))
    assert built(plan, [torch.tensor([[2]], dtype=torch.uint8).view(torch.bool)]) == [True]
    plan = planned(tensor_config("INPUT__0", torch.bool, (1,)), leaf=without_dimensions)
    (x,) = built(plan, [torch.tensor([[2]], dtype=torch.uint8).view(torch.bool)])
    assert int(x.view(torch.uint8)) == 1


def test_number_that_was_not_sent() -> None:
    entry = tensor_config("INPUT__1", torch.int64, (1,), optional=True)
    leaves = [positional(0), number("n", 1, "int")]
    plan = planned(tensor_config("INPUT__0", dims=(1,)), entry, leaf=lambda index: leaves[index])
    assert built(plan, [numbers(1, 1), None])[1] is None
    assert built(plan, [numbers(1, 1), torch.tensor([[3]])])[1] == 3
