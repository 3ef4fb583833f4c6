"""Inputs of which a call has one value: each request gets what the model makes of its own, whatever it came with."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch

from triton_pytorch.contract.leaves import Leaf
from triton_pytorch.model_config.errors import ModelRunError
from triton_pytorch.tests.assets.configs import tensor_config
from triton_pytorch.tests.assets.leaves import number, positional
from triton_pytorch.tests.integration.function_model import Loop, function_loop

ONE = {"dims": (1,)}
NAN = float("nan")


def a_loop(
    kind: str | None,
    dtype: torch.dtype,
    function: Callable[..., Sequence[Any]],
    *,
    max_batch_size: int = 8,
    optional: bool = False,
    **one: Any,
) -> Loop:
    """Serve a function of x and of one value: a number of a kind, or a tensor without dimensions."""

    def leaf(index: int) -> Leaf:
        if index == 0:
            return positional(0)
        has_default = {"has_default": optional}
        return positional(1, shape=(), **has_default) if kind is None else number("n", 1, kind, **has_default)

    return function_loop(
        function,
        [tensor_config("INPUT__0", dims=(2,)), tensor_config("INPUT__1", dtype, optional=optional, **{**ONE, **one})],
        [tensor_config("OUTPUT__0", torch.float64, dims=(-1,))],
        leaf=leaf,
        max_batch_size=max_batch_size,
    )


def times(x: torch.Tensor, value: Any) -> Sequence[torch.Tensor]:
    return [x.double() * value]


def rows(x: float, count: int) -> torch.Tensor:
    return torch.full((count, 2), x)


@pytest.mark.parametrize(("kind", "dtype"), [("int", torch.int64), (None, torch.int64), ("int", torch.uint8)])
@pytest.mark.parametrize("reshape", [{}, {"reshape": {"shape": []}}], ids=str)
def test_merged_requests_get_their_value(kind: str | None, dtype: torch.dtype, reshape: Any) -> None:
    served = a_loop(kind, dtype, times, **reshape)
    sent = [(1.0, 2, 8), (2.0, 1, 16), (3.0, 3, 8), (4.0, 1, 8), (5.0, 2, 16)]
    requests = [
        served.request(rows(x, count), torch.full((count,) if reshape else (count, 1), value, dtype=dtype))
        for x, count, value in sent
    ]
    answers = served.execute(*requests)
    for (x, count, value), answer in zip(sent, answers, strict=True):
        assert torch.equal(answer["OUTPUT__0"], rows(x * value, count).double())
    assert served.model.calls == [6, 3]  # rows of a call for each value


@pytest.mark.parametrize("kind", ["float", None])
@pytest.mark.parametrize(
    ("values", "calls"),
    [
        ([0.0, -0.0, 0.0], [2, 1]),  # 1 / x tells them apart
        ([NAN, NAN, 1.0], [2, 1]),
        ([float("inf"), -float("inf"), 0.5], [1, 1, 1]),
    ],
    ids=str,
)
def test_values_that_look_alike(kind: str | None, values: list[float], calls: list[int]) -> None:
    def function(x: torch.Tensor, value: Any) -> Sequence[torch.Tensor]:
        return [x.double() * 0 + 1 / torch.as_tensor(value)]

    served = a_loop(kind, torch.float64, function)
    answers = served.execute(
        *[served.request(rows(1.0, 1), torch.tensor([[value]], dtype=torch.float64)) for value in values]
    )
    for value, answer in zip(values, answers, strict=True):
        expected = (1 / torch.tensor(value, dtype=torch.float64)).expand(1, 2)
        assert torch.equal(answer["OUTPUT__0"].nan_to_num(7), expected.nan_to_num(7))
    assert served.model.calls == calls


@pytest.mark.parametrize("kind", ["bool", None])
def test_booleans_of_any_byte(kind: str | None) -> None:
    seen: list[int] = []

    def function(x: torch.Tensor, value: Any) -> Sequence[torch.Tensor]:
        seen.append(int(value.view(torch.uint8)) if kind is None else value)
        return [x.double()]

    served = a_loop(kind, torch.bool, function)
    sent = [torch.tensor([[byte], [other]], dtype=torch.uint8) for byte, other in ((1, 2), (0, 0), (255, 3))]
    served.execute(*[served.request(rows(1.0, 2), each.view(torch.bool)) for each in sent])
    assert seen == [1, 0]
    assert served.model.calls == [4, 2]


@pytest.mark.parametrize(
    ("kind", "dtype", "values", "said"),
    [
        ("int", torch.int64, [8000, 8000, 16000], "8000 in row 0 and 16000 in row 2"),
        (None, torch.float16, [1.5, -2.0], "1.5 in row 0 and -2.0 in row 1"),
        ("float", torch.float32, [0.0, -0.0], "0.0 in row 0 and -0.0 in row 1"),
        ("bool", torch.bool, [True, True, False], "True in row 0 and False in row 2"),
        ("int", torch.uint64, [2**64 - 1, 1], "18446744073709551615 in row 0 and 1 in row 1"),
    ],
)
def test_rows_that_differ(kind: str | None, dtype: torch.dtype, values: list[Any], said: str) -> None:
    served = a_loop(kind, dtype, times)
    wrong = torch.tensor(values, dtype=dtype).reshape(-1, 1)
    right = torch.tensor([[1]]).to(dtype)
    answers = served.execute(
        served.request(rows(1.0, 1), right),
        served.request(rows(1.0, len(values)), wrong),
        served.request(rows(2.0, 1), right),
    )
    assert answers[1] == (
        f"INVALID_ARG: model 'm': input 'INPUT__1' has {said}, but the model takes one value for all rows of a "
        "request: send rows with another one in a request of their own"
    )
    assert [answers[i]["OUTPUT__0"].tolist() for i in (0, 2)] == [[[1.0, 1.0]], [[2.0, 2.0]]]
    assert served.model.calls == [2]


def test_request_without_rows() -> None:
    served = a_loop("int", torch.int64, times)
    right = served.request(rows(1.0, 1), torch.tensor([[3]]))
    answers = served.execute(right, served.request(rows(1.0, 0), torch.zeros(0, 1, dtype=torch.int64)), right)
    assert answers[1] == (
        "INVALID_ARG: model 'm': input 'INPUT__1' has no rows, so that the model gets no value of it: send one at least"
    )
    assert [answers[i]["OUTPUT__0"].tolist() for i in (0, 2)] == [[[3.0, 3.0]]] * 2


@pytest.mark.parametrize("max_batch_size", [0, 8])
def test_integer_above_int64(max_batch_size: int) -> None:
    served = a_loop("int", torch.uint64, times, max_batch_size=max_batch_size)
    shape, x = ((1, 1), rows(1.0, 1)) if max_batch_size else ((1,), torch.ones(2))
    largest, larger = (torch.full(shape, value, dtype=torch.uint64) for value in (2**63 - 1, 2**63))
    answers = served.execute(served.request(x, larger), served.request(x, largest))
    assert answers[0] == (
        "INVALID_ARG: model 'm': input 'INPUT__1' is 9223372036854775808, but the model takes int, which is at most "
        "9223372036854775807"
    )
    assert answers[1]["OUTPUT__0"].flatten().tolist() == [2.0**63] * 2
    # As a tensor it is nothing special.
    served = a_loop(None, torch.uint64, lambda x, value: [x.double() * value.item()], max_batch_size=max_batch_size)
    (answer,) = served.execute(served.request(x, larger))
    assert answer["OUTPUT__0"].flatten().tolist() == [2.0**63] * 2


def test_optional_value() -> None:
    served = a_loop("int", torch.int64, lambda x, n: times(x, -1 if n is None else n), optional=True)
    sent = [None, 3, 0, None, 3]
    answers = served.execute(
        *[served.request(rows(2.0, 1), None if value is None else torch.tensor([[value]])) for value in sent]
    )
    assert [answer["OUTPUT__0"].tolist() for answer in answers] == [[[2.0 * it] * 2] for it in (-1, 3, 0, -1, 3)]
    assert served.model.calls == [2, 2, 1]


def test_value_that_the_model_writes_to() -> None:
    def function(x: torch.Tensor, value: torch.Tensor) -> Sequence[torch.Tensor]:
        result = x.double() * value
        value.fill_(NAN)
        if len(x) > 1:
            raise ModelRunError("too many rows")
        return [result]

    served = a_loop(None, torch.float64, function)
    requests = [served.request(rows(x, 1), torch.tensor([[3.0]], dtype=torch.float64)) for x in (1.0, 2.0)]
    for request in requests:
        request.inputs()[1].data = request.inputs()[1].data.clone()  # aligned, so that it need not be copied
    answers = served.execute(*requests)
    assert [answer["OUTPUT__0"].tolist() for answer in answers] == [[[3.0, 3.0]], [[6.0, 6.0]]]


def test_value_without_batching() -> None:
    served = a_loop("float", torch.float64, times, max_batch_size=0)
    sent = [torch.tensor([value], dtype=torch.float64) for value in (0.5, 3.0)]
    answers = served.execute(*[served.request(torch.tensor([1.0, 2.0]), value) for value in sent])
    assert [answer["OUTPUT__0"].tolist() for answer in answers] == [[0.5, 1.0], [3.0, 6.0]]
