"""One bad request among many fails alone, and every request is answered whatever happens inside."""

import gc
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch

from triton_pytorch.contract.leaves import Leaf
from triton_pytorch.model_config.errors import ModelRunError
from triton_pytorch.tests.assets.configs import tensor_config
from triton_pytorch.tests.integration.function_model import Loop, function_loop

MAGIC = 13.0
Function = Callable[..., Sequence[Any]]


def a_loop(function: Function, outputs: int = 1, max_batch_size: int = 8, dims: tuple[int, ...] = (2,)) -> Loop:
    return function_loop(
        function,
        [tensor_config("INPUT__0", dims=dims)],
        [tensor_config(f"OUTPUT__{i}", dims=(-1,) * len(dims)) for i in range(outputs)],
        max_batch_size=max_batch_size,
    )


def row(value: float, rows: int = 1) -> torch.Tensor:
    return torch.full((rows, 2), float(value))


def proven(function: Function) -> Loop:
    """Serve a function that has answered before, so that requests share its calls."""
    served = a_loop(function)
    served.prove(row(0))
    return served


def fails_from_three_rows(x: torch.Tensor) -> Sequence[torch.Tensor]:
    if x.shape[0] >= 3:
        raise ModelRunError("too many rows")
    return [x * 2]


def fails_on_a_magic_row(x: torch.Tensor) -> Sequence[torch.Tensor]:
    healthy = x.clone()
    x.fill_(float("nan"))  # and has written to what it was given by then
    if (healthy == MAGIC).any():
        raise ModelRunError("unlucky")
    return [healthy * 2]


def test_a_batch_that_is_too_large_for_the_model_is_run_one_by_one() -> None:
    served = proven(fails_from_three_rows)
    for _ in range(2):
        answers = served.execute(*[served.request(row(value)) for value in (1, 2, 3, 4)])
        assert [answer["OUTPUT__0"].tolist() for answer in answers] == [[[2.0 * v] * 2] for v in (1, 2, 3, 4)]
    assert served.model.calls == [4, 1, 1, 1, 1] * 2
    (line,) = served.errors_logged  # once
    assert "failed on a batch of 4 rows (too many rows)" in line
    assert "max_batch_size" in line


def test_a_bad_request_fails_alone() -> None:
    served = proven(fails_on_a_magic_row)
    answers = served.execute(*[served.request(row(value)) for value in (1, MAGIC, 3)])
    assert answers[1] == "INTERNAL: model 'm': unlucky"
    assert [answers[i]["OUTPUT__0"].tolist() for i in (0, 2)] == [[[2.0, 2.0]], [[6.0, 6.0]]]
    assert served.model.calls == [3, 1, 1, 1]
    assert served.errors_logged == []  # the request was at fault, and was told


def test_a_bad_first_request_does_not_hide_that_outputs_are_unproven() -> None:
    served = a_loop(lambda x: [fails_on_a_magic_row(x)[0].mean(0, keepdim=True)])
    (bad,) = served.execute(served.request(row(MAGIC)))
    (unbatched,) = served.execute(served.request(row(1)))
    assert bad == "INTERNAL: model 'm': unlucky"
    assert "2 rows went in and 1 row came out" in unbatched


def test_requests_are_run_again_once() -> None:
    calls: list[int] = []

    def fails_every_second_time(x: torch.Tensor) -> Sequence[torch.Tensor]:
        calls.append(x.shape[0])
        if is_armed and len(calls) % 2:
            raise ModelRunError("odd")
        return [x * 2]

    is_armed = False
    served = proven(fails_every_second_time)
    is_armed = True
    calls.clear()
    answers = served.execute(*[served.request(row(value)) for value in (1, 2, 3)])
    assert answers[1] == "INTERNAL: model 'm': odd"
    assert [answers[i]["OUTPUT__0"].tolist() for i in (0, 2)] == [[[2.0, 2.0]], [[6.0, 6.0]]]
    assert calls == [3, 1, 1, 1]


def test_a_group_that_fails_leaves_the_other_groups_alone() -> None:
    served = a_loop(lambda x: [fails_on_a_magic_row(x)[0]], dims=(-1,))
    sent = [torch.full((1, size), value) for size, value in ((2, 1.0), (3, MAGIC), (2, 2.0), (3, 3.0))]
    answers = served.execute(*[served.request(x) for x in sent])
    assert answers[1] == "INTERNAL: model 'm': unlucky"
    assert [answers[i]["OUTPUT__0"].tolist() for i in (0, 2, 3)] == [[[2.0] * 2], [[4.0] * 2], [[6.0] * 3]]


