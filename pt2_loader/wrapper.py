"""What the C++ source beside a compiled library says of its model, read as text and without torch.

AOTInductor keeps the generated `*.wrapper.cpp` in the package. Its shape belongs to a torch release (this is 2.13's):
what is not found in it is unknown, and so is what it says twice and differently.

    inputs_info_[0].name = "arg0_1";                          each input's name in the source
    in_spec_ = R"([1, {...}])"; out_spec_ = ...               the call spec; a long one is cut into several R"(...)"
    AOTInductorModelBase(2, 1, 0, ..., true) {                inputs, outputs, constants, weights in the library
    static void check_input_0(...) {                          dtype, sizes, bounds and some strides of each input:
        int32_t arg0_1_expected_dtype = aoti_torch_dtype_float32();
        if (3 != arg0_1_size[1]) {                                a fixed size
        if (arg0_1_size[0] < 2) {  if (arg0_1_size[0] > 64) {     the bounds of a dynamic one
        if (1 != arg0_1_stride[1]) {
    int64_t s27 = arg0_1_size[0];  int64_t s9 = s27;          names of dynamic sizes, and which are the same
    int64_t s44 = (1.0/2.0)*arg0_1_size_1;                    a name that is worked out of a size, which is 2*s44 then
    assert_size_stride(arg0_1, {s27, 3L}, {3L, 1L}, "input")  sizes and strides with their relations; absent for
                                                              inputs that the model does not read
    aoti_torch_cpu_scatter_reduce_two_out(buf0, ...);         a call without AOTI_TORCH_ERROR_CODE_CHECK(...) around it

Every statement is at the beginning of a line, and is looked for only there: the names of weights, the keys of
the call spec and comments can hold any text, but no line of their own.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from triton_pytorch.contract.sizes import Size, parse_size, solved_size

# Numbers are read up to 19 digits, as many as an int64 has: Python refuses to convert very long ones.
_COUNTS = re.compile(
    r"^\s*: AOTInductorModelBase\(\s*(?P<inputs>\d{1,9}),\s*(?P<outputs>\d{1,9}),\s*(?P<constants>\d{1,9}),"
    r"[^{]*?\b(?P<weights_in_library>true|false)\s*\)\s*\{",
    re.MULTILINE,
)
_SPEC = r'^\s*{}_spec_ =\s*((?:R"\(.*\)"\s*)+);'
_SPEC_PART = re.compile(r'R"\((.*)\)"')
_CHECK = re.compile(r"^(?:AOTI_NOINLINE )?static void check_input_(\d{1,9})\(", re.MULTILINE)
_HANDLE = re.compile(
    r"^\s*ConstantHandle (?P<name>\w+) = ConstantHandle\(input_handles\[(?P<index>\d{1,9})\]\);", re.MULTILINE
)
_TYPE = r"bool|bfloat16|u?int(?:8|16|32|64)|float(?:16|32|64|8_\w+)|complex(?:32|64|128)"
_DTYPE = re.compile(
    r"^\s*int32_t (?P<name>\w+)_expected_dtype = aoti_torch_dtype_(?P<dtype>" + _TYPE + r")\(\);", re.MULTILINE
)
_FIXED = re.compile(
    r"^\s*if \((?P<number>\d{1,19})L? != (?P<name>\w+)_(?P<what>size|stride)\[(?P<dimension>\d{1,2})\]\)", re.MULTILINE
)
_BOUND = re.compile(
    r"^\s*if \((?P<name>\w+)_size\[(?P<dimension>\d{1,2})\] (?P<what>[<>]) (?P<number>-?\d{1,19})L?\)", re.MULTILINE
)
_ASSERTED = re.compile(
    r"^\s*(?:if \(\w+\(\)\) \{ )?assert_size_stride\((?P<name>\w+), \{(?P<lists>[^\"\n]*)\}, \"input\"\);", re.MULTILINE
)
_NAMED_SIZE = re.compile(r"^\s*int64_t (?P<symbol>\w+) = (?P<name>\w+)_size\[(?P<dimension>\d{1,2})\];", re.MULTILINE)
# `aoti_torch_[<device>_]<operator>[_<overload>]_out(` as a statement: what it returns is dropped. Getters, the grad
# mode, copies and handles are bare too, but no request can make them fail.
_UNCHECKED = re.compile(
    r"^\s*aoti_torch_(?!grad_mode_|get_|dtype_|device_type_|layout_|clone|delete_|new_tensor_handle|\w+_to_ivalue)"
    r"(?:(?:cpu|cuda|xpu)_)?(?P<operator>\w+?)(?:(?:_two|_src|_value|_value_reduce|_reduce)?_out)?\(",
    re.MULTILINE,
)
_SOLVED_SIZE = re.compile(
    r"^\s*int64_t (?P<symbol>[a-z]+\d+) = (?P<solution>[^;\n]*?\b(?P<name>\w+)_size_(?P<dimension>\d{1,2})\b[^;\n]*);",
    re.MULTILINE,
)
_SAME_SIZE = re.compile(r"^\s*int64_t (?P<alias>[a-z]+\d+) = (?P<symbol>[a-z]+\d+);", re.MULTILINE)

Key = TypeVar("Key")
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class RunnerCounts:
    """What the compiled model takes and returns, and whether its library holds its weights."""

    inputs: int
    outputs: int
    constants: int
    are_weights_in_library: bool


@dataclass(frozen=True, slots=True)
class CheckedInput:
    """What `check_input_N` states of an input, by dimension."""

    name: str
    dtype: str | None = None
    sizes: dict[int, int] = field(default_factory=dict)
    strides: dict[int, int] = field(default_factory=dict)
    lower: dict[int, int] = field(default_factory=dict)
    upper: dict[int, int] = field(default_factory=dict)

    @property
    def dimensions(self) -> frozenset[int]:
        """The dimensions that something is said of."""
        return frozenset().union(self.sizes, self.strides, self.lower, self.upper)

    @property
    def rank(self) -> int | None:
        """The number of dimensions; None where it cannot be told.

        Each dimension has a fixed size or bounds. A builder can leave the lower bounds out; then it is a stride that
        shows a dynamic dimension, since the innermost one's is a number.
        """
        dynamic = self.lower.keys() | self.upper.keys()
        sized = self.sizes.keys() | self.lower.keys()
        if self.sizes.keys() & dynamic or not sized == self.dimensions == set(range(len(sized))):
            return None
        return len(sized)

    def allows(self, dimension: int, size: int) -> bool:
        """Whether a dimension may have this size."""
        lower, upper = self.lower.get(dimension, size), self.upper.get(dimension, size)
        return lower <= size <= upper and self.sizes.get(dimension, size) == size


@dataclass(frozen=True, slots=True)
class AssertedInput:
    """What `assert_size_stride` states of an input; None for sizes and strides that are not polynomials."""

    sizes: tuple[Size | None, ...]
    strides: tuple[Size | None, ...]


def read_counts(source: str) -> RunnerCounts | None:
    """Return the counts, or None where the source does not say."""
    return _only(
        RunnerCounts(
            inputs=int(match["inputs"]),
            outputs=int(match["outputs"]),
            constants=int(match["constants"]),
            are_weights_in_library=match["weights_in_library"] == "true",
        )
        for match in _COUNTS.finditer(source)
    )


def read_specs(source: str) -> tuple[str, str] | None:
    """Return the input and the output spec as torch's pytree JSON, or None where they are not there."""
    in_spec, out_spec = (_only(_spec_texts(source, direction)) for direction in ("in", "out"))
    return (in_spec, out_spec) if in_spec is not None and out_spec is not None else None


