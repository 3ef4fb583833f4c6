"""Requests that break what the config leaves to them, and results that are not what it declares: one sentence each."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
import torch

from triton_pytorch.contract.input_checks import UNBOUNDED
from triton_pytorch.tests.assets.configs import tensor_config
from triton_pytorch.tests.integration.conftest import Serve, ServedModel
from triton_pytorch.tests.integration.function_model import function_loop

Shape = tuple[int, ...]


@dataclass(frozen=True)
class DynamicModel:
    """A package, what a config declares of it, and the shapes of a right request."""

    package: str
    inputs: dict[str, Shape]
    output: Shape
    right: Sequence[Shape]
    max_batch_size: int = 0

    def served(self, serve: Serve) -> ServedModel:
        inputs = [tensor_config(name, dims=dims) for name, dims in self.inputs.items()]
        return serve(
            self.package, inputs, [tensor_config("OUTPUT__0", dims=self.output)], max_batch_size=self.max_batch_size
        )

    def request(self, changed: dict[str, Shape]) -> dict[str, torch.Tensor]:
        shapes = dict(zip(self.inputs, self.right, strict=True)) | changed
        return {name: torch.ones(shape) for name, shape in shapes.items()}


MODELS = {
    "relations": DynamicModel(
        "relations",
        {
            "ARGS[0]": (-1,),
            "ARGS[1]": (-1,),
            "KWARGS[longer]": (-1,),
            "KWARGS[table]": (-1, -1),
            "KWARGS[quads]": (-1,),
        },
        (-1,),
        [(3,), (6,), (4,), (5, 3), (8,)],
    ),
    "relations, some fixed": DynamicModel(
        "relations",
        {"ARGS[0]": (3,), "ARGS[1]": (6,), "KWARGS[longer]": (-1,), "KWARGS[table]": (5, -1), "KWARGS[quads]": (8,)},
        (6,),
        [(3,), (6,), (4,), (5, 3), (8,)],
    ),
    "sum": DynamicModel("sum_of_two", {f"ARGS[{i}]": (-1,) for i in range(3)}, (-1,), [(3,), (4,), (7,)]),
    "batched": DynamicModel(
        "attention", {f"ARGS[{i}]": (-1, -1) for i in range(3)}, (-1, 4), [(2, 5, 4), (2, 7, 4), (2, 7, 4)], 8
    ),
    "unbatched": DynamicModel(
        "attention", {f"ARGS[{i}]": (-1, -1, 4) for i in range(3)}, (-1, -1, 4), [(2, 5, 4), (2, 7, 4), (2, 7, 4)]
    ),
    "unread": DynamicModel(
        "scalar_inputs", {"ARGS[0]": (-1,), "ARGS[1]": (1,), "ARGS[2]": (-1, -1)}, (-1,), [(4,), (1,), (5, 3)]
    ),
    "image": DynamicModel(
        "laid_out", {"ARGS[0]": (-1, -1, -1), "ARGS[1]": (4,)}, (4, -1, -1), [(2, 3, 8, 8), (2, 4)], 4
    ),
}


def broken(dimension: str, size: int, expected: str, *others: str) -> str:
    """Return the pattern of a sentence: `dimension` is `0 of ARGS[1]`; each of `others` a dimension with its size."""
    number, _, name = dimension.partition(" of ")
    sentence = re.escape(f"dimension {number} of input '{name}' is {size}, but the model takes ") + expected
    if others:
        sentence += " there, since " + " and ".join(map(_other, others))
    return sentence


def above(bound: int) -> str:
    """Return the end of the sentence on a size that is too large."""
    return rf"\d to {bound}: " + re.escape(UNBOUNDED)


def _other(text: str) -> str:
    dimension, _, size = text.partition(" is ")
    number, _, name = dimension.partition(" of ")
    return re.escape(f"dimension {number} of input '{name}' is {size} ") + r"\(s\d+\)"


TWICE, ONE_MORE, SUM, SAME = (rf" \({size}\)" for size in (r"2\*s\d+", r"s\d+ \+ 1", r"s\d+ \+ s\d+", r"s\d+"))
FIRST_IS_3 = "0 of ARGS[0] is 3"

# A model, the shapes that are changed in a right request, and the sentences that answer it.
VIOLATIONS = [
    # Relations broken by one.
    ("relations", {"ARGS[1]": (7,)}, [broken("0 of ARGS[1]", 7, "6" + TWICE, FIRST_IS_3)]),
    ("relations", {"ARGS[1]": (5,)}, [broken("0 of ARGS[1]", 5, "6" + TWICE, FIRST_IS_3)]),
    ("relations", {"KWARGS[longer]": (3,)}, [broken("0 of KWARGS[longer]", 3, "4" + ONE_MORE, FIRST_IS_3)]),
    ("relations", {"KWARGS[longer]": (5,)}, [broken("0 of KWARGS[longer]", 5, "4" + ONE_MORE, FIRST_IS_3)]),
    ("relations, some fixed", {"KWARGS[longer]": (5,)}, [broken("0 of KWARGS[longer]", 5, "4" + ONE_MORE, FIRST_IS_3)]),
    ("sum", {"ARGS[2]": (8,)}, [broken("0 of ARGS[2]", 8, "7" + SUM, "0 of ARGS[1] is 4", "0 of ARGS[0] is 3")]),
    ("sum", {"ARGS[0]": (4,)}, [broken("0 of ARGS[2]", 7, "8" + SUM, "0 of ARGS[1] is 4", "0 of ARGS[0] is 4")]),
    ("sum", {"ARGS[1]": (3,)}, [broken("0 of ARGS[2]", 7, "6" + SUM, "0 of ARGS[1] is 3", "0 of ARGS[0] is 3")]),
    # Equalities across inputs.
    ("relations", {"KWARGS[table]": (5, 4)}, [broken("1 of KWARGS[table]", 4, "3" + SAME, FIRST_IS_3)]),
    ("relations, some fixed", {"KWARGS[table]": (5, 2)}, [broken("1 of KWARGS[table]", 2, "3" + SAME, FIRST_IS_3)]),
    ("batched", {"ARGS[2]": (2, 8, 4)}, [broken("1 of ARGS[2]", 8, "7" + SAME, "1 of ARGS[1] is 7")]),
    ("batched", {"ARGS[1]": (2, 6, 4)}, [broken("1 of ARGS[2]", 7, "6" + SAME, "1 of ARGS[1] is 6")]),
    ("unbatched", {"ARGS[2]": (3, 7, 4)}, [broken("0 of ARGS[2]", 3, "2" + SAME, "0 of ARGS[0] is 2")]),
    ("unbatched", {"ARGS[1]": (1, 7, 4)}, [broken("0 of ARGS[1]", 1, "2" + SAME, "0 of ARGS[0] is 2")]),
    # One wrong size that others depend on: a sentence for each of them.
    (
        "relations",
        {"ARGS[0]": (4,)},
        [
            broken("0 of ARGS[1]", 6, "8" + TWICE, "0 of ARGS[0] is 4"),
            broken("0 of KWARGS[longer]", 4, "5" + ONE_MORE, "0 of ARGS[0] is 4"),
            broken("1 of KWARGS[table]", 3, "4" + SAME, "0 of ARGS[0] is 4"),
        ],
    ),
    # Multiples.
    ("relations", {"KWARGS[quads]": (9,)}, [broken("0 of KWARGS[quads]", 9, "multiples of 4")]),
    ("relations", {"KWARGS[quads]": (7,)}, [broken("0 of KWARGS[quads]", 7, "multiples of 4")]),
    # Bounds, above and below.
    ("relations", {"KWARGS[quads]": (404,)}, [broken("0 of KWARGS[quads]", 404, above(400))]),
    ("relations", {"KWARGS[table]": (51, 3)}, [broken("0 of KWARGS[table]", 51, above(50))]),
    ("batched", {"ARGS[0]": (2, 1001, 4)}, [broken("1 of ARGS[0]", 1001, above(1000))]),
    ("unread", {"ARGS[0]": (1001,)}, [broken("0 of ARGS[0]", 1001, above(1000))]),
    ("unread", {"ARGS[2]": (65, 3)}, [broken("0 of ARGS[2]", 65, above(64))]),
    ("unread", {"ARGS[2]": (5, 501)}, [broken("1 of ARGS[2]", 501, above(500))]),
    ("image", {"ARGS[0]": (2, 3, 2, 8)}, [broken("2 of ARGS[0]", 2, "at least 3")]),
    # What the model has fixed and the config declares dynamic.
    ("batched", {"ARGS[0]": (2, 5, 3)}, [broken("2 of ARGS[0]", 3, "4")]),
    ("batched", {"ARGS[1]": (2, 7, 5)}, [broken("2 of ARGS[1]", 5, "4")]),
    ("image", {"ARGS[0]": (2, 4, 8, 8)}, [broken("1 of ARGS[0]", 4, "3")]),
    ("image", {"ARGS[0]": (2, 1, 8, 8)}, [broken("1 of ARGS[0]", 1, "3")]),
]


@pytest.mark.parametrize(("name", "changed", "sentences"), VIOLATIONS)
def test_wrong_shape_fails_alone(serve: Serve, name: str, changed: dict[str, Shape], sentences: list[str]) -> None:
    model = MODELS[name].served(serve)
    right, wrong = MODELS[name].request({}), MODELS[name].request(changed)

    responses = model.execute(model.request(right), model.request(wrong), model.request(right))

    text = responses[1].error().message()
    assert responses[1].error().code() == "INVALID_ARG"
    assert responses[1].output_tensors() == []
    assert re.fullmatch(expected_text(sentences), text), text
    assert [response.error() for response in (responses[0], responses[2])] == [None, None]


def expected_text(sentences: list[str]) -> str:
    if len(sentences) == 1:
        return f"model 'm': {sentences[0]}"
    return "model 'm': " + " ".join(f"D{sentence[1:]}\\." for sentence in sentences)


# A package, the output as it is declared, the shape sent to each input, and what is said of the result.
RESULTS = [
    (
        "aliases",
        tensor_config("RESULT[0]", torch.float64, (4,)),
        "output 'RESULT[0]' is declared TYPE_FP64, but the model returned TYPE_FP32: write data_type: TYPE_FP32",
    ),
    (
        "aliases",
        tensor_config("RESULT[1]", torch.int64, (2,)),
        "output 'RESULT[1]' is declared TYPE_INT64, but the model returned TYPE_FP32: write data_type: TYPE_FP32",
    ),
    (
        "aliases",
        tensor_config("RESULT[0]", dims=(4, 1)),
        "output 'RESULT[0]' is declared with dims [4, 1] after the batch dimension, but the model returned [3, 4]",
    ),
    (
        "aliases",
        tensor_config("RESULT[1]", dims=(3,)),
        "output 'RESULT[1]' is declared with dims [3] after the batch dimension, but the model returned [3, 2]",
    ),
    (
        "reduces_the_batch",
        tensor_config("RESULT[0]", dims=(3,)),
        "output 'RESULT[0]' is not batched: 3 rows went in and 1 row came out",
    ),
    (
        "reduces_the_batch",
        tensor_config("RESULT[1]", dims=(1,)),
        "output 'RESULT[1]' is not batched: 3 rows went in and a single number came out",
    ),
]
ROWS_SENT: dict[str, dict[str, tuple[int, ...]]] = {
    "aliases": {"ARGS[0]": (3, 4), "ARGS[1]": (3, 2, 3)},
    "reduces_the_batch": {"ARGS[0]": (3, 3)},
}
RIGHT_OUTPUT = {"aliases": ("RESULT[2]", 4), "reduces_the_batch": ("RESULT[2]", 3)}


@pytest.mark.parametrize(
    ("declared", "returned", "sentence"),
    [
        (
            {"dims": (1,)},
            "[3]: declare dims: [ 1 ] and reshape: { shape: [ ] }",
            "output 'OUTPUT__0' is declared with dims [1] after the batch dimension, but the model returned ",
        ),
        (
            {"dims": (2, 2)},
            "[3]: declare dims: [ 1 ] and reshape: { shape: [ ] }",
            "output 'OUTPUT__0' is declared with dims [2, 2] after the batch dimension, but the model returned ",
        ),
        (
            {"dims": (1,), "reshape": {"shape": []}},
            "[3, 1]: change its dims, or its reshape,",
            "output 'OUTPUT__0' is declared with dims [] after the batch dimension, but the model returned ",
        ),
    ],
)
def test_result_of_one_number_in_each_row(declared: Any, returned: str, sentence: str) -> None:
    result = torch.arange(3.0).reshape(3, 1) if "reshape" in declared else torch.arange(3.0)
    served = function_loop(
        lambda x: [result, x],
        [tensor_config("INPUT__0", dims=(2,))],
        [tensor_config("OUTPUT__0", **declared), tensor_config("OUTPUT__1", dims=(2,))],
        max_batch_size=4,
    )
    (answer,) = served.execute(served.request(torch.zeros(3, 2)))
    assert answer == f"INTERNAL: model 'm': {sentence}{returned} in config.pbtxt"


@pytest.mark.parametrize(("package", "output", "sentence"), RESULTS)
def test_result_that_is_not_as_declared(serve: Serve, package: str, output: Any, sentence: str) -> None:
    shapes, (right, width) = ROWS_SENT[package], RIGHT_OUTPUT[package]
    inputs = [tensor_config(name, dims=shape[1:]) for name, shape in shapes.items()]
    model = serve(package, inputs, [output, tensor_config(right, dims=(width,))], max_batch_size=4)
    x = {name: torch.rand(shape) for name, shape in shapes.items()}

    for _ in range(3):
        (response,) = model.execute(model.request(x))
        assert response.error().message().startswith(f"model 'm': {sentence}")
        assert "\n" not in response.error().message()
        assert response.output_tensors() == []

    logged = [text for level, text in model.logger.lines if level == "error"]
    assert len(logged) == 3
    assert logged[0].startswith(f"a request failed: model 'm': {sentence}")
    assert torch.equal(model.infer(x, [right])[right], x["ARGS[0]"] + 1)
