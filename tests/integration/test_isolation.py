"""One bad request among many fails alone, and every request is answered whatever happens inside."""

import gc
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
import torch

from triton_pytorch.execution.model_log import FAILURES_A_SECOND
from triton_pytorch.model_config.errors import ModelRunError
from triton_pytorch.tests.assets.configs import tensor_config
from triton_pytorch.tests.integration import fake_triton
from triton_pytorch.tests.integration.function_model import Loop, function_loop
from triton_pytorch.torch_runtime.session import Session

MAGIC = 13.0
INTERNAL_ERROR = "INTERNAL: internal error in model 'm': see the server's log"
Function = Callable[..., Sequence[Any]]


def a_loop(
    function: Function,
    outputs: int = 1,
    max_batch_size: int = 8,
    dims: tuple[int, ...] = (2,),
    session: Session = torch.inference_mode,
) -> Loop:
    return function_loop(
        function,
        [tensor_config("INPUT__0", dims=dims)],
        [tensor_config(f"OUTPUT__{i}", dims=(-1,) * len(dims)) for i in range(outputs)],
        max_batch_size=max_batch_size,
        session=session,
    )


def row(value: float, rows: int = 1) -> torch.Tensor:
    return torch.full((rows, 2), float(value))


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


def test_merged_call_too_large_for_the_model() -> None:
    served = a_loop(fails_from_three_rows)
    for _ in range(2):
        answers = served.execute(*[served.request(row(value)) for value in (1, 2, 3, 4)])
        assert [answer["OUTPUT__0"].tolist() for answer in answers] == [[[2.0 * v] * 2] for v in (1, 2, 3, 4)]
    assert len(served.model.calls) == 2 * (1 + 4)
    (line,) = served.logged("warn")  # once
    assert "failed on a batch of 4 rows (too many rows)" in line
    assert "max_batch_size" in line
    assert served.logged("error") == []


def test_bad_request_fails_alone() -> None:
    served = a_loop(fails_on_a_magic_row)
    answers = served.execute(*[served.request(row(value)) for value in (1, MAGIC, 3)])
    assert answers[1] == "INTERNAL: model 'm': unlucky"
    assert [answers[i]["OUTPUT__0"].tolist() for i in (0, 2)] == [[[2.0, 2.0]], [[6.0, 6.0]]]
    assert len(served.model.calls) == 1 + 3
    assert served.logger.lines == [("error", "a request failed: model 'm': unlucky")]


def test_failed_call_is_repeated_once() -> None:
    calls: list[int] = []

    def fails_every_second_time(x: torch.Tensor) -> Sequence[torch.Tensor]:
        calls.append(x.shape[0])
        if len(calls) % 2:
            raise ModelRunError("odd")
        return [x * 2]

    served = a_loop(fails_every_second_time)
    answers = served.execute(*[served.request(row(value)) for value in (1, 2, 3)])
    assert answers[1] == "INTERNAL: model 'm': odd"
    assert [answers[i]["OUTPUT__0"].tolist() for i in (0, 2)] == [[[2.0, 2.0]], [[6.0, 6.0]]]
    assert len(calls) == 1 + 3


def test_failed_group_leaves_other_groups_alone() -> None:
    served = a_loop(lambda x: [fails_on_a_magic_row(x)[0]], dims=(-1,))
    sent = [torch.full((1, size), value) for size, value in ((2, 1.0), (3, MAGIC), (2, 2.0), (3, 3.0))]
    answers = served.execute(*[served.request(x) for x in sent])
    assert answers[1] == "INTERNAL: model 'm': unlucky"
    assert [answers[i]["OUTPUT__0"].tolist() for i in (0, 2, 3)] == [[[2.0] * 2], [[4.0] * 2], [[6.0] * 3]]


def test_unreadable_request_spoils_no_call() -> None:
    served = a_loop(lambda x: [x * 2])
    unreadable = served.request(row(1))
    unreadable.inputs = lambda: 1 / 0
    answers = served.execute(served.request(row(1)), unreadable, served.request(), served.request(row(3)))
    assert answers[1] == INTERNAL_ERROR
    assert answers[2] == "INVALID_ARG: model 'm': the request lacks input INPUT__0"
    assert [answers[i]["OUTPUT__0"].tolist() for i in (0, 3)] == [[[2.0, 2.0]], [[6.0, 6.0]]]
    assert len(served.model.calls) == 1
    (line,) = served.logged("error")
    assert line.startswith("a request failed: internal error in model 'm':\nTraceback (most recent call last):\n")
    assert "ZeroDivisionError" in line


