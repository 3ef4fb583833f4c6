"""Requests that are merged get their own rows and nothing else, whatever the mix, and one call serves them all."""

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from triton_pytorch.tests.assets.configs import tensor_config
from triton_pytorch.tests.assets.leaves import positional
from triton_pytorch.tests.integration.function_model import Loop, function_loop

BATCH = 64


def scale_and_sum(x: torch.Tensor, y: torch.Tensor) -> Sequence[torch.Tensor]:
    """Return outputs of several kinds: new, permuted, a view of an input, a reduction over what is not the batch."""
    return x * y.unsqueeze(1), (x + 1).transpose(1, 2), x[:, :1], y


def a_loop(function: Any = scale_and_sum, **config: Any) -> Loop:
    inputs = [tensor_config("INPUT__0", dims=(-1, 3)), tensor_config("INPUT__1", dims=(3,))]
    outputs = [
        tensor_config("OUTPUT__0", dims=(-1, 3)),
        tensor_config("OUTPUT__1", dims=(3, -1)),
        tensor_config("OUTPUT__2", dims=(-1, 3)),
        tensor_config("OUTPUT__3", dims=(3,)),
    ]
    return function_loop(function, inputs, outputs, max_batch_size=BATCH, **config)


def tensors(number: int, rows: int, length: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Make the inputs of request `number`, whose every value is its own."""
    x = torch.arange(rows * length * 3.0).reshape(rows, length, 3) + 1000 * number
    y = torch.arange(rows * 3.0).reshape(rows, 3) - 1000 * number
    return x, y


MIXES = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), min_size=1, max_size=8)


@settings(deadline=None)
@given(mix=MIXES, wanted=st.lists(st.sets(st.sampled_from(range(4))), min_size=8, max_size=8))
def test_merged_equals_alone(mix: list[tuple[int, int]], wanted: list[set[int]]) -> None:
    served = a_loop()
    sent = [tensors(number, *sizes) for number, sizes in enumerate(mix)]
    names = [[f"OUTPUT__{index}" for index in indices] for indices in wanted]

    answers = served.execute(*[served.request(*pair, outputs=names[i]) for i, pair in enumerate(sent)])

    for pair, answer, indices in zip(sent, answers, wanted, strict=False):
        expected = scale_and_sum(*pair)
        assert answer.keys() == {f"OUTPUT__{index}" for index in indices}
        for index in indices:
            assert torch.equal(answer[f"OUTPUT__{index}"], expected[index])
    assert len(served.model.calls) == len({length for _, length in mix})  # a call for each size


def test_groups_in_order() -> None:
    lengths: list[int] = []

    def function(x: torch.Tensor, y: torch.Tensor) -> Sequence[torch.Tensor]:
        lengths.append(x.shape[1])
        return scale_and_sum(x, y)

    served = a_loop(function)
    mix = [(1, 2), (1, 3), (2, 2), (1, 1), (3, 3)]
    served.execute(*[served.request(*tensors(i, *sizes)) for i, sizes in enumerate(mix)])
    assert lengths == [2, 3, 1]


def test_groups_by_optional_inputs() -> None:
    calls: list[list[bool]] = []

    def function(x: torch.Tensor, y: torch.Tensor | None, z: torch.Tensor | None) -> Sequence[torch.Tensor]:
        calls.append([y is not None, z is not None])
        return [x + (10 if y is None else y) + (100 if z is None else z)]

    served = function_loop(
        function,
        [tensor_config(f"INPUT__{i}", dims=(1,), optional=i > 0) for i in range(3)],
        [tensor_config("OUTPUT__0", dims=(1,))],
        leaf=lambda index: positional(index, has_default=index > 0),
        max_batch_size=BATCH,
    )
    x, y, z = (torch.tensor([[value]]) for value in (1.0, 2.0, 3.0))
    sent = [(x, y, z), (x, None, z), (x + 1, y, z), (x, y, None), (x, None, None), (x + 1, None, z)]
    answers = served.execute(*[served.request(*inputs) for inputs in sent])
    assert [float(answer["OUTPUT__0"]) for answer in answers] == [6.0, 14.0, 7.0, 103.0, 111.0, 15.0]
    assert calls == [[True, True], [False, True], [True, False], [False, False]]


def test_request_without_any_input() -> None:
    served = function_loop(
        lambda x: [torch.zeros(1, 1) if x is None else x],
        [tensor_config("INPUT__0", dims=(1,), optional=True)],
        [tensor_config("OUTPUT__0", dims=(1,))],
        leaf=lambda index: positional(index, has_default=True),
        max_batch_size=BATCH,
    )
    (answer,) = served.execute(served.request(None))
    assert answer == (
        "INVALID_ARG: model 'm': the request has no input at all, so that it has no batch size: "
        "send one of the optional ones"
    )


def test_without_batching_each_request_is_a_call() -> None:
    served = function_loop(
        lambda x: [x.sum()], [tensor_config("INPUT__0")], [tensor_config("OUTPUT__0", dims=(1,))], max_batch_size=0
    )
    answers = served.execute(*[served.request(torch.full((size,), 2.0)) for size in (3, 3, 0)])
    assert [answer["OUTPUT__0"].tolist() for answer in answers] == [[6.0], [6.0], [0.0]]
    assert served.model.calls == [3, 3, 0]


def test_model_that_writes_to_its_inputs() -> None:
    def function(x: torch.Tensor, y: torch.Tensor) -> Sequence[torch.Tensor]:
        outputs = scale_and_sum(x.clone(), y.clone())
        x.fill_(float("nan"))
        y.fill_(float("nan"))
        return outputs

    served = a_loop(function)
    sent = [tensors(number, 2, 2) for number in range(3)]
    requests = [served.request(*pair) for pair in sent]
    answers = served.execute(*requests)
    for pair, request, answer in zip(sent, requests, answers, strict=True):
        assert torch.equal(answer["OUTPUT__0"], scale_and_sum(*pair)[0])
        assert [tensor.data.tolist() for tensor in request.inputs()] == [tensor.tolist() for tensor in pair]


def test_lent_memory_before_another_group() -> None:
    kept = torch.zeros(BATCH, 4, 3)

    def function(x: torch.Tensor, y: torch.Tensor) -> Sequence[torch.Tensor]:
        lent = kept[: x.shape[0], : x.shape[1]]
        lent.copy_(x)
        return lent, *scale_and_sum(x, y)[1:]

    served = a_loop(function)
    sent = [tensors(number, 1, length) for number, length in enumerate((2, 3, 2, 0, 1))]  # 0: empty tensors too
    answers = served.execute(*[served.request(*pair) for pair in sent])
    for (x, _), answer in zip(sent, answers, strict=True):
        assert torch.equal(answer["OUTPUT__0"], x)


def test_outputs_that_share_memory() -> None:
    def function(x: torch.Tensor, y: torch.Tensor) -> Sequence[torch.Tensor]:
        return x, x.transpose(1, 2), x[:, :1].expand(-1, 2, -1), y

    served = a_loop(function)
    sent = [tensors(number, number + 1, 2) for number in range(3)]
    answers = served.execute(*[served.request(*pair) for pair in sent])
    for (x, y), answer in zip(sent, answers, strict=True):
        assert torch.equal(answer["OUTPUT__0"], x)
        assert torch.equal(answer["OUTPUT__1"], x.transpose(1, 2))
        assert torch.equal(answer["OUTPUT__2"], x[:, :1].expand(-1, 2, -1))
        assert torch.equal(answer["OUTPUT__3"], y)


@pytest.mark.parametrize("rows", [[0], [0, 0], [0, 2], [2, 0, 1]], ids=str)
def test_requests_without_rows(rows: list[int]) -> None:
    served = a_loop()
    sent = [tensors(number, count, 2) for number, count in enumerate(rows)]
    answers = served.execute(*[served.request(*pair) for pair in sent])
    for pair, answer in zip(sent, answers, strict=True):
        assert [answer[f"OUTPUT__{i}"].tolist() for i in range(4)] == [out.tolist() for out in scale_and_sum(*pair)]


@pytest.mark.parametrize(
    ("is_cancelled", "seconds", "asked", "expected_calls"),
    [
        ([True, False], 0.009, 0, [2, 2]),  # less than 5 ms for each of two requests
        ([True, False], 0.011, 1, [2, 1]),
        ([True, True], 0.011, 1, [2]),
        ([False, False], 0.011, 1, [2, 2]),
    ],
)
def test_cancelled_requests_of_a_slow_model(
    monkeypatch: pytest.MonkeyPatch,
    is_cancelled: list[bool],
    seconds: float,
    asked: int,
    expected_calls: list[int],
) -> None:
    served = function_loop(
        lambda x: [x + 1], [tensor_config("INPUT__0")], [tensor_config("OUTPUT__0")], max_batch_size=2
    )
    clock = iter([i * seconds for i in range(100)])
    monkeypatch.setattr("triton_pytorch.execution.loop.perf_counter", lambda: next(clock))
    first = [served.request(torch.full((1, 2), 5.0)) for _ in range(2)]
    assert [answer["OUTPUT__0"].tolist() for answer in served.execute(*first)] == [[[6.0, 6.0]]] * 2
    assert [request.times_asked for request in first] == [0, 0]

    second = [served.request(torch.full((1, 2), 7.0), is_cancelled=cancelled) for cancelled in is_cancelled]
    answers = served.execute(*second)

    assert [request.times_asked for request in second] == [asked, asked]
    for cancelled, answer in zip(is_cancelled, answers, strict=True):
        if cancelled and asked:
            assert answer == "CANCELLED: model 'm': the request was cancelled while it waited"
        else:
            assert answer["OUTPUT__0"].tolist() == [[8.0, 8.0]]
    assert served.model.calls == expected_calls
