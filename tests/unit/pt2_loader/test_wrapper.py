"""What the sources in packages of torch 2.13 say, and that what they do not say is unknown."""

import re
from pathlib import Path

import pytest

from triton_pytorch.contract.sizes import parse_size
from triton_pytorch.pt2_loader.wrapper import (
    AssertedInput,
    CheckedInput,
    RunnerCounts,
    read_asserted_inputs,
    read_checked_inputs,
    read_counts,
    read_size_names,
    read_solved_sizes,
    read_specs,
    read_unchecked_operators,
)

KEPT = Path(__file__).resolve().parents[2] / "assets" / "wrappers"
DTYPES = ["bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"]
DTYPES += ["float16", "bfloat16", "float32", "float64", "complex64"]
LEAF = '{"type": null, "context": null, "children_spec": []}'


def kept(name: str) -> str:
    return (KEPT / f"{name}.wrapper.cpp").read_text(encoding="utf-8")


def asserted(sizes: str, strides: str) -> AssertedInput:
    """Make what an assertion states; None for what is `?`."""
    lists = [[parse_size(text) for text in texts.split(", ") if text] for texts in (sizes, strides)]
    return AssertedInput(tuple(lists[0]), tuple(lists[1]))


def without(source: str, *patterns: str) -> str:
    """Return the source without the lines that match; fails where there are none."""
    for pattern in patterns:
        source, count = re.subn(rf"^.*{pattern}.*\n", "", source, flags=re.MULTILINE)
        assert count > 0, pattern
    return source


class TestCounts:
    @pytest.mark.parametrize(
        ("name", "counts"),
        [
            ("relations", RunnerCounts(3, 2, 0, are_weights_in_library=True)),
            ("dtypes", RunnerCounts(14, 14, 0, are_weights_in_library=True)),
            ("folded", RunnerCounts(1, 1, 3, are_weights_in_library=True)),
        ],
    )
    def test_real_sources(self, name: str, counts: RunnerCounts) -> None:
        assert read_counts(kept(name)) == counts

    def test_weights_beside_the_library(self) -> None:
        counts = read_counts(kept("linear").replace("           true) {", "           false) {"))
        assert counts == RunnerCounts(1, 1, 1, are_weights_in_library=False)

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            ("true) {", "maybe) {"),
            ("AOTInductorModelBase(3,", "AOTInductorModelBase(three,"),
            ("AOTInductorModelBase(3,", "AOTInductorModelBase(" + "3" * 5000 + ","),
            ("    : AOTInductorModelBase(", "    // : AOTInductorModelBase("),
            ("AOTInductorModelBase(3,", "AnotherBase(3,"),
        ],
    )
    def test_other_shapes_of_source(self, old: str, new: str) -> None:
        source = kept("relations")
        assert old in source
        assert read_counts(source.replace(old, new)) is None

    def test_two_counts(self) -> None:
        assert read_counts(kept("relations") + kept("relations")) == read_counts(kept("relations"))
        assert read_counts(kept("relations") + kept("linear")) is None