def _spec_texts(source: str, direction: str) -> Iterator[str]:
    for match in re.finditer(_SPEC.format(direction), source, re.MULTILINE):
        yield "".join(_SPEC_PART.findall(match[1]))


def read_checked_inputs(source: str) -> dict[int, CheckedInput]:
    """Return what the check functions state, by the position of the input."""
    _, *parts = _CHECK.split(source)
    functions = zip(map(int, parts[::2]), parts[1::2], strict=True)
    checked = ((index, _checked_input(index, text)) for index, text in functions)
    return {index: agreed for index, agreed in _agreed(checked).items() if agreed is not None}


def _checked_input(index: int, text: str) -> CheckedInput | None:
    body, end, _ = text.partition("\n}")
    handle = _HANDLE.search(body)
    if not end or handle is None or int(handle["index"]) != index:
        return None
    if f"{handle['name']}_expected_device_type = " not in body:  # the last check: without it, the end is missing
        return None

    def own(pattern: re.Pattern[str]) -> list[re.Match[str]]:
        return [match for match in pattern.finditer(body) if match["name"] == handle["name"]]

    def numbers(pattern: re.Pattern[str], what: str) -> dict[int, int]:
        return _agreed(
            (int(match["dimension"]), int(match["number"])) for match in own(pattern) if match["what"] == what
        )

    return CheckedInput(
        handle["name"],
        dtype=_only(match["dtype"] for match in own(_DTYPE)),
        sizes=numbers(_FIXED, "size"),
        strides=numbers(_FIXED, "stride"),
        lower=numbers(_BOUND, "<"),
        upper=numbers(_BOUND, ">"),
    )


