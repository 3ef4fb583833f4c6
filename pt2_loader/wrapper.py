"""What the C++ wrapper source beside a compiled library says of its model, read as text and without torch.

AOTInductor keeps the generated `*.wrapper.cpp` in the package. Its shape belongs to a torch release (this is 2.13's):
what is not found there is unknown, and what it says twice must agree.

    inputs_info_[0].name = "arg0_1";                          each input's name in the source
    in_spec_ = R"([1, {...}])"; out_spec_ = ...               the call spec
    AOTInductorModelBase(2, 1, 0, ..., true) {                inputs, outputs, constants, weights in the library
    static void check_input_0(...) {                          dtype, sizes, bounds and some strides of each input:
        int32_t arg0_1_expected_dtype = aoti_torch_dtype_float32();
        if (3 != arg0_1_size[1]) {                                a fixed size
        if (arg0_1_size[0] < 2) {  if (arg0_1_size[0] > 64) {     the bounds of an open one
        if (1 != arg0_1_stride[1]) {
    int64_t s27 = arg0_1_size[0];  int64_t s9 = s27;          names of open sizes, and which are the same
    assert_size_stride(arg0_1, {s27, 3L}, {3L, 1L}, "input")  sizes and strides with their relations; absent for
                                                              inputs that the model does not read
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from triton_pytorch.io_naming.sizes import Size, parse_size

_COUNTS = re.compile(
    r"AOTInductorModelBase\(\s*(?P<inputs>\d+),\s*(?P<outputs>\d+),\s*(?P<constants>\d+),"
    r"[^{]*?\b(?P<weights_in_library>true|false)\s*\)\s*\{"
)
_SPEC = r'\b{}_spec_ = R"\((.*?)\)";'
_CHECK = re.compile(r"static void check_input_(?P<index>\d+)\((?P<body>.*?)\n\}\n", re.DOTALL)
_HANDLE = re.compile(r"ConstantHandle (?P<name>\w+) = ConstantHandle\(input_handles\[(?P<index>\d+)\]\)")
_DTYPE = re.compile(r"_expected_dtype = aoti_torch_dtype_(\w+)\(\)")
_FIXED = re.compile(r"if \((\d+)L? != \w+_(size|stride)\[(\d+)\]\)")
_BOUND = re.compile(r"if \(\w+_size\[(\d+)\] ([<>]) (\d+)L?\)")
_ASSERTED = re.compile(r"assert_size_stride\((?P<name>\w+), \{(?P<sizes>.*?)\}, \{(?P<strides>.*?)\}, \"input\"\)")
_NAMED_SIZE = re.compile(r"int64_t (?P<symbol>\w+) = (?P<name>\w+)_size\[(?P<dimension>\d+)\];")
_SAME_SIZE = re.compile(r"int64_t (?P<alias>[a-z]+\d+) = (?P<symbol>[a-z]+\d+);")


@dataclass(frozen=True, slots=True)
class RunnerCounts:
    """What the compiled model takes and returns, and whether its library holds its weights."""

    inputs: int
    outputs: int
    constants: int
    are_weights_in_library: bool


@dataclass(slots=True)
class CheckedInput:
    """What `check_input_N` states of an input, by dimension."""

    name: str
    dtype: str | None = None
    sizes: dict[int, int] = field(default_factory=dict)
    strides: dict[int, int] = field(default_factory=dict)
    lower: dict[int, int] = field(default_factory=dict)
    upper: dict[int, int] = field(default_factory=dict)

    @property
    def rank(self) -> int | None:
        """The number of dimensions; None where some are not spoken of."""
        spoken_of = self.sizes.keys() | self.lower.keys()
        return len(spoken_of) if spoken_of == set(range(len(spoken_of))) else None


@dataclass(frozen=True, slots=True)
class AssertedInput:
    """What `assert_size_stride` states of an input; None for sizes and strides that are no polynomials."""

    sizes: tuple[Size | None, ...]
    strides: tuple[Size | None, ...]


def read_counts(source: str) -> RunnerCounts | None:
    """Return the counts, or None where the source does not say."""
    match = _COUNTS.search(source)
    if match is None:
        return None
    return RunnerCounts(
        inputs=int(match["inputs"]),
        outputs=int(match["outputs"]),
        constants=int(match["constants"]),
        are_weights_in_library=match["weights_in_library"] == "true",
    )


def read_specs(source: str) -> tuple[str, str] | None:
    """Return the input and the output spec as torch's pytree JSON, or None where they are not there."""
    specs = [re.search(_SPEC.format(direction), source, re.DOTALL) for direction in ("in", "out")]
    return (specs[0][1], specs[1][1]) if specs[0] and specs[1] else None


def read_checked_inputs(source: str) -> dict[int, CheckedInput]:
    """Return what the check functions state, by the position of the input."""
    return {index: checked for index, checked in map(_checked_input, _CHECK.finditer(source)) if checked is not None}


def _checked_input(match: re.Match[str]) -> tuple[int, CheckedInput | None]:
    index, body = int(match["index"]), match["body"]
    handle = _HANDLE.search(body)
    if handle is None or int(handle["index"]) != index:
        return index, None
    dtype = _DTYPE.search(body)
    checked = CheckedInput(handle["name"], dtype[1] if dtype else None)
    for number, what, dimension in _FIXED.findall(body):
        (checked.sizes if what == "size" else checked.strides)[int(dimension)] = int(number)
    for dimension, sign, number in _BOUND.findall(body):
        (checked.lower if sign == "<" else checked.upper)[int(dimension)] = int(number)
    return index, checked


def read_asserted_inputs(source: str) -> dict[str, AssertedInput]:
    """Return what the assertions state, by the name of the input in the source."""
    aliases = {match["alias"]: match["symbol"] for match in _SAME_SIZE.finditer(source)}
    return {
        match["name"]: AssertedInput(
            tuple(_size(element, aliases) for element in _elements(match["sizes"])),
            tuple(_size(element, aliases) for element in _elements(match["strides"])),
        )
        for match in _ASSERTED.finditer(source)
    }


def read_size_names(source: str) -> dict[tuple[str, int], str]:
    """Return the name of an open size by the input's name in the source and the dimension."""
    return {(match["name"], int(match["dimension"])): match["symbol"] for match in _NAMED_SIZE.finditer(source)}


def _size(text: str, aliases: dict[str, str]) -> Size | None:
    size = parse_size(text)
    return size.renamed(aliases) if size is not None else None


def _elements(text: str) -> Iterator[str]:
    """Split `s27, 3L` or `s27, ` at the commas that stand outside of parentheses."""
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
