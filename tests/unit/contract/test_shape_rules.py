"""What the config leaves open is checked with the request; what it fixes, with the model at load."""

import json
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from triton_pytorch.contract.declared_inputs import DeclaredInput, declared_inputs
from triton_pytorch.contract.input_checks import UNBOUNDED
from triton_pytorch.contract.leaves import Dimension, Leaf
from triton_pytorch.contract.shape_rules import ShapeRules, compile_shape_rules
from triton_pytorch.contract.sizes import parse_size
from triton_pytorch.model_config.batch_tensors import BatchInputKind
from triton_pytorch.model_config.configuration import read_config
from triton_pytorch.model_config.datatypes import DataType
from triton_pytorch.tests.assets.configs import model_config, tensor_config
from triton_pytorch.tests.assets.leaves import positional

Shape = Sequence[str | Dimension]
Shapes = Sequence[Sequence[int]]


def leaf(index: int, shape: Shape | None) -> Leaf:
    return positional(index, dtype="float32", shape=None if shape is None else tuple(map(dimension, shape)))


def dimension(size: str | Dimension) -> Dimension:
    """Read a size that has no bounds of its own."""
    if isinstance(size, Dimension):
        return size
    parsed = parse_size(size)
    assert parsed is not None
    return Dimension(parsed, parsed.constant or 0, parsed.constant)


def bounded(size: str, lower: int = 0, upper: int | None = None) -> Dimension:
    parsed = parse_size(size)
    assert parsed is not None
    return Dimension(parsed, lower, upper)


def compiled(
    dims: Sequence[Sequence[int]], model: Sequence[Shape | None], max_batch_size: int = 0, order: Sequence[int] = ()
) -> ShapeRules:
    """Compile for inputs A, B, ..; input i is leaf i unless `order` says another."""
    tensors = [tensor_config("ABC"[number], dims=tuple(sizes)) for number, sizes in enumerate(dims)]
    config = read_config(json.dumps({"name": "m", **model_config(tensors, [], max_batch_size=max_batch_size)}))
    leaves = [leaf(index, shape) for index, shape in enumerate(model)]
    positions = order or range(len(leaves))
    return compile_shape_rules(
        [
            (tensor, leaves[position], position)
            for tensor, position in zip(declared_inputs(config), positions, strict=True)
        ]
    )


def violations(rules: ShapeRules, *shapes: Sequence[int] | None) -> list[str]:
    """Return what a request of these shapes breaks."""
    return [sentence for rule in rules.request_rules if (sentence := rule(shapes)) is not None]


def call_violations(rules: ShapeRules, *shapes: Sequence[int] | None) -> list[str]:
    """Return what a call of tensors with these shapes breaks."""
    return [sentence for rule in rules.call_rules if (sentence := rule(shapes)) is not None]


def broken(found: str, expected: str, *reasons: str) -> str:
    """Make the sentence of a relation; `found` is such as `A is 3`, or `A[1] is 3` for dimension 1."""
    return f"{place(found)}, but the model takes {expected} there, since {' and '.join(map(place, reasons))}"


def place(text: str) -> str:
    tensor, _, size = text.partition(" ")
    name, _, number = tensor.partition("[")
    return f"dimension {number.rstrip(']') or 0} of input '{name}' {size}"


@pytest.mark.parametrize(
    ("dims", "model", "max_batch_size"),
    [
        ([(2, 3)], [("2", "3")], 0),
        ([(4, 8)], [("s1", "2*s1")], 0),
        ([(3,)], [("s1", "3")], 8),
        ([(3,), (2,)], [("s1", "3"), ("s1", "2")], 8),
        ([(-1,)], [("s1",)], 0),  # dynamic, and nothing to compare it with
        ([(-1,)], [("s1*s2",)], 0),
        ([(-1, -1)], [None], 0),
        ([(1,)], [()], 0),
        ([(-1, -1)], [("s1",)], 0),  # another rank is an error of its own
        ([], [], 0),
    ],
)
def test_no_rules_for_fixed_dims(dims: list[tuple[int, ...]], model: list[Shape | None], max_batch_size: int) -> None:
    assert compiled(dims, model, max_batch_size) == ShapeRules((), (), ())


