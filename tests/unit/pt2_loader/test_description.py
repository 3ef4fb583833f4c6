"""A description says what the package says, less where its source is another, and never anything else."""

import json
import random
from collections.abc import Callable
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from triton_pytorch.contract.leaves import Leaf, shape_text
from triton_pytorch.model_config.errors import BackendError
from triton_pytorch.pt2_loader.archive import PackagedModel
from triton_pytorch.pt2_loader.description import BuiltFor, describe

KEPT = Path(__file__).resolve().parents[2] / "assets" / "wrappers"
MUTATED = ["bounded", "channels_last", "gaps", "identity", "plus_one", "relations", "transposed", "unused", "zero_dim"]
METADATA = {
    "AOTI_DEVICE_KEY": "cpu",
    "AOTI_PLATFORM": "linux",
    "AOTI_MACHINE": "x86_64",
    "AOTI_CPU_ISA": "AVX512 AVX512_VNNI AMX_TILE",
    "AOTI_COMPUTE_CAPABILITY": "",
}


def kept(name: str) -> str:
    return (KEPT / f"{name}.wrapper.cpp").read_text(encoding="utf-8")


def packaged(wrapper: str, kernels: str = "", metadata: str = json.dumps(METADATA)) -> PackagedModel:
    directory = PurePosixPath("p/data/aotinductor/model")
    return PackagedModel("model", "address", directory, ("model",), wrapper, metadata, (kernels,), 1000, None, False)


def described(name: str, change: Callable[[str], str] = str) -> list[Leaf]:
    """Return the inputs of a kept source after a change that must not go by unnoticed."""
    path = KEPT / f"{name}.kernel.cpp"
    wrapper = change(kept(name))
    assert change is str or wrapper != kept(name)
    kernels = path.read_text(encoding="utf-8") if path.exists() else ""
    return list(describe(packaged(wrapper, kernels)).inputs or ())


def replaced(old: str, new: str) -> Callable[[str], str]:
    return lambda source: source.replace(old, new)


def without_assertions(source: str) -> str:
    return source.replace("assert_size_stride", "assert_nothing")


def shrinking(source: str) -> str:
    """Make the second size two less than the first, as low as the exporter's assumption allows."""
    return source.replace("{1L + s97, }", "{(-2L) + s97, }").replace("(arg1_1_size[0] < 3)", "(arg1_1_size[0] < 0)")


def printed(leaf: Leaf) -> str:
    """Print a leaf with the bounds of its open dimensions: `float32 [s77 1.., 3]`, and its layout."""
    if leaf.shape is None:
        return f"{leaf.dtype} ?"
    shape = [
        str(each)
        if each.size.constant is not None
        else f"{each} {each.lower}..{'' if each.upper is None else each.upper}"
        for each in leaf.shape
    ]
    return f"{leaf.dtype} [{', '.join(shape)}]{'' if leaf.layout is None else f' {leaf.layout}'}"