def test_a_request_that_cannot_be_read_spoils_no_call() -> None:
    served = proven(lambda x: [x * 2])
    unreadable = served.request(row(1))
    unreadable.inputs = lambda: 1 / 0
    answers = served.execute(served.request(row(1)), unreadable, served.request(), served.request(row(3)))
    assert answers[1] == "INTERNAL: internal error in model 'm': see the server's log"
    assert answers[2] == "INVALID_ARG: model 'm': the request lacks input INPUT__0"
    assert [answers[i]["OUTPUT__0"].tolist() for i in (0, 3)] == [[[2.0, 2.0]], [[6.0, 6.0]]]
    assert served.model.calls == [2]
    (line,) = served.errors_logged
    assert "ZeroDivisionError" in line


@pytest.mark.parametrize(
    "function",
    [lambda x: [], lambda x: None, lambda x: ["text"], lambda x: [1 / 0], lambda x: [torch.ones(2, 2, 2, 2)]],
)
def test_every_request_is_answered_whatever_a_model_returns(function: Function) -> None:
    served = a_loop(function)
    for count in (1, 2, 8):
        answers = served.execute(*[served.request(row(1)) for _ in range(count)])
        assert len(answers) == count
        assert all(isinstance(answer, str) and answer.startswith("INTERNAL: ") for answer in answers)


