"""Sizes are read as C++ source has them, printed so that they read the same, and computed as Python would."""

import operator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from triton_pytorch.contract.sizes import Size, dynamic_size, parse_size, size_of, solved_size

VALUES = {"s0": 3, "s1": 5, "s27": 2, "u0": 11, "arg0_1_1": 7}
OPERATORS = {"+": operator.add, "-": operator.sub, "*": operator.mul}
Expression = tuple[str, int]  # a text, and what it is worth with VALUES


def combined(left: Expression, sign: str, right: Expression) -> Expression:
    return f"({left[0]} {sign} {right[0]})", OPERATORS[sign](left[1], right[1])


EXPRESSIONS = st.recursive(
    st.integers(0, 2**63).map(lambda number: (f"{number}L", number)) | st.sampled_from(list(VALUES.items())),
    lambda inner: (
        st.builds(combined, inner, st.sampled_from(list(OPERATORS)), inner)
        | inner.map(lambda expression: (f"-({expression[0]})", -expression[1]))
    ),
    max_leaves=6,
)


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("3L", "3"),
        ("0L", "0"),
        ("s27", "s27"),
        (" s27 ", "s27"),
        ("2L*s27", "2*s27"),
        ("1L + s27", "s27 + 1"),
        ("(-2L) + s53", "s53 - 2"),
        ("s17 + s77", "s17 + s77"),
        ("3L*s0*s53", "3*s0*s53"),
        # of a strided convolution, as torch 2.13 writes it
        ("16L + ((-8L)*s0) + ((-8L)*s53) + 4L*s0*s53", "4*s0*s53 - 8*s0 - 8*s53 + 16"),
        ("s0*s0", "s0*s0"),
        ("s0 - s0", "0"),
        ("s0 + s0", "2*s0"),
        ("-s0", "-s0"),
    ],
)
def test_parse_real_sources(text: str, printed: str) -> None:
    assert str(parse_size(text)) == printed


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "s27 s28",
        "2L*",
        "c10::div_floor_integer(static_cast<int64_t>(s27), static_cast<int64_t>(2L))",
        "std::max(static_cast<int64_t>(1L), static_cast<int64_t>(s27))",
        "(static_cast<int64_t>(s27) % static_cast<int64_t>(4L))",
        "(1.0/4.0)*arg4_1_size_0",
        "(-1L << 63)",
        "s27**2",
        "s27/2L",
        "s27 == 2L",
        "s27[0]",
        "f(s27)",
        "not s27",
        "lambda: 3",
        "3 if s27 else 4",
        "1.5",
        "2j",
        "'s27'",
        "...",
        "True",
        "None",
        "(s27, 3)",
        "s27; s28",
        "s27 // 2",
        "# s27",
        "\0",
        pytest.param("+".join(f"s{number}" for number in range(100_000)), id="a long sum"),
    ],
)
def test_parse_other_expressions(text: str) -> None:
    assert parse_size(text) is None


@settings(deadline=None)
@given(EXPRESSIONS)
def test_value_fuzz(expression: Expression) -> None:
    text, value = expression
    assert parsed(text).value(VALUES) == value


@settings(deadline=None)
@given(EXPRESSIONS)
def test_printed_size_parses_again(expression: Expression) -> None:
    size = parsed(expression[0])
    assert parse_size(str(size)) == size


@settings(deadline=None)
@given(EXPRESSIONS, EXPRESSIONS)
def test_product_fuzz(left: Expression, right: Expression) -> None:
    assert (parsed(left[0]) * parsed(right[0])).value(VALUES) == left[1] * right[1]


@settings(deadline=None)
@given(EXPRESSIONS)
def test_renamed_to_one_symbol(expression: Expression) -> None:
    size = parsed(expression[0])
    renamed = size.renamed({"s0": "s1", "u0": "s1"})
    assert renamed.symbols <= {"s1", "s27", "arg0_1_1"}
    assert renamed.value(VALUES) == size.value({**VALUES, "s0": 5, "u0": 5})
    assert parse_size(str(renamed)) == renamed


def parsed(text: str) -> Size:
    size = parse_size(text)
    assert size is not None
    return size


@pytest.mark.parametrize(
    ("size", "constant", "symbols"),
    [
        (size_of(3), 3, set()),
        (size_of(0), 0, set()),
        (dynamic_size("s1"), None, {"s1"}),
        (parse_size("2*s1*s2 + 3"), None, {"s1", "s2"}),
        (parse_size("s1 - s1 + 4"), 4, set()),
    ],
)
def test_constant_and_symbols(size: Size, constant: int | None, symbols: set[str]) -> None:
    assert size.constant == constant
    assert size.symbols == symbols


@pytest.mark.parametrize(
    ("solution", "size"),
    [
        # as torch 2.13 writes them
        ("(1.0/2.0)*known", "2*s0"),
        ("(-1L) + known", "s0 + 1"),
        ("(-1.0/2.0) + (1.0/2.0)*known", "2*s0 + 1"),
        ("(1.0/3.0)*known", "3*s0"),
        ("2L + known", "s0 - 2"),
        ("known", "s0"),
        # nothing that a size can be
        ("2L*known", None),
        ("5L - known", None),
        ("known*known", None),
        ("known*s1", None),
        ("1.0/known", None),
        ("known/0.0", None),
        ("3L", None),
        ("known +", None),
        ("max(known, 2L)", None),
        ("1e999*known", None),
        ("(" * 2000 + "known" + ")" * 2000, None),
    ],
)
def test_solved_size(solution: str, size: str | None) -> None:
    solved = solved_size(solution, "known", "s0")
    assert (None if solved is None else str(solved)) == size


@given(st.integers(1, 50), st.integers(-50, 50), st.integers(0, 1000))
def test_solved_size_gives_the_size_back(factor: int, offset: int, number: int) -> None:
    solved = solved_size(f"({-offset}.0/{factor}.0) + (1.0/{factor}.0)*known", "known", "s0")
    assert solved is not None
    assert solved.value({"s0": number}) == factor * number + offset