@pytest.mark.parametrize(
    ("name", "inputs"),
    [
        ("attention", ["[s33 0.., s34 0.., 4]", *["[s33 0.., s25 1..4096, 4]"] * 2]),
        ("bounded", ["[4*s83 4..400]", "[s44 3..9, s20 0.., 3]"]),  # Dim(min=3) stands as written
        ("channels_last", ["[s77 0..15, 3, s53 3.., s0 4..] (0, 2, 3, 1)"]),
        ("first_view", ["[s77 1.., s27 0..]"]),
        ("folded", ["[s77 0.., 6]"]),
        ("identity", ["[s77 0.., s27 0..]"]),
        ("last", ["[s77 0.., s27 1..]"]),
        ("linear", ["[s77 0.., 6]"]),
        ("max_dim", ["[s77 0.., s27 1..]"]),
        ("mixed", ["[s77 0.., 6]", "[s17 0..4096]"]),  # torch's own bound, for a sum
        ("modulo", ["[s77 0.., s27 1..]"]),
        ("plus_one", ["[s97 0..1000]", "[s97 + 1 1..1001]"]),
        ("quotient", ["[s77 1..]", "[s17 1..]"]),  # a package that states no lower bounds
        ("rank7", ["[s77 0.., 2, s53 0.., 1, 3, 1, 2] (3, 5, 6, 4, 2, 1, 0)"]),
        ("relations", ["[s79 0..1000]", "[2*s79 0..2000]", "[s20 0..500, s79 0..1000]"]),
        ("scaled_expr", ["[s77 1..]", "[s17 1..]", "[s17 + s77 2..]"]),
        ("sum", ["[s77 0.., s27 0..4096]"]),
        ("transposed", ["[s77 0.., 4] (1, 0)"]),
        ("unused", ["[s17 0.., 3]", "[s44 0..1000, s20 0..500]", "[s17 0.., 3]"]),
        ("zero_dim", ["[s77 0..1000]", "[]"]),
        ("zero_size", ["[s77 0.., 3]", "[0, 3]"]),
    ],
)
def test_real_sources(name: str, inputs: list[str]) -> None:
    assert [printed(leaf) for leaf in described(name)] == [f"float32 {shape}" for shape in inputs]


def test_dtypes() -> None:
    leaves = {str(leaf): printed(leaf) for leaf in described("dtypes")}
    integers = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
    for name in ["bool", *integers, "float16", "bfloat16", "float32", "float64", "complex64"]:
        assert leaves[f"ARGS[0][{name}]"].startswith(f"{name} [s"), name


def test_a_whole_description() -> None:
    description = describe(packaged(kept("plus_one")))
    assert description.built_for == BuiltFor("cpu", "linux", "x86_64", ("AVX512", "AVX512_VNNI", "AMX_TILE"))
    assert [str(leaf) for leaf in description.inputs or ()] == ["ARGS[0]", "ARGS[1]"]
    assert [(str(leaf), leaf.dtype, leaf.shape) for leaf in description.outputs or ()] == [("RESULT", None, None)]
    assert (description.faults, description.warnings) == ((), ())


def test_without_kernels_no_size_is_zero() -> None:
    assert [printed(leaf) for leaf in describe(packaged(kept("linear"))).inputs or ()] == ["float32 [s77 1.., 6]"]


OTHERS = ["[s44 0..1000, s20 0..500]", "[s17 0.., 3]"]  # of "unused"
PLAIN = "[s97 0..1000]"  # of "plus_one"


