"""Strings cross unchanged, merged or not, and one that is not valid UTF-8 fails its own request only."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from triton_pytorch.execution.strings import check_strings_arrive
from triton_pytorch.model_config.errors import UnsupportedError
from triton_pytorch.tests.assets.configs import tensor_config
from triton_pytorch.tests.integration import fake_triton
from triton_pytorch.tests.integration.function_model import Loop, function_loop

ONE = {"data_type": "TYPE_STRING", "dims": [1], "reshape": {"shape": []}}
ANY = {"data_type": "TYPE_STRING", "dims": [-1]}


def reversed_texts(words: list[str], x: torch.Tensor) -> Sequence[Any]:
    return [word[::-1] for word in words], x * 2


def a_loop(function: Any = reversed_texts, declared: dict[str, Any] = ONE, max_batch_size: int = 8) -> Loop:
    return function_loop(
        function,
        [{"name": "INPUT__0", **declared}, tensor_config("INPUT__1", dims=(1,))],
        [{"name": "OUTPUT__0", **declared}, tensor_config("OUTPUT__1", dims=(1,))],
        max_batch_size=max_batch_size,
    )


def a_request(served: Loop, words: list[bytes]) -> Any:
    array = np.empty(len(words), dtype=np.object_)
    array[:] = words
    request = served.request(None, torch.arange(float(len(words))).reshape(-1, 1) + 10 * len(words))
    request.inputs().append(fake_triton.Tensor("INPUT__0", array))
    return request


def answered(answer: Any) -> list[bytes]:
    strings: list[bytes] = answer["OUTPUT__0"].tolist()
    return strings


WORDS = [[b"abc"], [b"", "h\u00e9\u20ac".encode()], [b"z" * 1_000_000, b"a\x00b", b"x"]]


def test_merged_requests_get_their_strings() -> None:
    served = a_loop()
    answers = served.execute(*[a_request(served, words) for words in WORDS])
    for words, answer in zip(WORDS, answers, strict=True):
        assert answered(answer) == [word.decode()[::-1].encode() for word in words]
        assert answer["OUTPUT__1"].tolist() == [[2.0 * (index + 10 * len(words))] for index in range(len(words))]
    assert served.model.calls == [6]


def test_strings_not_utf8() -> None:
    served = a_loop()
    answers = served.execute(*[a_request(served, words) for words in ([b"ab"], [b"cd", b"\xff"], [b"ef"])])
    assert answers[1] == (
        "INVALID_ARG: model 'm': string 1 of input 'INPUT__0' is not valid UTF-8 (invalid start byte)"
    )
    assert [answered(answers[index]) for index in (0, 2)] == [[b"ba"], [b"fe"]]


@pytest.mark.parametrize("words", [[], [b"one"], [b"one", b"two"]])
def test_strings_without_batching(words: list[bytes]) -> None:
    served = a_loop(lambda words, x: [[*words, "more"], torch.zeros(1)], ANY, max_batch_size=0)
    request = a_request(served, words)
    (answer,) = served.execute(request)
    assert answered(answer) == [*words, b"more"]


def test_strings_of_several_dimensions() -> None:
    served = a_loop(declared=ANY, max_batch_size=0)
    request = a_request(served, [b"one"])
    request.inputs()[-1].data = np.array([[b"one", b"two"]], dtype=np.object_)
    (answer,) = served.execute(request)
    assert answer == (
        "INVALID_ARG: model 'm': input 'INPUT__0' has shape [1, 2], but the model takes strings in one dimension"
    )


@pytest.mark.parametrize(
    ("function", "sentence"),
    [
        (lambda words, x: [x, x], "output 'OUTPUT__0' is declared TYPE_STRING, but the model returned a tensor"),
        (lambda words, x: [words, words], "output 'OUTPUT__1' is declared TYPE_FP32, but the model returned strings"),
        (lambda words, x: [words[:-1], x], "output 'OUTPUT__0' is not batched: 2 rows went in and 1 row came out"),
        (lambda words, x: [None, x], "output 'OUTPUT__0' is None in this answer"),
    ],
)
def test_output_not_as_declared(function: Any, sentence: str) -> None:
    served = a_loop(function)
    (answer,) = served.execute(a_request(served, [b"one", b"two"]))
    assert sentence in answer


def test_number_of_strings_that_the_config_fixes() -> None:
    served = a_loop(
        lambda words, x: [words[:1], torch.zeros(1)], {"data_type": "TYPE_STRING", "dims": [2]}, max_batch_size=0
    )
    (answer,) = served.execute(a_request(served, [b"one", b"two"]))
    assert "output 'OUTPUT__0' is declared with dims [2], but the model returned 1 strings" in answer


class Misreading(fake_triton.Tensor):
    """What Python backends built before numpy 2 make of its arrays: the first number, again and again."""

    def __init__(self, name: str, data: Any) -> None:
        super().__init__(name, np.repeat(data[:1], len(data)))


def test_python_backend_that_misreads_arrays() -> None:
    check_strings_arrive(fake_triton.names())
    with pytest.raises(UnsupportedError, match=r"cannot exchange strings with numpy .*: install numpy < 2"):
        check_strings_arrive(replace(fake_triton.names(), tensor=Misreading))


def test_strings_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []
    monkeypatch.setattr("triton_pytorch.execution.loop.check_strings_arrive", lambda triton: asked.append(True))
    function_loop(lambda x: [x], [tensor_config("INPUT__0")], [tensor_config("OUTPUT__0")])
    assert asked == []
    a_loop()
    assert asked == [True]