class TestSpecs:
    def test_real_source(self) -> None:
        one, two = LEAF, f"{LEAF}, {LEAF}"
        args = f'{{"type": "builtins.tuple", "context": "null", "children_spec": [{two}]}}'
        kwargs = '{"type": "builtins.dict", "context": "[]", "children_spec": []}'
        in_spec = f'[1, {{"type": "builtins.tuple", "context": "null", "children_spec": [{args}, {kwargs}]}}]'
        assert read_specs(kept("plus_one")) == (in_spec, f"[1, {one}]")

    @pytest.mark.parametrize("ending", ["\n", "\r\n"])
    @pytest.mark.parametrize("length", [1, 7, 16000])
    def test_long_specs(self, length: int, ending: str) -> None:
        """As `codegen_write_arg_with_large_length_string` writes what is longer than 16000 characters."""
        source = kept("plus_one")
        specs = read_specs(source)
        assert specs is not None
        parts = [f'R"({specs[0][start : start + length]})"\n' for start in range(0, len(specs[0]), length)]
        cut = source.replace(f'in_spec_ = R"({specs[0]})";', f"in_spec_ =\n    {'    '.join(parts)}    ;")
        assert read_specs(cut.replace("\n", ending)) == specs

    @pytest.mark.parametrize("key", [")", "x)", "check_input_0(", '\\")\\";', "out_spec_", "//", "/*"])
    def test_keys_that_look_like_code(self, key: str) -> None:
        source = kept("plus_one").replace('"context": "[]"', f'"context": "[\\"{key}\\"]"')
        specs = read_specs(source)
        assert specs is not None
        assert key in specs[0]
        assert read_checked_inputs(source) == read_checked_inputs(kept("plus_one"))

    @pytest.mark.parametrize("pattern", ["in_spec_ =", "out_spec_ ="])
    def test_missing_spec(self, pattern: str) -> None:
        assert read_specs(without(kept("plus_one"), pattern)) is None

    def test_two_specs(self) -> None:
        assert read_specs(kept("plus_one") + kept("relations")) is None