@pytest.mark.parametrize(
    ("name", "change", "inputs"),
    [
        # what is said in two places must agree, or it is unknown
        ("unused", replaced("(3 != arg0_1_size[1])", "(4 != arg0_1_size[1])"), ["?", *OTHERS]),
        ("unused", replaced("arg0_1, {s17, 3L}", "arg0_1, {s17, 4L}"), ["?", *OTHERS]),
        ("unused", replaced("arg0_1, {s17, 3L}", "arg0_1, {s17, s9}"), ["?", *OTHERS]),
        ("unused", replaced("arg0_1, {s17, 3L}", "arg0_1, {2L, 3L}"), ["?", *OTHERS]),
        ("plus_one", replaced("arg1_1, {1L + s97, }", "arg1_1, {}"), [PLAIN, "?"]),
        ("plus_one", replaced("arg1_1, {1L + s97, }", "arg1_1, {1L + s97, 3L}"), [PLAIN, "?"]),
        ("plus_one", replaced("(arg1_1_size[0] > 1001)", "(arg1_1_size[2] > 1001)"), [PLAIN, "?"]),
        # bounds: what the exporter assumes is no bound, anything else is
        ("plus_one", replaced("(arg1_1_size[0] < 3)", "(arg1_1_size[0] < 4)"), [PLAIN, "[s97 + 1 4..1001]"]),
        ("plus_one", replaced("(arg1_1_size[0] < 3)", "(arg1_1_size[0] < 2)"), [PLAIN, "[s97 + 1 2..1001]"]),
        ("plus_one", replaced("(arg1_1_size[0] < 3)", "(arg1_1_size[0] < -9)"), [PLAIN, "[s97 + 1 0..1001]"]),
        ("plus_one", replaced("(arg1_1_size[0] > 1001)", f"(arg1_1_size[0] > {2**63 - 1})"), [PLAIN, "[s97 + 1 1..]"]),
        ("plus_one", replaced("{1L + s97, }", "{(-2L) + s97, }"), [PLAIN, "[s97 - 2 3..1001]"]),
        ("plus_one", shrinking, [PLAIN, "[s97 - 2 0..1001]"]),
        ("plus_one", replaced("{1L + s97, }", "{5L + (-1L)*s97, }"), [PLAIN, "[-s97 + 5 3..1001]"]),
        # a size that is no polynomial is open, and related to nothing
        ("plus_one", replaced("{1L + s97, }", "{std::max(1L, s97), }"), [PLAIN, "[arg1_1_0 3..1001]"]),
        # nothing but the checks
        ("plus_one", without_assertions, ["[s97 1..1000]", "[arg1_1_0 3..1001]"]),
        ("transposed", without_assertions, ["[s77 1.., 4] (1, 0)"]),
        ("channels_last", without_assertions, ["[s77 1..15, 3, s53 3.., s0 4..] (0, 2, 3, 1)"]),
        ("zero_dim", without_assertions, ["[s77 1..1000]", "[]"]),
        ("quotient", without_assertions, ["?", "?"]),
    ],
)
def test_other_sources(name: str, change: Callable[[str], str], inputs: list[str]) -> None:
    assert [printed(leaf) for leaf in described(name, change)] == [f"float32 {shape}" for shape in inputs]


def test_what_is_unknown_is_told_in_one_warning() -> None:
    source = kept("unused").replace("aoti_torch_dtype_float32();", "something_new();", 1)
    source = source.replace("(arg1_1_size[0] < 2)", "(arg1_1_size[0] is small)").replace("input_handles[2]);", "")
    description = describe(packaged(source))
    (warning,) = description.warnings
    assert warning == (
        "the package does not say the dtype of 'ARGS[0]', the shape of 'ARGS[1]', the dtype of 'ARGS[2]', "
        "the shape of 'ARGS[2]': the config is trusted there"
    )
    assert description.faults == ()


@pytest.mark.parametrize("change", ["in_spec_ =", "out_spec_ ="])
def test_a_source_without_call_spec_is_of_no_use(change: str) -> None:
    description = describe(packaged(kept("unused").replace(change, "something = ")))
    assert (description.inputs, description.outputs) == (None, None)
    assert description.warnings == ("the package holds no source that describes its inputs",)


@pytest.mark.parametrize(
    "change",
    [
        replaced("AOTInductorModelBase(3,", "AOTInductorModelBase(2,"),
        lambda source: source.replace("AOTInductorModelBase(", "Another(").replace("check_input_2(", "check_nothing("),
    ],
)
def test_a_runner_with_other_inputs_than_the_call_spec_is_not_described(change: Callable[[str], str]) -> None:
    assert [printed(leaf) for leaf in described("unused", change)] == ["None ?"] * 3


def test_inputs_that_are_not_dense_are_faults() -> None:
    description = describe(packaged(kept("gaps")))
    assert description.faults == tuple(
        f"input 'ARGS[{index}]' was exported with a tensor that is not dense in memory (strides {strides}): "
        "export with .contiguous() on it"
        for index, strides in enumerate(["8, 2", "0, 1"])
    )
    assert description.warnings == ()