def test_unforeseen_error_of_one_request() -> None:
    def function(x: torch.Tensor) -> Sequence[Any]:
        if (x == MAGIC).any():
            raise ValueError("a secret")
        return [x * 2]

    served = a_loop(function)
    answers = served.execute(*[served.request(row(value)) for value in (1, MAGIC)])
    assert answers[0]["OUTPUT__0"].tolist() == [[2.0, 2.0]]
    assert answers[1] == INTERNAL_ERROR
    (line,) = served.logged("error")
    assert 'raise ValueError("a secret")' in line


@pytest.mark.parametrize(
    "function",
    [lambda x: [], lambda x: None, lambda x: ["text"], lambda x: [1 / 0], lambda x: [torch.ones(2, 2, 2, 2)]],
)
def test_response_to_every_request(function: Function) -> None:
    served = a_loop(function)
    for count in (1, 2, 8):
        answers = served.execute(*[served.request(row(1)) for _ in range(count)])
        assert len(answers) == count
        assert all(isinstance(answer, str) and answer.startswith("INTERNAL: ") for answer in answers)


def test_execute_without_requests() -> None:
    assert a_loop(lambda x: [x]).execute() == []


@pytest.mark.parametrize("fails_at_its_end", [False, True])
def test_failed_session_is_told_to_every_request(fails_at_its_end: bool) -> None:
    @contextmanager
    def session() -> Iterator[None]:
        if fails_at_its_end:
            yield  # a kernel's error surfaces where the device is waited for
        raise RuntimeError("CUDA error")

    served = a_loop(lambda x: [x * 2], session=session)
    assert served.execute(*[served.request(row(value)) for value in (1, 2)]) == [INTERNAL_ERROR] * 2
    assert "CUDA error" in served.logged("error")[0]