class TestCheckedInputs:
    def test_every_dtype(self) -> None:
        checked = read_checked_inputs(kept("dtypes"))
        assert [checked[index].dtype for index in range(len(DTYPES))] == DTYPES
        assert all(each.sizes == {1: 3} and each.lower == {0: 2} and each.rank == 2 for each in checked.values())

    @pytest.mark.parametrize(
        ("name", "index", "checked", "rank"),
        [
            ("zero_dim", 1, CheckedInput("arg1_1", "float32"), 0),
            ("relations", 1, CheckedInput("arg1_1", "float32", {}, {0: 1}, {0: 4}, {0: 2000}), 1),
            ("relations", 2, CheckedInput("arg2_1", "float32", {}, {1: 1}, {0: 2, 1: 2}, {0: 500, 1: 1000}), 2),
            ("plus_one", 1, CheckedInput("arg1_1", "float32", {}, {0: 1}, {0: 3}, {0: 1001}), 1),
            ("bounded", 1, CheckedInput("arg1_1", "float32", {2: 3}, {1: 3, 2: 1}, {0: 3, 1: 2}, {0: 9}), 3),
            (
                "channels_last",
                0,
                CheckedInput("arg2_1", "float32", {1: 3}, {1: 1, 3: 3}, {0: 2, 2: 3, 3: 4}, {0: 15}),
                4,
            ),
            ("gaps", 1, CheckedInput("arg1_1", "float32", {0: 4, 1: 4}, {0: 0, 1: 1}), 2),
            ("zero_size", 1, CheckedInput("arg1_1", "float32", {0: 0, 1: 3}, {0: 3, 1: 1}), 2),
            ("quotient", 0, CheckedInput("arg0_1", "float32", {}, {0: 1}), None),  # built with check_lowerbound off
        ],
    )
    def test_real_sources(self, name: str, index: int, checked: CheckedInput, rank: int | None) -> None:
        found = read_checked_inputs(kept(name))[index]
        assert (found, found.rank) == (checked, rank)

    @pytest.mark.parametrize("name", ["relations", "dtypes", "unused"])
    def test_line_endings(self, name: str) -> None:
        source = kept(name).replace("\n", "\r\n")
        assert read_checked_inputs(source) == read_checked_inputs(kept(name))
        assert read_asserted_inputs(source) == read_asserted_inputs(kept(name))
        assert read_specs(source) == read_specs(kept(name))
        assert read_counts(source) == read_counts(kept(name))

    def test_order_of_functions(self) -> None:
        before, *functions = kept("relations").split("AOTI_NOINLINE static void check_input_")
        assert len(functions) == 3
        last, _, after = functions[2].partition("\n}\n")
        shuffled = [last + "\n}\n\n", functions[0], functions[1] + after]
        source = "AOTI_NOINLINE static void check_input_".join([before, *shuffled])
        assert read_checked_inputs(source) == read_checked_inputs(kept("relations"))

    def test_handle_of_another_input(self) -> None:
        source = kept("relations").replace("ConstantHandle(input_handles[1])", "ConstantHandle(input_handles[2])")
        assert read_checked_inputs(source).keys() == {0, 2}

    @pytest.mark.parametrize(
        "pattern",
        [
            r"static void check_input_1\(",
            r"ConstantHandle arg1_1 = ",
            r"arg1_1_expected_device_type = 0;",
        ],
    )
    def test_half_a_function(self, pattern: str) -> None:
        assert read_checked_inputs(without(kept("relations"), pattern)).keys() == {0, 2}

    def test_function_without_end(self) -> None:
        source, _, _ = kept("relations").partition("    int32_t arg1_1_expected_device_type")
        assert read_checked_inputs(source).keys() == {0}

    def test_two_functions_for_one_input(self) -> None:
        twice = kept("unused") + kept("unused")
        assert read_checked_inputs(twice) == read_checked_inputs(kept("unused"))
        assert read_checked_inputs(twice.replace("(3 != arg0_1_size[1])", "(4 != arg0_1_size[1])", 1)).keys() == {1, 2}

    @pytest.mark.parametrize(
        ("pattern", "field", "value"),
        [
            ("int32_t arg1_1_expected_dtype = ", "dtype", None),
            (r"if \(3 != arg1_1_size\[2\]\)", "sizes", {}),
            (r"if \(3 != arg1_1_stride\[1\]\)", "strides", {2: 1}),
            (r"if \(arg1_1_size\[0\] < 3\)", "lower", {1: 2}),
            (r"if \(arg1_1_size\[0\] > 9\)", "upper", {}),
        ],
    )
    def test_missing_lines(self, pattern: str, field: str, value: object) -> None:
        whole = read_checked_inputs(kept("bounded"))[1]
        cut = read_checked_inputs(without(kept("bounded"), pattern))[1]
        assert getattr(cut, field) == value
        for other in {"name", "dtype", "sizes", "strides", "lower", "upper"} - {field}:
            assert getattr(cut, other) == getattr(whole, other)

    @pytest.mark.parametrize("pattern", [r"if \(3 != arg1_1_size\[2\]\)", r"if \(arg1_1_size\[0\] < 3\)"])
    def test_rank_unknown(self, pattern: str) -> None:
        assert read_checked_inputs(without(kept("bounded"), pattern))[1].rank is None

    @pytest.mark.parametrize(
        ("field", "line"),
        [
            ("sizes", "    if (4 != arg1_1_size[2]) {"),
            ("strides", "    if (4 != arg1_1_stride[2]) {"),
            ("lower", "    if (arg1_1_size[0] < 4) {"),
            ("upper", "    if (arg1_1_size[0] > 8) {"),
            ("dtype", "    int32_t arg1_1_expected_dtype = aoti_torch_dtype_float64();"),
        ],
    )
    def test_contradicting_lines(self, field: str, line: str) -> None:
        source = kept("bounded").replace("    auto arg1_1_stride = ", f"{line}\n    auto arg1_1_stride = ")
        known, changed = read_checked_inputs(kept("bounded"))[1], read_checked_inputs(source)[1]
        assert getattr(known, field) != getattr(changed, field)
        assert not getattr(changed, field) or getattr(changed, field).items() < getattr(known, field).items()

    @pytest.mark.parametrize(
        "line",
        ["    if (arg1_1_size[2] < 2) {", "    if (arg1_1_size[2] > 9) {", "    if (4 != arg1_1_size[4]) {"],
    )
    def test_rank_contradicted(self, line: str) -> None:
        source = kept("bounded").replace("    auto arg1_1_stride = ", f"{line}\n    auto arg1_1_stride = ")
        assert read_checked_inputs(source)[1].rank is None

    @pytest.mark.parametrize(
        "line",
        [
            "    // if (4 != arg1_1_size[2]) {",
            '    const char* text = "if (4 != arg1_1_size[2]) {";',
            "    if (4 != arg0_1_size[2]) {",
            "    if (4 == arg1_1_size[2]) {",
            "    if (" + "4" * 5000 + " != arg1_1_size[2]) {",
            "    if (4 != arg1_1_size[" + "2" * 5000 + "]) {",
            "    if (s27 != arg1_1_size[2]) {",
        ],
    )
    def test_other_lines(self, line: str) -> None:
        source = kept("bounded").replace("    auto arg1_1_stride = ", f"{line}\n    auto arg1_1_stride = ")
        assert line in source
        assert read_checked_inputs(source) == read_checked_inputs(kept("bounded"))