def read_asserted_inputs(source: str) -> dict[str, AssertedInput]:
    """Return what the assertions state, by the name of the input in the source."""
    aliases = _aliases(source)
    stated = ((match["name"], _asserted_input(match["lists"], aliases)) for match in _ASSERTED.finditer(source))
    return {name: asserted for name, asserted in _agreed(stated).items() if asserted is not None}


def _asserted_input(lists: str, aliases: dict[str, str]) -> AssertedInput | None:
    match lists.split("}, {"):
        case [sizes, strides]:
            return AssertedInput(_sizes(sizes, aliases), _sizes(strides, aliases))
    return None


def read_size_names(source: str) -> dict[tuple[str, int], str]:
    """Return the name of a dynamic size by the input's name in the source and the dimension."""
    return _agreed(
        ((match["name"], int(match["dimension"])), match["symbol"]) for match in _NAMED_SIZE.finditer(source)
    )


def read_solved_sizes(source: str) -> dict[tuple[str, int], Size]:
    """Return the sizes that the code works a name out of, by the input's name in the source and the dimension."""
    solved = (
        (
            (match["name"], int(match["dimension"])),
            solved_size(match["solution"], f"{match['name']}_size_{match['dimension']}", match["symbol"]),
        )
        for match in _SOLVED_SIZE.finditer(source)
    )
    return {key: size for key, size in _agreed(solved).items() if size is not None}


def read_unchecked_operators(source: str) -> tuple[str, ...]:
    """Return the operators whose errors the code drops: `scatter_reduce`, `index_put`, each once."""
    return tuple(dict.fromkeys(match["operator"] for match in _UNCHECKED.finditer(source)))


def _aliases(source: str) -> dict[str, str]:
    """Return the second names of dynamic sizes, each with the name that the rest of the source uses."""
    return _agreed((match["alias"], match["symbol"]) for match in _SAME_SIZE.finditer(source))


def _sizes(text: str, aliases: dict[str, str]) -> tuple[Size | None, ...]:
    """Read the inside of a list such as `{s27, 2L*s9}`; None for what is not a polynomial."""
    sizes = map(parse_size, _elements(text))
    return tuple(size.renamed(aliases) if size is not None else None for size in sizes)


def _elements(text: str) -> Iterator[str]:
    """Split `s27, 3L` or `s27, ` at the commas outside of parentheses."""
    depth, element = 0, ""
    for character in text:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and depth == 0:
            yield element
            element = ""
        else:
            element += character
    if element.strip():
        yield element


def _agreed(statements: Iterable[tuple[Key, Value]]) -> dict[Key, Value]:
    """Return what is stated of each key, without those of which different things are stated."""
    stated: dict[Key, list[Value]] = {}
    for key, value in statements:
        stated.setdefault(key, []).append(value)
    return {key: values[0] for key, values in stated.items() if all(value == values[0] for value in values)}


def _only(values: Iterable[Value]) -> Value | None:
    """Return the one value that is there; None where there is none, or where there are different ones."""
    return _agreed((None, value) for value in values).get(None)