def pairs(x: torch.Tensor) -> torch.Tensor:
    """Return the rows but for an odd one at the end, as a view drops it."""
    return x[: x.shape[0] // 2 * 2]


def fours(x: torch.Tensor) -> torch.Tensor:
    """Return all numbers in rows of four, but for a remainder."""
    return x.reshape(-1)[: x.numel() // 4 * 4].reshape(-1, 4)


@pytest.mark.parametrize(
    ("function", "rows", "numbers"),
    [
        (lambda x: x.mean(0, keepdim=True), 1, "2 rows went in and 1 row came out"),
        (lambda x: x.mean(0, keepdim=True), 3, "3 rows went in and 1 row came out"),
        (torch.sum, 1, "1 row went in and a single number came out"),
        (lambda x: x.t(), 2, "4 rows went in and 2 rows came out"),  # time first, with as many steps as rows
        (lambda x: x.t(), 1, "1 row went in and 2 rows came out"),  # time first, with twice as many
        (pairs, 1, "1 row went in and 0 rows came out"),
        (pairs, 3, "3 rows went in and 2 rows came out"),
        (fours, 2, "2 rows went in and 1 row came out"),
        (lambda x: x[:1].expand(4, -1), 4, "8 rows went in and 4 rows came out"),
        (lambda x: x[:1].expand(2, -1), 1, "1 row went in and 2 rows came out"),
    ],
)
def test_an_output_that_is_not_batched_fails_at_the_first_request(
    function: Callable[[torch.Tensor], torch.Tensor], rows: int, numbers: str
) -> None:
    served = a_loop(lambda x: [function(x), x + 1], outputs=2)
    for _ in range(5):
        bad, good = (served.request(row(5, rows), outputs=[name]) for name in ("OUTPUT__0", "OUTPUT__1"))
        refused, answer = served.execute(bad, good)
        assert refused.startswith(f"INTERNAL: model 'm': output 'OUTPUT__0' is not batched: {numbers}; ")
        assert "max_batch_size: 0" in refused
        assert answer["OUTPUT__1"].tolist() == [[6.0, 6.0]] * rows
    (line,) = served.errors_logged
    assert "OUTPUT__0" in line


def test_a_full_first_batch_is_not_merged() -> None:
    served = a_loop(lambda x: [x.t()])  # four rows of two numbers: as many as a batch of two rows has
    answers = served.execute(*[served.request(torch.full((rows, 2), float(rows))) for rows in (2, 6)])
    assert "4 rows went in and 2 rows came out" in answers[0]
    assert "6 rows went in and 2 rows came out" in answers[1]


def test_rows_that_depend_on_the_rows_before_them_are_not_merged() -> None:
    served = a_loop(lambda x: [x.cumsum(0)])  # time first, going in and coming out: the numbers of rows always agree
    for _ in range(4):
        answers = served.execute(*[served.request(torch.ones(rows, 2)) for rows in (1, 3)])
        assert answers[0]["OUTPUT__0"].tolist() == [[1.0, 1.0]]
        assert answers[1]["OUTPUT__0"].tolist() == [[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]
    (line,) = served.errors_logged
    assert "requests for output 'OUTPUT__0' are not merged, since its rows come out different where they are" in line
    assert served.model.calls == [1, 3, 2, 6, 1, 3, 2, 1, 3, 1, 3]  # three trials, then no more


def test_rows_that_are_complete_in_their_request_are_answered() -> None:
    served = a_loop(lambda x: [pairs(x)])
    served.prove(row(1, 2))
    answers = served.execute(*[served.request(row(rows, rows)) for rows in (4, 1, 2)])
    assert [answers[i]["OUTPUT__0"].tolist() for i in (0, 2)] == [[[4.0, 4.0]] * 4, [[2.0, 2.0]] * 2]
    assert "1 row went in and 0 rows came out" in answers[1]


def test_each_output_is_proven_once() -> None:
    served = a_loop(lambda x: [x + 1, x + 2], outputs=2, max_batch_size=4)
    for rows, outputs in ((3, None), (1, ["OUTPUT__0"]), (1, ["OUTPUT__0"]), (2, None), (2, None), (1, None)):
        (answer,) = served.execute(served.request(row(5, rows), outputs=outputs))
        assert all(part.shape == (rows, 2) for part in answer.values())
    assert served.model.calls == [3, 1, 2, 1, 2, 4, 2, 1]  # three rows are too many to be sent twice


def test_requests_are_merged_once_some_that_differ_came_together() -> None:
    served = a_loop(lambda x: [x + 1], max_batch_size=4)
    answers = served.execute(*[served.request(row(value)) for value in (1, 2, 3)])
    assert [answer["OUTPUT__0"].tolist() for answer in answers] == [[[2.0] * 2], [[3.0] * 2], [[4.0] * 2]]
    assert served.model.calls == [1, 1, 1, 2, 3, 3]  # alone, the first one twice, together in both orders
    served.model.calls.clear()
    served.execute(*[served.request(row(value)) for value in (1, 2, 3)])
    assert served.model.calls == [3]


def test_a_model_that_takes_single_rows_only_answers_them() -> None:
    def single_row(x: torch.Tensor) -> Sequence[torch.Tensor]:
        if x.shape[0] > 1:
            raise ModelRunError("one row only")
        return [x * 2]

    served = a_loop(single_row)
    for _ in range(2):
        answers = served.execute(*[served.request(row(value)) for value in (1, 2)])
        assert [answer["OUTPUT__0"].tolist() for answer in answers] == [[[2.0, 2.0]], [[4.0, 4.0]]]
    assert served.model.calls == [1, 1, 2, 2, 1, 1, 2]
    (line,) = served.errors_logged
    assert "not merged, since the model fails on 2 rows (one row only)" in line


def test_rows_that_are_rounded_differently_in_a_larger_batch_are_the_same() -> None:
    served = a_loop(lambda x: [x * (1 + x.shape[0] * 1e-6)])
    for _ in range(2):
        served.execute(served.request(row(1)), served.request(row(2)))
    assert served.model.calls == [1, 1, 2, 2, 2, 2]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 3e38, 0.0])
def test_rows_of_any_numbers_are_compared(value: float) -> None:
    served = a_loop(lambda x: [x * value], max_batch_size=4)
    served.execute(served.request(row(1)))
    assert served.model.calls == [1, 2]


def first_row(x: torch.Tensor) -> torch.Tensor:
    return x[:1].expand_as(x)


def with_column(function: Callable[[torch.Tensor], torch.Tensor], value: float) -> Callable[..., torch.Tensor]:
    return lambda x: torch.cat([function(x[:, :1]), torch.full_like(x[:, :1], value)], 1)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.flip(0),
        lambda x: x.sort(0).values,
        lambda x: x.sort(0, descending=True).values,
        lambda x: x - x.mean(0),
        lambda x: x.cumsum(0),
        lambda x: x.softmax(0),
        lambda x: x.roll(1, 0),
        first_row,
        lambda x: x[-1:].expand_as(x),
        with_column(lambda x: x.cumsum(0), float("-inf")),
        with_column(lambda x: x.flip(0), -1e9),
        with_column(first_row, torch.finfo(torch.float32).min),
        with_column(lambda x: x.flip(0), float("nan")),
    ],
)
@pytest.mark.parametrize("first", [0.0, 1.0, 5.0])
def test_rows_that_depend_on_others_are_those_of_a_request_alone(
    function: Callable[[torch.Tensor], torch.Tensor], first: float
) -> None:
    served = a_loop(lambda x: [function(x)])
    served.execute(served.request(row(first)))  # as a warm-up does
    for values in ([0, 0], [1, 10, 100, 1000], [4, 3, 2, 1], [7], [2, 2]):
        sent = [row(value) for value in values]
        for x, answer in zip(sent, served.execute(*map(served.request, sent)), strict=True):
            assert torch.equal(answer["OUTPUT__0"].nan_to_num(7e7), function(x).nan_to_num(7e7))