class TestAssertedInputs:
    @pytest.mark.parametrize(
        ("name", "inputs"),
        [
            (
                "relations",
                {
                    "arg0_1": asserted("s79", "1"),
                    "arg1_1": asserted("2*s79", "1"),
                    "arg2_1": asserted("s20, s79", "s79, 1"),
                },
            ),
            ("zero_dim", {"arg0_1": asserted("s77", "1"), "arg1_1": asserted("", "")}),
            ("unused", {"arg0_1": asserted("s17, 3", "3, 1"), "arg2_1": asserted("s17, 3", "3, 1")}),
            ("channels_last", {"arg2_1": asserted("s77, 3, s53, s0", "3*s0*s53, 1, 3*s0, 3")}),
            (
                "scaled_expr",
                {"arg0_1": asserted("s77", "1"), "arg1_1": asserted("s17", "1"), "arg2_1": asserted("s17 + s77", "1")},
            ),
            ("plus_one", {"arg0_1": asserted("s97", "1"), "arg1_1": asserted("s97 + 1", "1")}),
            ("gaps", {"arg0_1": asserted("4, 4", "8, 2"), "arg1_1": asserted("4, 4", "0, 1")}),
            ("zero_size", {"arg0_1": asserted("s77, 3", "3, 1")}),
            ("identity", {}),
        ],
    )
    def test_real_sources(self, name: str, inputs: dict[str, AssertedInput]) -> None:
        assert read_asserted_inputs(kept(name)) == inputs

    def test_aliases(self) -> None:
        source = kept("relations").replace("arg2_1, {s20, s79}, {s79, 1L}", "arg2_1, {s20, s97}, {s97, 1L}")
        assert source != kept("relations")
        assert read_asserted_inputs(source) == read_asserted_inputs(kept("relations"))

    def test_not_polynomials(self) -> None:
        half = "c10::div_floor_integer(static_cast<int64_t>(s79), static_cast<int64_t>(2L))"
        most = "std::max<int64_t>({1L, s79, s20})"
        source = kept("relations").replace("arg2_1, {s20, s79}", f"arg2_1, {{{half}, {most}}}")
        assert read_asserted_inputs(source)["arg2_1"] == AssertedInput(
            (None, None), (parse_size("s79"), parse_size("1"))
        )

    def test_two_assertions(self) -> None:
        source = kept("unused")
        assert read_asserted_inputs(source + source) == read_asserted_inputs(source)
        changed = source.replace("arg0_1, {s17, 3L}", "arg0_1, {s17, 4L}")
        assert read_asserted_inputs(source + changed).keys() == {"arg2_1"}

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            ('"input")', '"output")'),
            ("}, {", "}; {"),
            ("if (_check_aoti_runtime_check_inputs_env()) { assert", "// if (true) { assert"),
            ("if (_check_aoti_runtime_check_inputs_env()) { assert", 'text = "assert'),
            ("assert_size_stride(", "assert_size_and_stride("),
        ],
    )
    def test_other_shapes_of_source(self, old: str, new: str) -> None:
        assert old in kept("unused")
        assert read_asserted_inputs(kept("unused").replace(old, new)) == {}


