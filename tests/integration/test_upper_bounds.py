"""No call is larger than the model's upper bounds: groups are cut between requests, large requests into pieces."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch

from triton_pytorch.contract.leaves import Dimension, Leaf
from triton_pytorch.contract.sizes import dynamic_size, size_of
from triton_pytorch.tests.assets.configs import tensor_config
from triton_pytorch.tests.assets.leaves import positional
from triton_pytorch.tests.integration.function_model import Loop, function_loop

MOST = 4
X, Y = tensor_config("INPUT__0", dims=(-1,)), tensor_config("OUTPUT__0", dims=(-1,))


def at_most(upper: int, *others: str) -> Callable[[int], Leaf]:
    """Make leaves of shape [batch, *others] with an upper bound of the batch."""
    shape = (Dimension(dynamic_size("s0"), 1, upper), *(Dimension(dynamic_size(name), 1) for name in others))
    return lambda index: positional(index, dtype="float32", shape=shape)


def bounded(function: Callable[..., Sequence[Any]], **config: Any) -> Loop:
    """Serve a function of one input [batch, n] with batch <= MOST."""
    return function_loop(function, [X], [Y], leaf=at_most(MOST, "s1"), max_batch_size=32, **config)


def rows(count: int, start: float = 0.0) -> torch.Tensor:
    return (torch.arange(3.0 * count) + start).reshape(count, 3)


@pytest.mark.parametrize(
    ("sent", "calls"),
    [
        ([1] * 10, [4, 4, 2]),
        ([3, 3, 1, 4, 2, 2], [3, 4, 4, 4]),
        ([2, 9, 1, 1], [2, 3, 3, 3, 2]),
        ([5], [3, 2]),
        ([4], [4]),
    ],
)
def test_calls(sent: list[int], calls: list[int]) -> None:
    served = bounded(lambda x: [x * 2])
    inputs = [rows(count, 100.0 * number) for number, count in enumerate(sent)]
    answers = served.execute(*map(served.request, inputs))
    assert served.model.calls == calls
    for x, answer in zip(inputs, answers, strict=True):
        assert answer["OUTPUT__0"].equal(x * 2)


def test_bounds_that_the_config_lifts() -> None:
    served = bounded(lambda x: [x * 2], parameters={"ENFORCE_UPPER_BOUNDS": "false"})
    answers = served.execute(served.request(rows(9)), served.request(rows(2)))
    assert served.model.calls == [11]
    assert [answer["OUTPUT__0"].tolist() for answer in answers] == [(rows(9) * 2).tolist(), (rows(2) * 2).tolist()]


def test_pieces_of_a_model_that_keeps_its_memory() -> None:
    memory = torch.empty(MOST, 3)

    def function(x: torch.Tensor) -> list[torch.Tensor]:
        return [memory[: x.shape[0]].copy_(x)]

    served = bounded(function)
    answers = served.execute(served.request(rows(6)), served.request(rows(1, 50)))
    assert answers[0]["OUTPUT__0"].equal(rows(6))
    assert answers[1]["OUTPUT__0"].equal(rows(1, 50))


def test_pieces_without_elements() -> None:
    served = function_loop(
        lambda x: [x.new_empty(x.shape[0], 0, 3)],
        [X],
        [tensor_config("OUTPUT__0", dims=(-1, 3))],
        leaf=at_most(MOST, "s1"),
        max_batch_size=32,
    )
    (answer,) = served.execute(served.request(rows(9)))
    assert answer["OUTPUT__0"].shape == (9, 0, 3)


def test_piece_that_fails() -> None:
    def function(x: torch.Tensor) -> list[torch.Tensor]:
        if x.min() < 0:
            raise RuntimeError("negative")
        return [x]

    served = bounded(function)
    answers = served.execute(served.request(rows(9, -10)), served.request(rows(1)))
    assert answers[0].startswith("INTERNAL: internal error in model 'm'")  # a function of ours: nothing foresees it
    assert answers[1]["OUTPUT__0"].equal(rows(1))
    assert served.model.calls == [3, 1]  # what follows the piece that failed is not run


def test_pieces_of_other_sizes() -> None:
    served = bounded(lambda x: [x @ x.T])
    assert served.execute(served.request(rows(4)))[0]["OUTPUT__0"].equal(rows(4) @ rows(4).T)
    (answer,) = served.execute(served.request(rows(7)))
    assert answer == (
        "INTERNAL: model 'm': output 'OUTPUT__0' has shape [4, 4] for the first 4 rows and [3, 3] for others of this "
        "request, whose 7 rows are more than the model takes in one call: send at most 4 rows"
    )


def test_piece_with_other_rows_than_went_in() -> None:
    served = bounded(lambda x: [x[:2]])
    (answer,) = served.execute(served.request(rows(7)))
    assert "output 'OUTPUT__0' is not batched: 4 rows went in and 2 rows came out" in answer


def test_request_that_cannot_be_cut() -> None:
    served = function_loop(
        lambda x: [x], [X], [Y], leaf=at_most(MOST, "s0"), max_batch_size=32
    )  # of shape [batch, batch]
    good, bad = served.execute(served.request(torch.ones(4, 4)), served.request(torch.ones(5, 5)))
    assert good["OUTPUT__0"].tolist() == [[1.0] * 4] * 4
    assert "the request has 5 rows of input 'INPUT__0', but the model takes at most 4 in dimension 0" in bad
    assert "ENFORCE_UPPER_BOUNDS" in bad


def test_every_other_bound_holds_for_each_request() -> None:
    shape = (Dimension(dynamic_size("s0"), 1), Dimension(dynamic_size("s1"), 1, 3), Dimension(size_of(1), 1, 1))
    served = function_loop(
        lambda x: [x],
        [tensor_config("INPUT__0", dims=(-1, 1))],
        [tensor_config("OUTPUT__0", dims=(-1, 1))],
        leaf=lambda index: positional(index, shape=shape),
        max_batch_size=8,
    )
    good, bad = served.execute(served.request(torch.ones(1, 3, 1)), served.request(torch.ones(1, 4, 1)))
    assert good["OUTPUT__0"].shape == (1, 3, 1)
    assert "dimension 1 of input 'INPUT__0' is 4, but the model takes 1 to 3" in bad


def test_elements_of_ragged_requests() -> None:
    served = function_loop(
        lambda values: [values * 2],
        [tensor_config("INPUT__0", allow_ragged_batch=True)],
        [tensor_config("OUTPUT__0")],
        leaf=at_most(MOST),
        max_batch_size=8,
        batch_output=[
            {
                "kind": "BATCH_SCATTER_WITH_INPUT_SHAPE",
                "target_name": ["OUTPUT__0"],
                "source_input": ["INPUT__0"],
            }
        ],
    )
    sent = [torch.ones(1, count) * count for count in (2, 2, 1, 9, 3)]
    answers = served.execute(*map(served.request, sent))
    assert served.model.calls == [4, 4]
    assert "the request has 9 elements of input 'INPUT__0', but the model takes at most 4" in answers.pop(3)
    del sent[3]
    assert [answer["OUTPUT__0"].tolist() for answer in answers] == [(2 * values).tolist() for values in sent]