@pytest.mark.parametrize(
    ("dims", "model", "good", "bad", "sentence"),
    [
        (
            [(-1,)],
            [(bounded("s1", 1, 64),)],
            [[(1,)], [(64,)]],
            [(65,)],
            f"dimension 0 of input 'A' is 65, but the model takes 1 to 64: {UNBOUNDED}",
        ),
        (
            [(-1,)],
            [(bounded("s1", 1),)],
            [[(1,)]],
            [(0,)],
            "dimension 0 of input 'A' is 0, but the model takes at least 1",
        ),
        (
            [(-1, -1)],
            [("s1", "3")],
            [[(5, 3)]],
            [(5, 4)],
            "dimension 1 of input 'A' is 4, but the model takes 3",
        ),
        (
            [(-1,), (-1, 2)],
            [("s1",), ("s1", "2")],
            [[(0,), (0, 2)], [(5,), (5, 2)]],
            [(5,), (6, 2)],
            broken("B is 6", "5 (s1)", "A is 5 (s1)"),
        ),
        (
            [(-1, -1)],
            [("s1", "s1")],
            [[(4, 4)]],
            [(4, 5)],
            "dimension 1 of input 'A' is 5, but the model takes 4 (s1) there, since dimension 0 of input 'A' is 4 (s1)",
        ),
        (
            [(-1,), (-1,)],
            [("2*s1",), ("s1",)],
            [[(6,), (3,)]],
            [(7,), (3,)],
            broken("A is 7", "6 (2*s1)", "B is 3 (s1)"),
        ),
        (
            [(-1,), (-1,)],
            [("s1",), ("s1 + 1",)],
            [[(3,), (4,)]],
            [(3,), (3,)],
            broken("B is 3", "4 (s1 + 1)", "A is 3 (s1)"),
        ),
        (
            [(-1,), (-1,), (-1,)],
            [("s1",), ("s2",), ("s1 + s2",)],
            [[(3,), (4,), (7,)]],
            [(3,), (4,), (8,)],
            broken("C is 8", "7 (s1 + s2)", "A is 3 (s1)", "B is 4 (s2)"),
        ),
        (
            [(-1,), (-1,), (-1,)],
            [("s1*s2",), ("s2",), ("s1",)],
            [[(12,), (4,), (3,)]],
            [(13,), (4,), (3,)],
            broken("A is 13", "12 (s1*s2)", "C is 3 (s1)", "B is 4 (s2)"),
        ),
        (
            [(-1,)],
            [("2*s1",)],
            [[(0,)], [(6,)]],
            [(7,)],
            "dimension 0 of input 'A' is 7, but the model takes multiples of 2",
        ),
        (
            [(-1,)],
            [("4*s1 + 3",)],
            [[(3,)], [(11,)]],
            [(12,)],
            "dimension 0 of input 'A' is 12, but the model takes multiples of 4 plus 3",
        ),
        (
            [(-1,), (-1,)],
            [("2*s1",), ("3*s1",)],
            [[(4,), (6,)]],
            [(4,), (9,)],
            broken("B is 9", "6 (3*s1)", "A is 4 (2*s1)"),
        ),
        (
            [(-1,), (5,)],  # the config decides the number
            [("s1",), ("s1",)],
            [[(5,), (5,)]],
            [(4,), (5,)],
            broken("A is 4", "5 (s1)", "B is 5 (s1)"),
        ),
        (
            [(6,), (-1,)],
            [("2*s1",), ("s1",)],
            [[(6,), (3,)]],
            [(6,), (2,)],
            broken("B is 2", "3 (s1)", "A is 6 (2*s1)"),
        ),
    ],
)
def test_requests(
    dims: list[tuple[int, ...]], model: list[Shape], good: list[Shapes], bad: Shapes, sentence: str
) -> None:
    rules = compiled(dims, model)
    assert rules.errors == ()
    for shapes in good:
        assert violations(rules, *shapes) == []
    assert violations(rules, *bad) == [sentence]