def test_what_is_proven_for_some_inputs_is_not_for_others() -> None:
    served = function_loop(
        lambda x, y: [x + 1 if y is None else x + y.sum(0)],
        [tensor_config("INPUT__0", dims=(2,)), tensor_config("INPUT__1", dims=(2,), optional=True)],
        [tensor_config("OUTPUT__0", dims=(2,))],
        leaf=lambda path: Leaf(path, has_default=path.segments == ("1",)),
        max_batch_size=8,
    )
    served.prove(row(1), None)
    answers = served.execute(served.request(row(1), row(1)), served.request(row(2), row(2)))
    assert [answer["OUTPUT__0"].tolist() for answer in answers] == [[[2.0, 2.0]], [[4.0, 4.0]]]


def test_requests_that_are_all_the_same_share_calls_but_prove_nothing() -> None:
    served = a_loop(lambda x: [x.flip(0)])
    served.execute(served.request(row(1)))
    served.model.calls.clear()
    for _ in range(2):
        answers = served.execute(*[served.request(row(1)) for _ in range(4)])
        assert [answer["OUTPUT__0"].tolist() for answer in answers] == [[[1.0, 1.0]]] * 4
    assert served.model.calls == [4, 4]
    answers = served.execute(*[served.request(row(value)) for value in (1, 1, 1, 2)])
    assert [answer["OUTPUT__0"].tolist() for answer in answers] == [[[v, v]] for v in (1.0, 1.0, 1.0, 2.0)]


@pytest.mark.parametrize("size", [2, 5000])
def test_requests_of_any_size_are_compared_with_the_one_that_was_seen(size: int) -> None:
    served = a_loop(lambda x: [x.flip(0)], dims=(-1,))
    served.execute(served.request(torch.ones(1, size)))
    served.model.calls.clear()
    served.execute(*[served.request(torch.ones(1, size)) for _ in range(3)])
    assert served.model.calls == [3]
    last = torch.ones(1, size)
    last[0, -1] = 2
    answers = served.execute(*[served.request(x) for x in (torch.ones(1, size), torch.ones(1, size), last)])
    assert [float(answer["OUTPUT__0"].sum()) for answer in answers] == [size, size, size + 1]


def test_rows_without_numbers_prove_nothing() -> None:
    served = a_loop(lambda x: [x.cumsum(0)], dims=(-1,))
    served.execute(*[served.request(torch.zeros(1, 0)) for _ in range(2)])
    served.execute(*[served.request(torch.zeros(0, 2)) for _ in range(2)])
    answers = served.execute(*[served.request(torch.ones(1, 2)) for _ in range(2)])
    assert [answer["OUTPUT__0"].tolist() for answer in answers] == [[[1.0, 1.0]]] * 2


def test_a_model_may_write_to_aligned_memory_before_its_output_is_proven() -> None:
    def writes(x: torch.Tensor) -> Sequence[torch.Tensor]:
        y = x * 2
        x.add_(100)
        return [y]

    served = a_loop(writes)
    for value in (1.0, 2.0):
        request = served.request(row(0))
        request.inputs()[0].data = row(value)  # torch's own memory is aligned
        (answer,) = served.execute(request)
        assert answer["OUTPUT__0"].tolist() == [[2 * value, 2 * value]]
    assert served.errors_logged == []


