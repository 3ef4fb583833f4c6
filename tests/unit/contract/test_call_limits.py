"""What bounds a call: rows that can be cut into pieces or not, elements of ragged inputs, sizes that merging makes."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from triton_pytorch.contract.call_limits import CallLimits, compile_call_limits
from triton_pytorch.contract.declared_inputs import declared_inputs
from triton_pytorch.contract.input_checks import UNBOUNDED
from triton_pytorch.contract.leaves import Dimension
from triton_pytorch.contract.sizes import parse_size
from triton_pytorch.model_config.configuration import read_config
from triton_pytorch.tests.assets.configs import model_config, tensor_config
from triton_pytorch.tests.assets.leaves import positional

Shape = Sequence[Dimension] | None


def sized(size: str, upper: int | None = None, lower: int = 1) -> Dimension:
    parsed = parse_size(size)
    assert parsed is not None
    constant = parsed.constant
    return Dimension(parsed, lower, upper) if constant is None else Dimension(parsed, constant, constant)


def limits(
    *shapes: Shape, rank: int = 1, ragged: bool = False, kind: str | None = None, max_batch_size: int = 32
) -> CallLimits:
    """Compile for inputs A, B, .. of dims [-1] * rank; of a `kind`, the last is made by batch_input from A."""
    sent = shapes[:-1] if kind else shapes
    tensors = [
        tensor_config("ABC"[number], dims=(-1,) * rank, allow_ragged_batch=ragged) for number in range(len(sent))
    ]
    made: list[dict[str, Any]] = []
    if kind:
        made = [{"kind": f"BATCH_{kind}", "target_name": ["M"], "data_type": "TYPE_INT32", "source_input": ["A"]}]
    document = model_config(tensors, [], max_batch_size=max_batch_size, batch_input=made)
    leaves = [positional(number, shape=None if shape is None else tuple(shape)) for number, shape in enumerate(shapes)]
    declared = declared_inputs(read_config(json.dumps({"name": "m", **document})))
    return compile_call_limits(
        [(tensor, leaf, number) for number, (tensor, leaf) in enumerate(zip(declared, leaves, strict=True))],
        max_batch_size,
    )


def most(limits: CallLimits, shape: Sequence[int]) -> list[tuple[int, int]]:
    """Return for each limit what a request of this shape brings, and the most of a call."""
    return [(limit.measure(shape), limit.most) for limit in limits.limits]


def violations(limits: CallLimits, *shapes: Sequence[int] | None) -> list[str]:
    return [sentence for rule in limits.rules if (sentence := rule(shapes)) is not None]


@pytest.mark.parametrize(
    ("shapes", "rows"),
    [
        ([(sized("s0", 16), sized("s1"))], 16),
        ([(sized("s0", 16), sized("s1")), (sized("s0", 12), sized("3"))], 12),
        ([(sized("s0", 16), sized("s1")), None], 16),
        ([(sized("s0", 31), sized("s1", 8))], 31),
        ([(sized("s0", 16, lower=8), sized("s1"))], 16),  # 17 rows are run as 9 and 8
    ],
)
def test_rows_that_can_be_cut(shapes: list[Shape], rows: int) -> None:
    compiled = limits(*shapes)
    assert compiled.piece_rows == rows
    assert min(most for _, most in most(compiled, (5, 7))) == rows
    assert {brought for brought, _ in most(compiled, (5, 7))} == {5}
    assert compiled.rules == ()


@pytest.mark.parametrize(
    "shapes",
    [
        [(sized("2*s0", 16), sized("s1"))],  # a piece may be odd
        [(sized("s0 + 1", 16), sized("s1"))],
        [(sized("s0", 16), sized("s0"))],  # a matrix as wide as the batch is long
        [(sized("s0", 16), sized("s1")), (sized("s0", 16), sized("s0 + s1"))],
        [(sized("s0", 16, lower=9), sized("s1"))],  # 17 rows would be run as 9 and 8
    ],
)
def test_rows_that_cannot_be_cut(shapes: list[Shape]) -> None:
    compiled = limits(*shapes)
    assert compiled.piece_rows is None
    assert most(compiled, (5, 7))[0] == (5, 16)
    assert violations(compiled, *[(16, 3)] * len(shapes)) == []
    assert violations(compiled, *[(17, 3)] * len(shapes))[0] == (
        "the request has 17 rows of input 'A', but the model takes at most 16 in dimension 0 of input 'A': send less, "
        f"or {UNBOUNDED}"
    )


@pytest.mark.parametrize(
    "compiled",
    [
        limits((sized("s0"), sized("s1"))),
        limits((sized("s0", 32), sized("s1"))),  # Triton's core makes no larger batch
        limits((sized("s0", 16), sized("s1", 16)), max_batch_size=0, rank=2),
        limits(None),
        limits((sized("s0"),), ragged=True),
        limits((sized("s0", 16), sized("s0")), max_batch_size=16),
    ],
    ids=str,
)
def test_without_limits(compiled: CallLimits) -> None:
    assert compiled == CallLimits((), None, (), ())


def test_elements_of_a_ragged_input() -> None:
    compiled = limits((sized("s0", 10),), ragged=True, rank=2)
    assert most(compiled, (2, 3, 1)) == [(6, 10)]
    assert violations(compiled, (2, 3, 1)) == []
    assert violations(compiled, None) == []
    (sentence,) = violations(compiled, (2, 3, 2))
    assert sentence == (
        "the request has 12 elements of input 'A', but the model takes at most 10 in dimension 0 of input 'A': send "
        f"less, or {UNBOUNDED}"
    )
    assert compiled.warnings == ()  # elements are not rows


@pytest.mark.parametrize(
    ("kind", "shape", "limit"),
    [
        # of shape [6, 7, 7]: six rows of 49 elements, and so 294
        ("ELEMENT_COUNT", [sized("s0", 9)], (1, 9)),
        ("ACCUMULATED_ELEMENT_COUNT", [sized("s0", 9)], (1, 9)),
        ("ACCUMULATED_ELEMENT_COUNT_WITH_ZERO", [sized("s0 + 1", 9)], (1, 8)),
        ("ITEM_SHAPE", [sized("s0", 9), sized("2")], (6, 9)),
        ("ITEM_SHAPE_FLATTEN", [sized("s0", 13)], (6, 6)),
    ],
)
def test_sizes_that_merging_makes(kind: str, shape: list[Dimension], limit: tuple[int, int]) -> None:
    compiled = limits([sized("s9")], shape, ragged=True, rank=2, kind=kind)
    assert most(compiled, (6, 7, 7)) == [limit]
    assert violations(compiled, (6, 7, 7), None) == []
    assert compiled.piece_rows is None
    unit = "requests" if limit[0] == 1 else "rows"
    (warning,) = compiled.warnings
    assert warning == (
        f"no call is of more than {limit[1]} {unit}, below max_batch_size: 32, since the model takes at most "
        f"{shape[0].upper} in dimension 0 of batch_input 'M': {UNBOUNDED}"
    )
    too_many = violations(compiled, (10, 1, 1), None)
    assert len(too_many) == (unit == "rows")


def test_largest_request_of_a_call() -> None:
    """A size that is the largest of all is within its bound where each is, so that no call is cut for it."""
    compiled = limits([sized("s9")], [sized("s0", 9)], ragged=True, kind="MAX_ELEMENT_COUNT_AS_SHAPE")
    assert compiled.limits == ()
    assert violations(compiled, (3, 3), None) == []
    (sentence,) = violations(compiled, (2, 5), None)
    assert sentence == (
        "the request has 10 elements of input 'A', but the model takes at most 9 in dimension 0 of batch_input 'M': "
        f"send less, or {UNBOUNDED}"
    )


def test_rows_beside_a_batch_input() -> None:
    """Batch inputs are made of whole requests, so that none is cut."""
    compiled = limits((sized("s0", 16), sized("s1")), [sized("s2")], kind="ELEMENT_COUNT")
    assert compiled.piece_rows is None
    assert len(violations(compiled, (17, 1), None)) == 1
