"""The inputs of a package are what its source says, less where the source is another, and never anything else."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from triton_pytorch.contract.leaves import Leaf, shape_text
from triton_pytorch.io_naming.call_spec import read_call_spec
from triton_pytorch.model_config.errors import BackendError
from triton_pytorch.pt2_loader.leaves import InputLeaves, read_input_leaves
from triton_pytorch.pt2_loader.wrapper import read_counts, read_specs

KEPT = Path(__file__).resolve().parents[2] / "assets" / "wrappers"
MUTATED = ["bounded", "channels_last", "gaps", "glu", "plus_one", "relations", "solved", "unused"]


def kept(name: str) -> str:
    return (KEPT / f"{name}.wrapper.cpp").read_text(encoding="utf-8")


def read(wrapper: str) -> InputLeaves:
    """Read the inputs of a source; none where it has no call spec."""
    specs = read_specs(wrapper)
    names = read_call_spec(*specs).inputs if specs is not None else ()
    return read_input_leaves(wrapper, names, read_counts(wrapper))


def changed(name: str, change: Callable[[str], str]) -> tuple[Leaf, ...]:
    """Return the inputs of a kept source after a change that must not go by unnoticed."""
    wrapper = change(kept(name))
    assert change is str or wrapper != kept(name)
    return read(wrapper).leaves


def replaced(old: str, new: str) -> Callable[[str], str]:
    return lambda source: source.replace(old, new)


def without_assertions(source: str) -> str:
    return source.replace("assert_size_stride", "assert_nothing")


def shrinking(source: str) -> str:
    """Make the second size two less than the first, as low as the exporter's assumption allows."""
    return source.replace("{1L + s97, }", "{(-2L) + s97, }").replace("(arg1_1_size[0] < 3)", "(arg1_1_size[0] < 0)")


def printed(leaf: Leaf) -> str:
    """Print a leaf with the bounds of its dynamic dimensions: `float32 [s77 0|1.., 3]`, and its layout.

    Before the bar is the lower bound where ALLOW_EMPTY_INPUTS is set, if it is another.
    """
    if leaf.shape is None:
        return f"{leaf.dtype} ?"
    shape = []
    for each in leaf.shape:
        empty = f"{each.lower_if_empty}|" if each.may_be_empty else ""
        bounds = f" {empty}{each.lower}..{'' if each.upper is None else each.upper}"
        shape.append(f"{each}{'' if each.size.constant is not None else bounds}")
    return f"{leaf.dtype} [{', '.join(shape)}]{'' if leaf.layout is None else f' {leaf.layout}'}"


@pytest.mark.parametrize(
    ("name", "inputs"),
    [
        ("bounded", ["[4*s83 0|4..400]", "[s44 3..9, s20 0|1.., 3]"]),  # Dim(min=3) is kept
        ("channels_last", ["[s77 0|1..15, 3, s53 3.., s0 4..] (0, 2, 3, 1)"]),
        ("folded", ["[s77 0|1.., 6]"]),
        ("glu", ["[s77 0|1.., 8]"]),  # exported as any even width
        ("identity", ["[s77 0|1.., s27 0|1..]"]),
        ("linear", ["[s77 0|1.., 6]"]),
        ("plus_one", ["[s97 0|1..1000]", "[s97 + 1 1|2..1001]"]),
        ("quotient", ["[s77 0|1..]", "[s17 0|1..]"]),  # a package that states no lower bounds
        ("rank7", ["[s77 0|1.., 2, s53 0|1.., 1, 3, 1, 2] (3, 5, 6, 4, 2, 1, 0)"]),
        ("relations", ["[s79 0|1..1000]", "[2*s79 0|2..2000]", "[s20 0|1..500, s79 0|1..1000]"]),
        ("scaled_expr", ["[s77 0|1..]", "[s17 0|1..]", "[s17 + s77 0|2..]"]),
        # read through views alone, the last one by a kernel
        (
            "solved",
            ["[s17 0|1.., s69 + 1 1|2..1001]", "[arg1_1_0 0|1.., 2*s44 + 1 1|3..1001]", "[s17 0|1.., 3*s83 0|3..300]"],
        ),
        ("sum", ["[s77 0|1.., s27 0|1..4096]"]),  # torch's own bound, for a sum
        ("transposed", ["[s77 0|1.., 4] (1, 0)"]),
        ("two_at_most", ["[s77 0|1..2, 4]", "[s17 0|1..2, 3]"]),
        ("unused", ["[s17 0|1.., 3]", "[s44 0|1..1000, s20 0|1..500]", "[s17 0|1.., 3]"]),
        ("zero_dim", ["[s77 0|1..1000]", "[]"]),
        ("zero_size", ["[s77 0|1.., 3]", "[0, 3]"]),
    ],
)
def test_real_sources(name: str, inputs: list[str]) -> None:
    found = read(kept(name))
    assert [printed(leaf) for leaf in found.leaves] == [f"float32 {shape}" for shape in inputs]
    assert (found.errors, found.unknown) == ((), ())