class TestSizeNames:
    def test_real_sources(self) -> None:
        assert read_size_names(kept("unused")) == {("arg0_1", 0): "s17", ("arg1_1", 0): "s44", ("arg1_1", 1): "s20"}
        assert read_size_names(kept("bounded")) == {
            ("arg0_1", 0): "arg0_1_size_0",
            ("arg1_1", 0): "s44",
            ("arg1_1", 1): "s20",
        }


class TestSolvedSizes:
    def test_real_sources(self) -> None:
        assert {key: str(size) for key, size in read_solved_sizes(kept("solved")).items()} == {
            ("arg0_1", 1): "s69 + 1",
            ("arg1_1", 1): "2*s44 + 1",
            ("arg2_1", 1): "3*s83",
        }
        assert read_solved_sizes(kept("relations")) == {}

    @pytest.mark.parametrize(
        "solution", ["(1.0/2.0)*s17*arg1_1_size_1", "(2.0)*arg1_1_size_1", "-arg1_1_size_1", "arg1_1_size_1 +", "1L"]
    )
    def test_other_solutions(self, solution: str) -> None:
        source = kept("solved").replace("(-1.0/2.0) + (1.0/2.0)*arg1_1_size_1", solution)
        assert source != kept("solved")
        assert read_solved_sizes(source).keys() == {("arg0_1", 1), ("arg2_1", 1)}


class TestUncheckedOperators:
    @pytest.mark.parametrize(
        ("name", "operators"),
        [("scatter_reduce", ("scatter_reduce",)), ("index_put", ("index_put",)), ("gaps", ()), ("linear", ())],
    )
    def test_real_sources(self, name: str, operators: tuple[str, ...]) -> None:
        assert read_unchecked_operators(kept(name)) == operators

    @pytest.mark.parametrize(
        ("call", "operator"),
        [
            ("aoti_torch_cpu_scatter_src_out(buf0, buf0,1,arg1_1,arg2_1);", "scatter"),
            ("aoti_torch_cpu_scatter_value_out(buf0, buf0,1,arg1_1,2.0);", "scatter"),
            ('aoti_torch_cuda_scatter_reduce_out(buf0, buf0,1,arg1_1,arg2_1, "sum");', "scatter"),
            ('aoti_torch_cpu_scatter_value_reduce_out(buf0, buf0,1,arg1_1,2.0, "sum");', "scatter"),
            ('aoti_torch_cuda_scatter_reduce_two_out(buf0, buf0,1,arg1_1,arg2_1, "sum",1);', "scatter_reduce"),
            ("aoti_torch_index_put_out(buf0, buf0, {arg1_1}, 1, arg2_1, 1);", "index_put"),
            ("aoti_torch_cpu_searchsorted_Tensor(arg0_1, arg1_1, &buf0_handle);", "searchsorted_Tensor"),
        ],
    )
    def test_names(self, call: str, operator: str) -> None:
        assert read_unchecked_operators(f"    {call}\n        {call}\n") == (operator,)

    @pytest.mark.parametrize(
        "call",
        [
            "AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_cpu_scatter_reduce_two_out(buf0, buf0,1,arg1_1));",
            "aoti_torch_clone(constant0, &output_handles[0]);",
            "aoti_torch_clone_preserve_strides(arg0_1, &arg0_1_aligned);",
            "aoti_torch_grad_mode_set_enabled(false);",
            "aoti_torch_get_dtype(arg0_1, &arg0_1_dtype);",
            "aoti_torch_int64_to_ivalue(0, &tmp_arg);",
            "auto device = aoti_torch_device_type_cpu();",
            "// aoti_torch_index_put_out(buf0, buf0);",
        ],
    )
    def test_harmless_calls(self, call: str) -> None:
        assert read_unchecked_operators(f"    {call}\n") == ()