@pytest.mark.parametrize(
    ("metadata", "built_for"),
    [
        ("", BuiltFor()),
        ("no JSON", BuiltFor()),
        ("[" * 100_000, BuiltFor()),
        ("[1]", BuiltFor()),
        ("{}", BuiltFor()),
        ('{"AOTI_DEVICE_KEY": 3, "AOTI_MACHINE": null, "AOTI_CPU_ISA": ["AVX2"]}', BuiltFor()),
        ('{"AOTI_DEVICE_KEY": "cuda", "AOTI_CPU_ISA": ""}', BuiltFor("cuda")),
        ('{"AOTI_PLATFORM": "win32", "AOTI_MACHINE": "AMD64"}', BuiltFor(None, "win32", "AMD64")),
    ],
)
def test_metadata(metadata: str, built_for: BuiltFor) -> None:
    assert describe(packaged(kept("linear"), metadata=metadata)).built_for == built_for


class TestMutations:
    """Lines deleted, doubled and swapped: less may be known of an input then, but nothing else."""

    @pytest.mark.parametrize("name", MUTATED)
    def test_a_line_less(self, name: str) -> None:
        lines = kept(name).splitlines(keepends=True)
        for number in range(len(lines)):
            check_mutation(name, [*lines[:number], *lines[number + 1 :]])

    @pytest.mark.parametrize("name", MUTATED)
    def test_a_line_twice(self, name: str) -> None:
        lines, dice = kept(name).splitlines(keepends=True), random.Random(name)
        for number, line in enumerate(lines):
            check_mutation(name, [*lines[:number], line, *lines[number:]])
            other = dice.randrange(len(lines))
            check_mutation(name, [*lines[:other], line, *lines[other:]])

    @pytest.mark.parametrize("name", MUTATED)
    def test_two_lines_swapped(self, name: str) -> None:
        lines, dice = kept(name).splitlines(keepends=True), random.Random(name)
        for number in range(len(lines)):
            swapped, other = list(lines), dice.randrange(len(lines))
            swapped[number], swapped[other] = swapped[other], swapped[number]
            check_mutation(name, swapped)

    @pytest.mark.parametrize("name", MUTATED)
    def test_statements_swapped(self, name: str) -> None:
        """The lines that are read, each with each: no statement may be taken for another input's."""
        lines = kept(name).splitlines(keepends=True)
        stated = [
            number for number, line in enumerate(lines) if "arg" in line or "check_input" in line or line == "}\n"
        ]
        dice = random.Random(name)
        for _ in range(300):
            swapped = list(lines)
            one, other = dice.sample(stated, 2)
            swapped[one], swapped[other] = swapped[other], swapped[one]
            check_mutation(name, swapped)

    @settings(deadline=None)
    @given(st.data())
    def test_anything_at_all_gets_one_of_our_errors_at_most(self, data: st.DataObject) -> None:
        source = kept(data.draw(st.sampled_from(MUTATED)))
        start = data.draw(st.integers(0, len(source)))
        end = data.draw(st.integers(start, min(len(source), start + 200)))
        inserted = data.draw(
            st.text(max_size=20) | st.sampled_from(["{", "}", "\n}", '"', ')"', 'R"(', "\0", "9" * 5000])
        )
        try_to_describe(source[:start] + inserted + source[end:])

    @settings(deadline=None)
    @given(st.text())
    def test_any_text_gets_one_of_our_errors_at_most(self, text: str) -> None:
        try_to_describe(text)
        try_to_describe(f'in_spec_ = R"({text})";\nout_spec_ = R"({text})";\n')


def try_to_describe(wrapper: str) -> list[Leaf] | None:
    """Describe a model of this source; None where it cannot be described at all."""
    try:
        return list(describe(packaged(wrapper, wrapper, wrapper)).inputs or ())
    except BackendError:
        return None


def check_mutation(name: str, lines: list[str]) -> None:
    """Hold the description of a changed source against that of the source it was made from."""
    for found, true in zip(try_to_describe("".join(lines)) or (), INPUTS[name], strict=False):
        assert str(found) == str(true)
        assert found.dtype in (None, true.dtype)
        if found.shape is not None and true.shape is not None:
            assert len(found.shape) == len(true.shape), shape_text(found.shape)
            assert [each.size.constant for each in found.shape] == [each.size.constant for each in true.shape]


INPUTS = {name: describe(packaged(kept(name))).inputs or () for name in MUTATED}