def test_dtypes() -> None:
    leaves = {str(leaf): printed(leaf) for leaf in read(kept("dtypes")).leaves}
    integers = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
    for name in ["bool", *integers, "float16", "bfloat16", "float32", "float64", "complex64"]:
        assert leaves[f"ARGS[0][{name}]"].startswith(f"{name} [s"), name


OTHERS = ["[s44 0|1..1000, s20 0|1..500]", "[s17 0|1.., 3]"]  # of "unused"
UNKNOWN_WIDTH = "[s17 0|1.., arg0_1_1 0|1..]"
PLAIN = "[s97 0|1..1000]"  # of "plus_one"


@pytest.mark.parametrize(
    ("name", "change", "inputs"),
    [
        # a size of which two places say different things is unknown, the others stay
        ("unused", replaced("(3 != arg0_1_size[1])", "(4 != arg0_1_size[1])"), [UNKNOWN_WIDTH, *OTHERS]),
        ("unused", replaced("arg0_1, {s17, 3L}", "arg0_1, {s17, 4L}"), [UNKNOWN_WIDTH, *OTHERS]),
        ("unused", replaced("arg0_1, {s17, 3L}", "arg0_1, {s17, s9}"), [UNKNOWN_WIDTH, *OTHERS]),
        ("unused", replaced("arg0_1, {s17, 3L}", "arg0_1, {1L, 3L}"), ["[arg0_1_0 0|1.., 3]", *OTHERS]),
        ("glu", replaced("{s77, 8L}", "{s77, 9L}"), ["[s77 0|1.., arg0_1_1 0|1..]"]),
        ("two_at_most", replaced("{s77, 4L}", "{3L, 4L}"), ["[arg0_1_0 0|1.., 4]", "[s17 0|1..2, 3]"]),
        # what a lowering has fixed is a number in the assertion, within the bounds
        ("unused", replaced("arg0_1, {s17, 3L}", "arg0_1, {2L, 3L}"), ["[2, 3]", *OTHERS]),
        ("two_at_most", replaced("{s77, 4L}", "{2L, 4L}"), ["[2, 4]", "[s17 0|1..2, 3]"]),
        ("glu", without_assertions, ["[s77 0|1.., 8]"]),
        ("two_at_most", without_assertions, ["[s77 0|1..2, 4]", "[s17 0|1..2, 3]"]),
        # the number of dimensions is unknown only where the places disagree about it
        ("plus_one", replaced("arg1_1, {1L + s97, }", "arg1_1, {}"), [PLAIN, "?"]),
        ("plus_one", replaced("arg1_1, {1L + s97, }", "arg1_1, {1L + s97, 3L}"), [PLAIN, "?"]),
        ("plus_one", replaced("(arg1_1_size[0] > 1001)", "(arg1_1_size[2] > 1001)"), [PLAIN, "?"]),
        # bounds: what the exporter assumes is not one, anything else is
        ("plus_one", replaced("(arg1_1_size[0] < 3)", "(arg1_1_size[0] < 4)"), [PLAIN, "[s97 + 1 4..1001]"]),
        ("plus_one", replaced("(arg1_1_size[0] < 3)", "(arg1_1_size[0] < 2)"), [PLAIN, "[s97 + 1 2..1001]"]),
        ("plus_one", replaced("(arg1_1_size[0] < 3)", "(arg1_1_size[0] < -9)"), [PLAIN, "[s97 + 1 0..1001]"]),
        (
            "plus_one",
            replaced("(arg1_1_size[0] > 1001)", f"(arg1_1_size[0] > {2**63 - 1})"),
            [PLAIN, "[s97 + 1 1|2..]"],
        ),
        ("plus_one", replaced("{1L + s97, }", "{(-2L) + s97, }"), [PLAIN, "[s97 - 2 3..1001]"]),
        ("plus_one", shrinking, [PLAIN, "[s97 - 2 0|0..1001]"]),
        ("plus_one", replaced("{1L + s97, }", "{5L + (-1L)*s97, }"), [PLAIN, "[-s97 + 5 3..1001]"]),
        # a size that is not a polynomial is dynamic, and related to nothing
        ("plus_one", replaced("{1L + s97, }", "{std::max(1L, s97), }"), [PLAIN, "[arg1_1_0 3..1001]"]),
        # nothing but the checks
        ("plus_one", without_assertions, ["[s97 0|1..1000]", "[arg1_1_0 3..1001]"]),
        ("transposed", without_assertions, ["[s77 0|1.., 4] (1, 0)"]),
        ("channels_last", without_assertions, ["[s77 0|1..15, 3, s53 3.., s0 4..] (0, 2, 3, 1)"]),
        ("zero_dim", without_assertions, ["[s77 0|1..1000]", "[]"]),
        ("quotient", without_assertions, ["?", "?"]),
    ],
)
def test_changed_sources(name: str, change: Callable[[str], str], inputs: list[str]) -> None:
    assert [printed(leaf) for leaf in changed(name, change)] == [f"float32 {shape}" for shape in inputs]