class Incomparable(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function is torch.allclose:
            raise RuntimeError("not enough memory")
        return super().__torch_function__(function, types, args, kwargs or {})  # type: ignore[no-untyped-call]


def test_a_result_that_cannot_be_compared_is_answered() -> None:
    served = a_loop(lambda x: [(x * 2).as_subclass(Incomparable)])
    for _ in range(6):
        served.model.calls.clear()
        answers = served.execute(*[served.request(row(value)) for value in (1, 2)])
        assert [answer["OUTPUT__0"].tolist() for answer in answers] == [[[2.0, 2.0]], [[4.0, 4.0]]]
    assert served.model.calls == [1, 1]  # once given up, it stays so
    (line,) = served.errors_logged
    assert "could not be compared (not enough memory)" in line


def test_an_output_that_was_given_up_stays_so() -> None:
    served = a_loop(lambda x: [x.cumsum(0), (x * 2).as_subclass(Incomparable)], outputs=2)
    for name in ("OUTPUT__0", "OUTPUT__0", "OUTPUT__0", "OUTPUT__1", "OUTPUT__0"):
        served.model.calls.clear()
        served.execute(*[served.request(row(value), outputs=[name]) for value in (1, 2)])
    assert served.model.calls == [1, 1]


@pytest.mark.parametrize("count", [1, 3])
def test_tensors_are_let_go_of_after_a_failure(count: int) -> None:
    kept: list[weakref.ref[torch.Tensor]] = []

    def drops_a_row(x: torch.Tensor) -> Sequence[torch.Tensor]:
        y = x[:-1] + 1
        kept.extend([weakref.ref(x), weakref.ref(y)])
        return [y]

    served = a_loop(drops_a_row)
    gc.disable()
    try:
        for _ in range(3):
            answers = served.execute(*[served.request(row(1)) for _ in range(count)])
            assert all("is not batched" in answer for answer in answers)
        assert [reference() for reference in kept] == [None] * len(kept)
    finally:
        gc.enable()


def test_a_kept_buffer_is_copied_where_a_call_is_repeated() -> None:
    kept = torch.zeros(8, 2)

    def function(x: torch.Tensor) -> Sequence[torch.Tensor]:
        if x.shape[0] > 2:
            raise ModelRunError("too many rows")
        place = kept[: x.shape[0]]
        place.copy_(x)
        return [place]

    served = a_loop(function)
    for _ in range(3):
        answers = served.execute(*[served.request(row(value)) for value in (1, 2, 3)])
        assert [answer["OUTPUT__0"].tolist() for answer in answers] == [[[v, v]] for v in (1.0, 2.0, 3.0)]


@pytest.mark.parametrize("broken", ["tensor", "response"])
def test_a_response_that_cannot_be_made_is_an_answer_of_its_own(broken: str) -> None:
    served = proven(lambda x: [x * 2])
    responder = served.loop._responder

    def refuse(*arguments: Any, **options: Any) -> Any:
        if not options.get("error"):
            raise ValueError("refused")
        return make(*arguments, **options)

    make = responder._new_response
    if broken == "tensor":
        responder._to_triton = {"OUTPUT__0": refuse}
    else:
        responder._new_response = refuse
    answers = served.execute(*[served.request(row(value)) for value in (1, 2)])
    assert answers == ["INTERNAL: internal error in model 'm': see the server's log"] * 2


def test_an_output_that_one_answer_lacks_is_not_lent_by_another() -> None:
    def sometimes(x: torch.Tensor) -> Sequence[Any]:
        return [x, x * 2 if bool(x.sum() > 0) else ModelRunError("not in this answer")]

    served = a_loop(sometimes, outputs=2)
    for _ in range(4):
        answers = served.execute(*[served.request(row(value)) for value in (1, -1, 2)])
        assert [answers[i]["OUTPUT__1"].tolist() for i in (0, 2)] == [[[2.0, 2.0]], [[4.0, 4.0]]]
        assert answers[1] == "INTERNAL: model 'm': not in this answer"


def test_an_output_that_is_the_same_for_everybody_does_not_keep_the_others_apart_for_ever() -> None:
    served = a_loop(lambda x: [x * 2, torch.ones_like(x)], outputs=2)
    for number in range(12):
        served.model.calls.clear()
        answers = served.execute(*[served.request(row(number + value)) for value in (1, 2)])
        assert [answer["OUTPUT__0"].tolist() for answer in answers] == [[[2.0 * (number + v)] * 2] for v in (1, 2)]
        assert [answer["OUTPUT__1"].tolist() for answer in answers] == [[[1.0, 1.0]]] * 2
    assert served.model.calls == [2]


@pytest.mark.parametrize(
    "result", [torch.ones(1, 2).to_sparse(), torch.ones(1, 2, device="meta"), torch._efficientzerotensor([1, 2])]
)
def test_results_without_plain_memory_are_refused_in_one_sentence(result: torch.Tensor) -> None:
    served = a_loop(lambda x: [result])
    (answer,) = served.execute(served.request(row(1)))
    assert answer.startswith("INTERNAL: model 'm': output 'OUTPUT__0' ")
    assert "internal error" not in answer


def test_a_view_of_negatives_leaves_with_its_sign() -> None:
    served = a_loop(lambda x: [torch._neg_view(x)])
    for _ in range(3):
        (answer,) = served.execute(served.request(row(3)))
        assert answer["OUTPUT__0"].tolist() == [[-3.0, -3.0]]
