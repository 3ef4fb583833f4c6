"""What the config leaves open is held against the request; what it fixes, against the model at load."""

import json
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from triton_pytorch.io_naming.leaves import Dimension, Leaf
from triton_pytorch.io_naming.names import LeafPath
from triton_pytorch.io_naming.shape_rules import ShapeRules, compile_shape_rules
from triton_pytorch.io_naming.sizes import parse_size
from triton_pytorch.model_config.configuration import read_config
from triton_pytorch.tests.assets.configs import model_config, tensor_config

Shape = Sequence[str | Dimension]
Shapes = Sequence[Sequence[int]]


def leaf(index: int, shape: Shape | None) -> Leaf:
    path = LeafPath("ARGS", (str(index),))
    return Leaf(path, "float32", None if shape is None else tuple(map(dimension, shape)))


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
    return compile_shape_rules(config.inputs, leaves, order or range(len(leaves)), config)


def violations(rules: ShapeRules, *shapes: Sequence[int]) -> list[str]:
    return [sentence for rule in rules.rules if (sentence := rule(shapes)) is not None]


def broken(found: str, expected: str, *reasons: str) -> str:
    """Make the sentence of a relation between first dimensions; `found` is such as `A is 3`."""
    (name, _, size), others = found.partition(" "), [reason.partition(" ") for reason in reasons]
    since = " and ".join(f"dimension 0 of input '{other}' {value}" for other, _, value in others)
    return f"dimension 0 of input '{name}' {size}, but the model takes {expected} there, since {since}"


@pytest.mark.parametrize(
    ("dims", "model", "max_batch_size"),
    [
        ([(2, 3)], [("2", "3")], 0),
        ([(4, 8)], [("s1", "2*s1")], 0),
        ([(3,)], [("s1", "3")], 8),
        ([(3,), (2,)], [("s1", "3"), ("s1", "2")], 8),
        ([(-1,)], [("s1",)], 0),  # open, and nothing to hold it against
        ([(-1,)], [("s1*s2",)], 0),
        ([(-1, -1)], [None], 0),
        ([(1,)], [()], 0),
        ([(-1, -1)], [("s1",)], 0),  # another rank is a fault of its own
        ([], [], 0),
    ],
)
def test_a_config_that_leaves_nothing_to_check_compiles_to_nothing(
    dims: list[tuple[int, ...]], model: list[Shape | None], max_batch_size: int
) -> None:
    assert compiled(dims, model, max_batch_size) == ShapeRules((), ())


@pytest.mark.parametrize(
    ("dims", "model", "good", "bad", "sentence"),
    [
        (
            [(-1,)],
            [(bounded("s1", 1, 64),)],
            [[(1,)], [(64,)]],
            [(65,)],
            "dimension 0 of input 'A' is 65, but the model takes 1 to 64",
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
    assert rules.faults == ()
    for shapes in good:
        assert violations(rules, *shapes) == []
    assert violations(rules, *bad) == [sentence]


def test_every_violation_is_told() -> None:
    rules = compiled([(-1, -1), (-1,)], [(bounded("s1", 1, 9), "s2"), ("s2",)])
    assert violations(rules, (10, 3), (4,)) == [
        "dimension 0 of input 'A' is 10, but the model takes 1 to 9",
        "dimension 0 of input 'B' is 4, but the model takes 3 (s2) there, since dimension 1 of input 'A' is 3 (s2)",
    ]


def test_unknown_relations_are_not_checked() -> None:
    rules = compiled([(-1,), (-1,)], [("s1 + s2",), ("s1",)])  # nothing says what s2 is
    assert rules == ShapeRules((), ())


def test_inputs_are_read_in_the_order_of_the_leaves() -> None:
    rules = compiled([(-1,), (-1, 2)], [("s1", "2"), ("s1",)], order=[1, 0])
    assert violations(rules, (5, 2), (5,)) == []
    assert violations(rules, (6, 2), (5,)) == [broken("B is 6", "5 (s1)", "A is 5 (s1)")]


class TestBatching:
    def test_the_batch_is_not_held_against_an_upper_bound(self) -> None:
        rules = compiled([(-1,)], [(bounded("s1", 1, 15), bounded("s2", 1, 15))], max_batch_size=64)
        assert violations(rules, (64, 15)) == []
        assert violations(rules, (64, 16)) == ["dimension 1 of input 'A' is 16, but the model takes 1 to 15"]
        assert violations(rules, (0, 1)) == ["dimension 0 of input 'A' is 0, but the model takes at least 1"]

    def test_another_dimension_can_be_tied_to_the_batch(self) -> None:
        rules = compiled([(3,), (-1,)], [("s1", "3"), ("s1", "s1")], max_batch_size=8)
        assert violations(rules, (4, 3), (4, 4)) == []
        assert violations(rules, (4, 3), (4, 5)) == [
            "dimension 1 of input 'B' is 5, but the model takes 4 (s1) there, since dimension 0 of input 'A' is 4 (s1)"
        ]

    def test_the_config_can_tie_the_batch_to_a_number(self) -> None:
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
    def test_two_batch_sizes_are_a_fault_of_the_config(self, model: list[Shape], sizes: tuple[str, ...]) -> None:
        tensor, size, other, other_size = sizes
        (fault,) = compiled([(3,), (3,)], model, max_batch_size=8).faults
        assert fault == (
            f"dimension 0 of input '{tensor}' is {size} where dimension 0 of input '{other}' is {other_size}, but with "
            "batching Triton makes both the batch size: set max_batch_size: 0"
        )

    def test_a_batch_of_multiples(self) -> None:
        rules = compiled([(3,)], [("2*s1", "3")], max_batch_size=8)
        assert violations(rules, (4, 3)) == []
        assert violations(rules, (3, 3)) == ["dimension 0 of input 'A' is 3, but the model takes multiples of 2"]


@pytest.mark.parametrize(
    ("dims", "model", "faults"),
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
def test_what_the_config_fixes_is_checked_at_load(
    dims: list[tuple[int, ...]], model: list[Shape], faults: list[str]
) -> None:
    assert list(compiled(dims, model).faults) == faults


SIZES: dict[str, Callable[[int, int], int]] = {
    "s1": lambda s1, s2: s1,
    "2*s1": lambda s1, s2: 2 * s1,
    "s1 + 1": lambda s1, s2: s1 + 1,
    "s2": lambda s1, s2: s2,
    "s1 + s2": lambda s1, s2: s1 + s2,
    "s1*s2": lambda s1, s2: s1 * s2,
    "4*s2 + 3": lambda s1, s2: 4 * s2 + 3,
}


@settings(deadline=None)
@given(
    st.permutations(list(SIZES)),
    st.integers(1, 9),
    st.integers(1, 9),
    st.integers(0, 6),
    st.integers(1, 3),
)
def test_a_shape_passes_just_where_some_sizes_explain_it(
    sizes: list[str], s1: int, s2: int, changed: int, by: int
) -> None:
    """With plain names among the dimensions each size can be worked out, so one that is off breaks a rule."""
    rules = compiled([(-1,) * len(sizes)], [sizes])
    shape = [SIZES[size](s1, s2) for size in sizes]
    assert violations(rules, shape) == []
    shape[changed] += by
    assert violations(rules, shape) != []