def test_unknown_fields() -> None:
    source = kept("unused").replace("aoti_torch_dtype_float32();", "something_new();", 1)
    source = source.replace("(arg1_1_size[0] < 2)", "(arg1_1_size[0] is small)").replace("input_handles[2]);", "")
    found = read(source)
    assert found.unknown == (
        "the dtype of 'ARGS[0]'",
        "the shape of 'ARGS[1]'",
        "the dtype of 'ARGS[2]'",
        "the shape of 'ARGS[2]'",
    )
    assert found.errors == ()


def test_contradicted_size() -> None:
    found = read(kept("unused").replace("arg0_1, {s17, 3L}, {3L, 1L}", "arg0_1, {s17, 4L}, {4L, 1L}"))
    assert (found.errors, found.unknown) == ((), ("the size of dimension 1 of 'ARGS[0]'",))


@pytest.mark.parametrize(
    "change",
    [
        replaced("AOTInductorModelBase(3,", "AOTInductorModelBase(2,"),
        lambda source: source.replace("AOTInductorModelBase(", "Another(").replace("check_input_2(", "check_nothing("),
    ],
)
def test_other_counts_than_the_call_spec(change: Callable[[str], str]) -> None:
    assert [printed(leaf) for leaf in changed("unused", change)] == ["None ?"] * 3


def test_not_dense() -> None:
    found = read(kept("gaps"))
    assert found.errors == tuple(
        f"input 'ARGS[{index}]' was exported with a tensor that is not dense in memory (strides {strides}): "
        "export with .contiguous() on it"
        for index, strides in enumerate(["8, 2", "0, 1"])
    )
    assert found.unknown == ()


class TestMutations:
    """Lines deleted, doubled and swapped: less may be known of an input then, but nothing else."""

    @pytest.mark.parametrize("name", MUTATED)
    def test_line_less_and_line_twice(self, name: str) -> None:
        lines, dice = kept(name).splitlines(keepends=True), random.Random(name)
        for number, line in enumerate(lines):
            check_mutation(name, [*lines[:number], *lines[number + 1 :]])
            other = dice.randrange(len(lines))
            check_mutation(name, [*lines[:other], line, *lines[other:]])

    @pytest.mark.parametrize("name", MUTATED)
    def test_statements_swapped(self, name: str) -> None:
        """The lines that are read, with each other: no statement may be taken for another input's."""
        lines = kept(name).splitlines(keepends=True)
        stated = [
            number for number, line in enumerate(lines) if "arg" in line or "check_input" in line or line == "}\n"
        ]
        dice = random.Random(name)
        for _ in range(200):
            swapped = list(lines)
            one, other = dice.sample(stated, 2)
            swapped[one], swapped[other] = swapped[other], swapped[one]
            check_mutation(name, swapped)

    @settings(deadline=None)
    @given(st.data())
    def test_fuzz_insertions(self, data: st.DataObject) -> None:
        source = kept(data.draw(st.sampled_from(MUTATED)))
        start = data.draw(st.integers(0, len(source)))
        end = data.draw(st.integers(start, min(len(source), start + 200)))
        inserted = data.draw(
            st.text(max_size=20) | st.sampled_from(["{", "}", "\n}", '"', ')"', 'R"(', "\0", "9" * 5000])
        )
        try_to_read(source[:start] + inserted + source[end:])

    @settings(deadline=None)
    @given(st.text())
    def test_fuzz_any_text(self, text: str) -> None:
        try_to_read(text)
        try_to_read(f'in_spec_ = R"({text})";\nout_spec_ = R"({text})";\n')


def try_to_read(wrapper: str) -> tuple[Leaf, ...]:
    """Read the inputs of a source; none where it is refused."""
    try:
        return read(wrapper).leaves
    except BackendError:
        return ()


def check_mutation(name: str, lines: list[str]) -> None:
    """Compare what a changed source says with what the one says that it was made from."""
    for found, true in zip(try_to_read("".join(lines)), INPUTS[name], strict=False):
        assert str(found) == str(true)
        assert found.dtype in (None, true.dtype)
        if found.shape is not None and true.shape is not None:
            assert len(found.shape) == len(true.shape), shape_text(found.shape)
            for size, true_size in zip(found.shape, true.shape, strict=True):
                assert size.size.constant in (None, true_size.size.constant)


INPUTS = {name: read(kept(name)).leaves for name in MUTATED}