def test_several_violations() -> None:
    rules = compiled([(-1, -1), (-1,)], [(bounded("s1", 1, 9), "s2"), ("s2",)])
    assert violations(rules, (10, 3), (4,)) == [
        f"dimension 0 of input 'A' is 10, but the model takes 1 to 9: {UNBOUNDED}",
        "dimension 0 of input 'B' is 4, but the model takes 3 (s2) there, since dimension 1 of input 'A' is 3 (s2)",
    ]


def test_unknown_relations_are_not_checked() -> None:
    rules = compiled([(-1,), (-1,)], [("s1 + s2",), ("s1",)])  # nothing says what s2 is
    assert rules == ShapeRules((), (), ())


def test_order_of_leaves() -> None:
    rules = compiled([(-1,), (-1, 2)], [("s1", "2"), ("s1",)], order=[1, 0])
    assert violations(rules, (5, 2), (5,)) == []
    assert violations(rules, (6, 2), (5,)) == [broken("B is 6", "5 (s1)", "A is 5 (s1)")]


class TestBatching:
    def test_upper_bound_of_the_batch(self) -> None:
        rules = compiled([(-1,)], [(bounded("s1", 1, 15), bounded("s2", 1, 15))], max_batch_size=64)
        assert violations(rules, (64, 15)) == []
        (sentence,) = violations(rules, (64, 16))
        assert sentence == f"dimension 1 of input 'A' is 16, but the model takes 1 to 15: {UNBOUNDED}"
        assert violations(rules, (0, 1)) == ["dimension 0 of input 'A' is 0, but the model takes at least 1"]

    def test_dimension_related_to_the_batch(self) -> None:
        rules = compiled([(3,), (-1,)], [("s1", "3"), ("s1", "s1")], max_batch_size=8)
        assert violations(rules, (4, 3), (4, 4)) == []
        assert violations(rules, (4, 3), (4, 5)) == [broken("B[1] is 5", "4 (s1)", "A is 4 (s1)")]
        assert call_violations(rules, (4, 3), (4, 4)) == []
        assert call_violations(rules, (8, 3), (8, 4)) == [broken("B[1] is 4", "8 (s1)", "A is 8 (s1)")]

    def test_batch_fixed_by_a_relation(self) -> None:
        rules = compiled([(3,), (4,)], [("s1", "3"), ("s1", "s1")], max_batch_size=8)
        assert violations(rules, (4, 3), (4, 4)) == []
        assert violations(rules, (2, 3), (2, 4)) == [
            f"dimension 0 of input '{name}' is 2, but the model takes 4 (s1) there, "
            "since dimension 1 of input 'B' is 4 (s1)"
            for name in "AB"
        ]

    @pytest.mark.parametrize(
        ("model", "sizes"),
        [
            ([("s1", "3"), ("2*s1", "3")], ("B", "2*s1", "A", "s1")),
            ([("s1 + 1", "3"), ("s1", "3")], ("A", "s1 + 1", "B", "s1")),
            ([("2*s1", "3"), ("3*s1", "3")], ("B", "3*s1", "A", "2*s1")),
        ],
    )
    def test_two_batch_sizes(self, model: list[Shape], sizes: tuple[str, ...]) -> None:
        tensor, size, other, other_size = sizes
        (error,) = compiled([(3,), (3,)], model, max_batch_size=8).errors
        assert error == (
            f"dimension 0 of input '{tensor}' is {size} where dimension 0 of input '{other}' is {other_size}, but with "
            "batching Triton makes both the batch size: set max_batch_size: 0"
        )

    def test_batch_of_multiples(self) -> None:
        rules = compiled([(3,)], [("2*s1", "3")], max_batch_size=8)
        assert violations(rules, (4, 3)) == []
        assert violations(rules, (3, 3)) == ["dimension 0 of input 'A' is 3, but the model takes multiples of 2"]

    def test_multiple_of_merged_rows(self) -> None:
        rules = compiled([(3,)], [("2*s1 + 1", "3")], max_batch_size=8)
        assert violations(rules, (3, 3)) == []
        assert call_violations(rules, (6, 3)) == [
            "dimension 0 of input 'A' is 6, but the model takes multiples of 2 plus 1"
        ]

    @pytest.mark.parametrize(
        ("dims", "model"),
        [
            ([(3,)], [(bounded("s1", 1, 64), "3")]),
            ([(-1,), (2,)], [("s1", bounded("s2", 2, 9)), ("s1", "2")]),
            ([(-1, -1), (-1,)], [("s1", "s2", "2*s2"), ("s1", "s2")]),
        ],
    )
    def test_no_call_rules(self, dims: list[tuple[int, ...]], model: list[Shape]) -> None:
        assert compiled(dims, model, max_batch_size=8).call_rules == ()


