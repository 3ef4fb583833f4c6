"""A Python function as a model: its answers, its failures, and its end."""

from contextlib import nullcontext
from typing import Any

import pytest
import torch

from triton_pytorch.contract.leaves import Leaf, ValueKind
from triton_pytorch.io_naming.leaf_names import LeafNames
from triton_pytorch.io_naming.names import LeafPath
from triton_pytorch.method_calls.arguments import Argument
from triton_pytorch.method_calls.calls import Call
from triton_pytorch.method_calls.model import MethodModel
from triton_pytorch.method_calls.result_reader import ResultReader
from triton_pytorch.method_calls.results import UNKNOWN
from triton_pytorch.model_config.errors import ModelRunError

CPU = torch.device("cpu")
WORDS = Leaf(LeafNames(LeafPath("KWARGS", ("words",)), ("words",), 0, "words"), ValueKind.STRINGS)
COUNT = Leaf(LeafNames(LeafPath("RESULT", ("0",)), ("count",)))
LAST = Leaf(LeafNames(LeafPath("RESULT", ("1",)), ("last",)), ValueKind.STRINGS)


def count_and_last(words: list[str]) -> Any:
    """Return the number of words and the last one, if there is one."""
    if words == ["?"]:
        raise LookupError("not\na word")
    if words == ["!"]:
        raise ZeroDivisionError
    return (len(words), *words[-1:])


@pytest.fixture
def model() -> MethodModel:
    return MethodModel(
        Call(count_and_last, [Argument("words", ValueKind.STRINGS)], [WORDS]),
        ResultReader([COUNT, LAST], UNKNOWN),
        device=CPU,
        session=nullcontext,
        errors=(LookupError,),
        reason=lambda error: " ".join(str(error).split()),
    )


def test_values_in_the_order_of_the_planned_leaves(model: MethodModel) -> None:
    assert model.run([["a", "b"]]) == [torch.tensor(2), ["b"]]
    assert (model.device, model.session) == (CPU, nullcontext)


def test_answer_that_lacks_an_output(model: MethodModel) -> None:
    count, last = model.run([[]])
    assert count == torch.tensor(0)
    assert str(last) == "output 'last' (RESULT[1]) is not in this answer: RESULT is a tuple with 1 element"


def test_failure_of_the_callable_gives_its_reason(model: MethodModel) -> None:
    with pytest.raises(ModelRunError, match=r"^not a word$"):
        model.run([["?"]])
    assert model.run([["a"]]) == [torch.tensor(1), ["a"]]


def test_error_of_another_class(model: MethodModel) -> None:
    with pytest.raises(ZeroDivisionError):
        model.run([["!"]])


def test_closed_model_has_released_the_callable(model: MethodModel) -> None:
    model.close()
    with pytest.raises(AttributeError):
        model.run([["a"]])