def pairs(x: torch.Tensor) -> torch.Tensor:
    """Return the rows but for an odd one at the end, as a view drops it."""
    return x[: x.shape[0] // 2 * 2]


def mean(x: torch.Tensor) -> torch.Tensor:
    return x.mean(0, keepdim=True)


@pytest.mark.parametrize(
    ("function", "rows", "counts"),
    [
        (mean, 3, "3 rows went in and 1 row came out"),
        (torch.sum, 1, "1 row went in and a single number came out"),
        (lambda x: x.t(), 3, "3 rows went in and 2 rows came out"),  # time first
        (lambda x: x.t(), 1, "1 row went in and 2 rows came out"),
        (pairs, 1, "1 row went in and 0 rows came out"),
        (lambda x: x[:1].expand(4, -1), 5, "5 rows went in and 4 rows came out"),
    ],
)
def test_row_count_of_one_request(function: Callable[[torch.Tensor], torch.Tensor], rows: int, counts: str) -> None:
    served = a_loop(lambda x: [function(x), x + 1], outputs=2)
    for _ in range(3):
        bad, good = (served.request(row(5, rows), outputs=[name]) for name in ("OUTPUT__0", "OUTPUT__1"))
        (refused,), (answer,) = served.execute(bad), served.execute(good)
        assert refused == (
            f"INTERNAL: model 'm': output 'OUTPUT__0' is not batched: {counts}; if that is how the model works, set "
            "max_batch_size: 0"
        )
        assert answer["OUTPUT__1"].tolist() == [[6.0, 6.0]] * rows
    assert served.logged("error") == [f"a request failed: {refused.removeprefix('INTERNAL: ')}"] * 3
    assert served.logged("warn") == []


def test_row_count_of_a_merged_call() -> None:
    served = a_loop(lambda x: [mean(x), x + 1], outputs=2)
    for _ in range(2):
        sent = [(1, 1), (2, 3), (5, 1)]
        answers = served.execute(*[served.request(row(value, rows), outputs=["OUTPUT__0"]) for value, rows in sent])
        assert [answers[i]["OUTPUT__0"].tolist() for i in (0, 2)] == [[[1.0, 1.0]], [[5.0, 5.0]]]
        assert "3 rows went in and 1 row came out" in answers[1]
    assert len(served.model.calls) == (1 + 3) + 3
    (line,) = served.logged("warn")  # once
    assert line == (
        "model 'm': output 'OUTPUT__0' is not batched: 5 rows went in and 1 row came out of one call for 3 requests; "
        "requests for it are run alone from now on; if that is how the model works, set max_batch_size: 0"
    )


def test_merging_of_other_outputs() -> None:
    served = a_loop(lambda x: [mean(x), x + 1], outputs=2)
    served.execute(*[served.request(row(value), outputs=["OUTPUT__0"]) for value in (1, 2)])
    served.model.calls.clear()
    names = (["OUTPUT__1"], ["OUTPUT__0"], ["OUTPUT__1"], ["OUTPUT__0", "OUTPUT__1"])
    answers = served.execute(*[served.request(row(number), outputs=asked) for number, asked in enumerate(names)])
    for number, (answer, asked) in enumerate(zip(answers, names, strict=True)):
        expected = {"OUTPUT__0": [[number, number]], "OUTPUT__1": [[number + 1.0, number + 1.0]]}
        assert {name: data.tolist() for name, data in answer.items()} == {name: expected[name] for name in asked}
    assert served.model.calls == [2, 1, 1]


def test_row_count_is_warned_about_once() -> None:
    served = a_loop(lambda x: [mean(x), pairs(x), x], outputs=3)
    for name in ("OUTPUT__0", "OUTPUT__1", "OUTPUT__2") * 2:
        served.execute(*[served.request(row(value), outputs=[name]) for value in (1, 2, 3)])
    assert [line.partition(" is not batched")[0] for line in served.logged("warn")] == [
        "model 'm': output 'OUTPUT__0'",
        "model 'm': output 'OUTPUT__1'",
    ]


def test_rows_complete_in_one_request() -> None:
    served = a_loop(lambda x: [pairs(x)])
    answers = served.execute(*[served.request(row(rows, rows)) for rows in (4, 1, 2)])
    assert [answers[i]["OUTPUT__0"].tolist() for i in (0, 2)] == [[[4.0, 4.0]] * 4, [[2.0, 2.0]] * 2]
    assert "1 row went in and 0 rows came out" in answers[1]


def test_requests_share_the_first_call() -> None:
    served = a_loop(lambda x: [x + torch.rand(())])  # max_batch_size is the user's word
    served.execute(*[served.request(row(value)) for value in (1, 2, 3)])
    assert served.model.calls == [3]


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def drops_a_row(x: torch.Tensor) -> torch.Tensor:
    return x[:-1] + 1


def fails(x: torch.Tensor) -> torch.Tensor:
    try:
        y = x + 1
        return y.reshape(3, 5, 7)
    except RuntimeError as error:
        raise ModelRunError("wrong shape") from error


def fails_unforeseen(x: torch.Tensor) -> torch.Tensor:
    return x.reshape(3, 5, 7)


@pytest.mark.parametrize("function", [drops_a_row, fails, fails_unforeseen])
@pytest.mark.parametrize("count", [1, 3])
def test_tensors_are_released_after_a_failure(function: Callable[[torch.Tensor], torch.Tensor], count: int) -> None:
    kept: list[weakref.ref[torch.Tensor]] = []

    def watched(x: torch.Tensor) -> Sequence[torch.Tensor]:
        kept.append(weakref.ref(x))
        y = function(x)
        kept.append(weakref.ref(y))
        return [y]

    served = a_loop(watched)
    with no_garbage_collection():
        for _ in range(3):
            answers = served.execute(*[served.request(row(1)) for _ in range(count)])
            assert all(isinstance(answer, str) for answer in answers)
        assert kept
        assert [reference() for reference in kept] == [None] * len(kept)


def test_merged_tensors_are_released() -> None:
    kept: list[weakref.ref[torch.Tensor]] = []

    def function(x: torch.Tensor) -> Sequence[torch.Tensor]:
        assert [reference() for reference in kept] == [None] * len(kept)
        y = drops_a_row(x) if x.shape[0] > 1 else x + 1
        kept.extend([weakref.ref(x), weakref.ref(y)])
        return [y]

    served = a_loop(function)
    with no_garbage_collection():
        answers = served.execute(*[served.request(row(value)) for value in (1, 2)])
    assert [answer["OUTPUT__0"].tolist() for answer in answers] == [[[2.0, 2.0]], [[3.0, 3.0]]]


def test_lent_memory_of_a_repeated_call() -> None:
    kept = torch.zeros(8, 2)

    def function(x: torch.Tensor) -> Sequence[torch.Tensor]:
        if x.shape[0] > 2:
            raise ModelRunError("too many rows")
        lent = kept[: x.shape[0]]
        lent.copy_(x)
        return [lent]

    served = a_loop(function)
    answers = served.execute(*[served.request(row(value)) for value in (1, 2, 3)])
    assert [answer["OUTPUT__0"].tolist() for answer in answers] == [[[v, v]] for v in (1.0, 2.0, 3.0)]


class TooLarge(torch.Tensor):
    """A tensor that there is not enough memory to copy."""

    def clone(self, *arguments: Any, **options: Any) -> Any:
        raise torch.OutOfMemoryError("not enough memory")


def test_copy_that_fails() -> None:
    def function(x: torch.Tensor) -> Sequence[torch.Tensor]:
        if x.shape[0] > 2:
            raise ModelRunError("too many rows")
        return [x * 2 if x[0, 0] < MAGIC else (x * 2).as_subclass(TooLarge)]

    served = a_loop(function)
    answers = served.execute(*[served.request(row(value)) for value in (1, MAGIC, 3)])
    assert answers[1] == INTERNAL_ERROR
    assert [answers[i]["OUTPUT__0"].tolist() for i in (0, 2)] == [[[2.0, 2.0]], [[6.0, 6.0]]]


class UnprintableError(Exception):
    def __str__(self) -> str:
        raise ValueError("no text")


@pytest.mark.parametrize("count", [1, 2])
def test_error_without_text(count: int) -> None:
    def function(x: torch.Tensor) -> Sequence[torch.Tensor]:
        raise UnprintableError

    served = a_loop(function)
    assert served.execute(*[served.request(row(1)) for _ in range(count)]) == [INTERNAL_ERROR] * count


@pytest.mark.parametrize("broken", ["_new_tensor", "_new_response"])
def test_response_that_cannot_be_made_is_an_error(broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    served = a_loop(lambda x: [x * 2])
    responder = served.loop._responder
    new_response = responder._new_response

    class Refusing:
        """A factory of Triton's that makes errors only."""

        def __call__(self, tensors: Any, error: Any = None) -> Any:
            if error is None:
                raise ValueError("refused")
            return new_response(tensors, error=error)

        def from_dlpack(self, name: str, tensor: Any) -> Any:
            raise ValueError("refused")

    monkeypatch.setattr(responder, broken, Refusing())
    assert served.execute(*[served.request(row(value)) for value in (1, 2)]) == [INTERNAL_ERROR] * 2
    assert "ValueError: refused" in served.logged("error")[0]


@pytest.mark.parametrize("absent", [None, ModelRunError("not in this answer")])
def test_output_missing_in_one_answer(absent: Any) -> None:
    def sometimes(x: torch.Tensor) -> Sequence[Any]:
        return [x, x * 2 if bool(x.sum() > 0) else absent]

    served = a_loop(sometimes, outputs=2)
    for _ in range(4):
        answers = served.execute(*[served.request(row(value)) for value in (1, -10, 2)])
        assert [answers[i]["OUTPUT__1"].tolist() for i in (0, 2)] == [[[2.0, 2.0]], [[4.0, 4.0]]]
        assert answers[1].startswith("INTERNAL: model 'm': ")
        assert ("OUTPUT__1' is None in this answer" if absent is None else "not in this answer") in answers[1]
    assert len(served.logged("error")) == 4


def test_violations_of_several_outputs() -> None:
    """What is wrong with the outputs of a request is told together, not one output with each request."""
    served = a_loop(lambda x: [mean(x), x, x.double(), ModelRunError("no such key")], outputs=4)
    everything, some = served.execute(
        served.request(row(1, 2)), served.request(row(2), outputs=["OUTPUT__3", "OUTPUT__1", "OUTPUT__2"])
    )
    wrong_type = (
        "Output 'OUTPUT__2' is declared TYPE_FP32, but the model returned TYPE_FP64: write data_type: TYPE_FP64"
    )
    assert everything == (
        "INTERNAL: model 'm': Output 'OUTPUT__0' is not batched: 2 rows went in and 1 row came out; if that is how the "
        f"model works, set max_batch_size: 0. {wrong_type} in config.pbtxt. No such key."
    )
    assert some == f"INTERNAL: model 'm': {wrong_type} in config.pbtxt. No such key."


def test_failed_requests_are_counted() -> None:
    served = a_loop(fails_on_a_magic_row)
    served.execute(*[served.request(row(value)) for value in (1, MAGIC, 2)])
    assert fake_triton.failed_requests() == 1
    served.execute(served.request(row(3)), served.request())
    assert fake_triton.failed_requests() == 2
    assert served.logged("error") == ["a request failed: model 'm': unlucky"]
    assert served.logged("warn") == ["a request failed: model 'm': the request lacks input INPUT__0"]


def test_many_failed_requests() -> None:
    """Ten lines a second, and then how many more there were; all are counted."""
    served = a_loop(fails_on_a_magic_row)
    served.loop._log._clock = lambda: 100.0
    for _ in range(3):
        served.execute(*[served.request(row(MAGIC))] * 25)
    assert len(served.logged("error")) == FAILURES_A_SECOND
    served.loop.close()
    assert served.logged("error")[FAILURES_A_SECOND:] == ["model 'm': 65 more requests failed within a second"]
    assert fake_triton.failed_requests() == 75


def test_outputs_not_requested() -> None:
    served = a_loop(lambda x: [x * 2, None, ModelRunError("absent")], outputs=3)
    answers = served.execute(*[served.request(row(value), outputs=["OUTPUT__0"]) for value in (1, 2)])
    assert [answer["OUTPUT__0"].tolist() for answer in answers] == [[[2.0, 2.0]], [[4.0, 4.0]]]
    assert len(served.model.calls) == 1


@pytest.mark.parametrize("count", [1, 2])
def test_request_without_outputs(count: int) -> None:
    served = a_loop(lambda x: [x * 2])
    assert served.execute(*[served.request(row(1), outputs=[]) for _ in range(count)]) == [{}] * count


@pytest.mark.parametrize("count", [1, 2])
def test_outputs_stand_in_the_order_of_the_config(count: int) -> None:
    numbers = [3, 0, 7, 1, 9, 4, 2, 8, 6, 5]  # a set of their names has this order once in 3.6 million times
    served = function_loop(
        lambda x: [x + number for number in range(len(numbers))],
        [tensor_config("INPUT__0", dims=(2,))],
        [tensor_config(f"OUTPUT__{number}", dims=(2,)) for number in numbers],
        max_batch_size=8,
    )
    wanted = [f"OUTPUT__{number}" for number in numbers if number != 7]
    for answer in served.execute(*[served.request(row(0), outputs=wanted) for _ in range(count)]):
        assert list(answer) == wanted
        assert [data.tolist() for data in answer.values()] == [[[float(n), float(n)]] for n in numbers if n != 7]


@pytest.mark.parametrize(
    "result", [torch.ones(1, 2).to_sparse(), torch.ones(1, 2, device="meta"), torch._efficientzerotensor([1, 2])]
)
def test_results_without_plain_memory(result: torch.Tensor) -> None:
    served = a_loop(lambda x: [result])
    (answer,) = served.execute(served.request(row(1)))
    assert answer.startswith("INTERNAL: model 'm': output 'OUTPUT__0' ")
    assert "internal error" not in answer


def test_view_of_negatives_leaves_with_its_sign() -> None:
    served = a_loop(lambda x: [torch._neg_view(x)])
    (answer,) = served.execute(served.request(row(3)))
    assert answer["OUTPUT__0"].tolist() == [[-3.0, -3.0]]