def sent(name: str, shape: tuple[int, ...], *, is_batched: bool = True, optional: bool = False) -> DeclaredInput:
    return DeclaredInput(name, DataType.FP32, shape, is_batched, optional=optional)


VALUES = DeclaredInput("values", DataType.FP32, (-1,), is_batched=False, is_ragged=True)
ENDS = DeclaredInput(
    "ends", DataType.INT32, (-1,), is_batched=False, kind=BatchInputKind.ACCUMULATED_ELEMENT_COUNT_WITH_ZERO
)
SHAPES = DeclaredInput("shapes", DataType.INT32, (-1, 1), is_batched=True, kind=BatchInputKind.ITEM_SHAPE)
SCALE = sent("scale", (-1, 1))


def of_inputs(*inputs: tuple[DeclaredInput, Shape]) -> ShapeRules:
    """Compile for these inputs and the shapes of their leaves."""
    return compile_shape_rules(
        [(declared, leaf(index, shape), index) for index, (declared, shape) in enumerate(inputs)]
    )


class TestMerging:
    def test_sizes_of_a_call(self) -> None:
        rules = of_inputs(
            (VALUES, (bounded("s1", 1, 9),)),
            (ENDS, ("s0 + 1",)),
            (SHAPES, (bounded("s0", 1, 2), "1")),
            (SCALE, (bounded("s0", 1, 2), "1")),
        )
        assert rules.errors == ()
        assert violations(rules, (1, 7), None, None, (1, 1)) == []
        assert violations(rules, (1, 7), None, None, (0, 1)) == [
            "dimension 0 of input 'scale' is 0, but the model takes at least 1"
        ]
        assert call_violations(rules, (7,), (4,), (3, 1), (3, 1)) == []  # of lengths 2, 0 and 5, a row each
        assert call_violations(rules, (10,), (4,), (3, 1), (3, 1)) == []  # exporters invent bounds: as with the batch
        assert call_violations(rules, (0,), (3,), (3, 1), (3, 1)) == [  # of two requests, one with two rows
            "dimension 0 of input 'values' is 0, but the model takes at least 1",
            broken("ends is 3", "4 (s0 + 1)", "scale is 3 (s0)"),
        ]

    def test_source_of_a_symbol(self) -> None:
        rules = of_inputs((VALUES, ("s1",)), (sent("x", (-1, -1)), ("s0", "s1")), (sent("y", (-1, -1)), ("s0", "s1")))
        assert violations(rules, (1, 9), (1, 4), (1, 5)) == [broken("y[1] is 5", "4 (s1)", "x[1] is 4 (s1)")]
        assert call_violations(rules, (4,), (2, 4), (2, 4)) == []
        assert call_violations(rules, (8,), (2, 4), (2, 4)) == [broken("values is 8", "4 (s1)", "x[1] is 4 (s1)")]

    def test_different_rows_of_two_inputs(self) -> None:
        (error,) = of_inputs((SHAPES, ("2*s0", "1")), (SCALE, ("s0", "1"))).errors
        assert error.startswith("dimension 0 of input 'shapes' is 2*s0 where dimension 0 of input 'scale' is s0, but")

    def test_number_of_dims(self) -> None:
        rules = of_inputs((SHAPES, ("s0", "s1")), (sent("x", (-1, -1)), ("s0", "s1")))
        assert violations(rules, None, (4, 1)) == []
        assert violations(rules, None, (4, 2)) == [broken("x[1] is 2", "1 (s1)", "shapes[1] is 1 (s1)")]
        assert rules.call_rules == ()


class TestOptional:
    def test_input_not_sent(self) -> None:
        bias = sent("bias", (-1, -1), optional=True)
        rules = of_inputs((bias, ("s0", bounded("s1", 1))), (sent("x", (-1, -1)), ("s0", "s1")))
        assert violations(rules, None, (2, 4)) == []
        assert violations(rules, (2, 4), (2, 4)) == []
        assert violations(rules, (2, 0), (2, 4)) == [
            "dimension 1 of input 'bias' is 0, but the model takes at least 1",
            broken("bias[1] is 0", "4 (s1)", "x[1] is 4 (s1)"),
        ]

    def test_inputs_beside_one_not_sent(self) -> None:
        bias, x, y = (sent(name, (-1, -1), optional=name == "bias") for name in ("bias", "x", "y"))
        rules = of_inputs((bias, ("s0", "s1")), (x, ("s0", "s1")), (y, ("s0", "s1")))
        (sentence,) = violations(rules, None, (2, 4), (2, 5))
        assert sentence.startswith("dimension 1 of input 'y' is 5, but the model takes 4")

    def test_at_calls_too(self) -> None:
        bias = sent("bias", (-1, -1), optional=True)
        rules = of_inputs((VALUES, ("s1",)), (bias, ("s0", "s1")))
        assert call_violations(rules, (4,), None) == []
        assert call_violations(rules, (4,), (2, 4)) == []
        assert len(call_violations(rules, (4,), (2, 5))) == 1


@settings(deadline=None)
@given(
    st.lists(st.lists(st.sampled_from(["s1", "s2", "2*s1", "s1 + s2", "s1*s2", "3"]), max_size=3), min_size=1),
    st.lists(st.integers(0, 4), min_size=1, max_size=4),
    st.integers(0, 4),
)
def test_call_rules(inputs: list[list[str]], rows: list[int], s2: int) -> None:
    """What a call breaks, its requests break too, or else a rule for calls says the same."""
    rules = of_inputs(
        *((sent(f"i{index}", (-1,) * (len(sizes) + 1)), ("s1", *sizes)) for index, sizes in enumerate(inputs))
    )
    others = [[SIZES[size](rows[0], s2) for size in sizes] for sizes in inputs]
    requests = [[(own, *sizes) for sizes in others] for own in rows]
    call = [(sum(rows), *sizes) for sizes in others]
    if not any(violations(rules, *request) for request in requests):
        assert call_violations(rules, *call) == violations(rules, *call)


@pytest.mark.parametrize(
    ("dims", "model", "errors"),
    [
        (
            [(5,), (6,)],
            [("s1",), ("s1",)],
            [broken("B is 6", "5 (s1)", "A is 5 (s1)")],
        ),
        ([(7,)], [("2*s1",)], ["dimension 0 of input 'A' is 7, but the model takes multiples of 2"]),
        (
            [(5,), (6,), (-1,)],
            [("s1",), ("2*s1",), ("s1",)],
            [broken("B is 6", "10 (2*s1)", "A is 5 (s1)")],
        ),
        ([(5,), (10,)], [("s1",), ("2*s1",)], []),
    ],
)
def test_relation_of_fixed_dims(dims: list[tuple[int, ...]], model: list[Shape], errors: list[str]) -> None:
    assert list(compiled(dims, model).errors) == errors


SIZES: dict[str, Callable[[int, int], int]] = {
    "s1": lambda s1, s2: s1,
    "2*s1": lambda s1, s2: 2 * s1,
    "s1 + 1": lambda s1, s2: s1 + 1,
    "s2": lambda s1, s2: s2,
    "s1 + s2": lambda s1, s2: s1 + s2,
    "s1*s2": lambda s1, s2: s1 * s2,
    "4*s2 + 3": lambda s1, s2: 4 * s2 + 3,
    "3": lambda s1, s2: 3,
}


@settings(deadline=None)
@given(
    st.permutations([size for size in SIZES if size != "3"]),
    st.integers(1, 9),
    st.integers(1, 9),
    st.integers(0, 6),
    st.integers(1, 3),
)
def test_fuzz_relations(sizes: list[str], s1: int, s2: int, changed: int, by: int) -> None:
    """With plain names among the dimensions each size can be worked out, so one that is off breaks a rule."""
    rules = compiled([(-1,) * len(sizes)], [sizes])
    shape = [SIZES[size](s1, s2) for size in sizes]
    assert violations(rules, shape) == []
    shape[changed] += by
    assert violations(rules, shape) != []
