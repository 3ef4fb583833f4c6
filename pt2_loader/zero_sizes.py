"""Which open sizes may be 0, read from the C++ sources in a package and without torch.

The exporter promises nothing for them: code that takes the first row of nothing reads foreign memory, and a maximum
of nothing shows the value that the search began with. So a size may be 0 only where the sources show that nothing
happens then: all loops over what it makes empty are loops of no steps. Whatever is not understood means no.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from triton_pytorch.contract.sizes import Size, parse_size
from triton_pytorch.pt2_loader.wrapper import elements, read_aliases, read_asserted_inputs, read_size_names, read_sizes

_RUN = re.compile(r"::run_impl\(.*?\) \{\n(?P<body>.*?)^\}", re.DOTALL | re.MULTILINE)
_KERNEL = re.compile(
    r'^extern "C"\s+void\s+(?P<name>\w+)\((?P<parameters>[^)]*)\)\s*\{(?P<body>.*?)^\}', re.DOTALL | re.MULTILINE
)
_LOOP = re.compile(
    r"for\(int64_t (\w+)=static_cast<int64_t>\(0L\); \1<static_cast<int64_t>\((?P<bound>[^;]*)\); "
    r"\1\+=static_cast<int64_t>\(\d+L\)\)\s*\{"
)
_SIZE_NAME = re.compile(r"[a-z]+\d+")  # and not `arg4_1_size_0`, which is what such a name is worked out from
_SECOND_NAME = re.compile(r"auto (\w+) = (in_out_ptr\d+);")
# Divisions by sizes, and searches whose result is where they began if there is nothing to search in.
_HARMFUL = re.compile(r"%|div_(?:floor|trunc|mod)|numeric_limits|IndexValue|elford")
# Divisions by a number written out: every vectorised loop has them.
_HARMLESS = re.compile(
    r"div_(?:floor|trunc)_integer\(static_cast<int64_t>\([^()]*\), static_cast<int64_t>\([1-9]\d*L\)\)"
    r"|% static_cast<int64_t>\([1-9]\d*L\)"
)

_CALLED = re.compile(r"([A-Za-z_]\w*)(?:<[^<>()]*>)?\(")
_KERNEL_CALL = re.compile(r"^\s*(?P<name>\w+)\((?P<arguments>.*)\);\s*$", re.MULTILINE)
_DATA = re.compile(r"\((\w+)\.data_ptr\(\)\)$")
_VIEW = re.compile(r"reinterpret_tensor_wrapper\((?:(?P<base>\w+), \d+, (?P<sizes>int_array_\d+),)?")
_ARRAY = re.compile(r"int64_t \*?(?P<name>int_array_\d+)(?:\[\] = \{(?P<sizes>.*)\}|=nullptr);")
_ALLOCATED = re.compile(r"aoti_torch_empty_strided\(\d+, (?P<sizes>int_array_\d+), .*&(?P<name>\w+)_handle\)")
_CONSTANT = re.compile(r"auto& (\w+) = constants_->at\(\d+\);")
_REUSED = re.compile(r"auto (?P<name>\w+) = std::move\((?P<old>\w+)\);")
# What run_impl may call beside kernels: bookkeeping, and operators that torch itself runs as it does in eager mode.
_HARMLESS_CALLS = frozenset(
    {
        "AOTI_TORCH_ERROR_CODE_CHECK",
        "__check_inputs_outputs",
        "_check_aoti_runtime_check_inputs_env",
        "aoti_torch_cpu_addmm_out",
        "aoti_torch_cpu_bmm_out",
        "aoti_torch_cpu_cat",
        "aoti_torch_cpu_convolution",
        "aoti_torch_cpu_mm_out",
        "aoti_torch_empty_strided",
        "array",
        "assert_size_stride",
        "at",
        "cbegin",
        "clear",
        "data_ptr",
        "get",
        "max",
        "move",
        "reinterpret_tensor_wrapper",
        "release",
        "reset",
        "sizes",
        "static_cast",
        "steal_from_raw_handles_to_raii_handles",
        "temporary_reference",
        "wrap_with_raii_handle_if_needed",
    }
)

Sizes = tuple[Size | None, ...]


def read_possible_zeros(source: str, kernels: Iterable[str]) -> frozenset[str]:
    """Return the names of the open sizes that are seen to do no harm when they are 0."""
    run = _RUN.search(source)
    if run is None:
        return frozenset()
    body = _without_comments(run["body"])
    functions = {match["name"]: match for kernel in kernels for match in _KERNEL.finditer(_without_comments(kernel))}
    handles = set(re.findall(r"RAIIAtenTensorHandle (\w+)\(\1_handle\);", body))
    called = Counter(_CALLED.findall(body))
    calls = [match for match in _KERNEL_CALL.finditer(body) if match["name"] in functions]
    is_understood = called.keys() <= _HARMLESS_CALLS | functions.keys() | handles and "%" not in body
    if not is_understood or sum(called[name] for name in functions) != len(calls):
        return frozenset()
    reader = _ZeroReader.of(source, body)
    return frozenset(
        zero
        for zero in read_size_names(body).values()
        if _SIZE_NAME.fullmatch(zero)
        and all(reader.is_idle_view(view, zero) for view in _VIEW.finditer(body))
        and all(reader.is_idle_kernel(functions[call["name"]], call["arguments"], zero) for call in calls)
    )


@dataclass(frozen=True, slots=True)
class _ZeroReader:
    """Tells what still happens when one open size is 0; knows the sizes of tensors that share no memory."""

    aliases: dict[str, str]
    arrays: dict[str, Sizes]
    tensors: dict[str, Sizes]

    @classmethod
    def of(cls, source: str, body: str) -> "_ZeroReader":
        aliases = read_aliases(body)
        arrays = {match["name"]: read_sizes(match["sizes"] or "", aliases) for match in _ARRAY.finditer(body)}
        tensors: dict[str, Sizes] = {name: asserted.sizes for name, asserted in read_asserted_inputs(source).items()}
        tensors |= dict.fromkeys(_CONSTANT.findall(body), ())
        tensors |= {match["name"]: arrays.get(match["sizes"], (None,)) for match in _ALLOCATED.finditer(body)}
        for match in _REUSED.finditer(body):
            tensors[match["name"]] = tensors.get(match["old"], (None,))
        return cls(aliases, arrays, tensors)

    def is_idle_view(self, view: re.Match[str], zero: str) -> bool:
        """Return whether a view shows nothing, or what it would show anyway."""
        shown = self.arrays.get(view["sizes"], ())
        return any(_vanishes(size, {zero}) for size in shown) or not self._depends_on(zero, view["base"])

    def is_idle_kernel(self, function: re.Match[str], arguments: str, zero: str) -> bool:
        """Return whether a kernel touches nothing that depends on the size, and computes with nothing that does."""
        names = [parameter.split()[-1] for parameter in function["parameters"].split(",") if parameter.strip()]
        values = [value.strip() for value in elements(arguments)]
        if len(names) != len(values):
            return False
        numbers = dict(zip(names, read_sizes(arguments, self.aliases), strict=True))
        zeros = {name for name, size in numbers.items() if _vanishes(size, {zero})}
        changed = {name for name, value in zip(names, values, strict=True) if self._changes(zero, value, numbers[name])}
        return all(_is_idle_block(block, zeros, changed) for block in _blocks(function["body"]))

    def _changes(self, zero: str, argument: str, number: Size | None) -> bool:
        if number is not None:
            return zero in number.symbols
        data = _DATA.search(argument)
        return data is None or self._depends_on(zero, data[1])

    def _depends_on(self, zero: str, tensor: str | None) -> bool:
        sizes = self.tensors.get(tensor or "", (None,))
        return any(size is None or zero in size.symbols for size in sizes)


def _vanishes(size: Size | None, zeros: Collection[str]) -> bool:
    return size is not None and all(not symbols.isdisjoint(zeros) for symbols in map(set, (t[1] for t in size.terms)))


def _blocks(code: str) -> Iterator[str]:
    """Yield the blocks of a kernel, one for each result or group of results, and what stands between them."""
    for second, first in _SECOND_NAME.findall(code):
        code = re.sub(rf"\b{second}\b", first, _SECOND_NAME.sub("", code))
    position = 0
    while (start := code.find("{", position)) >= 0:
        yield code[position:start]
        position = _end_of_block(code, start + 1)
        yield code[start:position]
    yield code[position:]


def _is_idle_block(code: str, zeros: Collection[str], changed: set[str]) -> bool:
    rest = _outside_of_empty_loops(code, zeros)
    if not changed.isdisjoint(re.findall(r"\w+", rest)):
        return False
    return rest == code or not _HARMFUL.search(_HARMLESS.sub("", rest))


def _outside_of_empty_loops(code: str, zeros: Collection[str]) -> str:
    kept, position = [], 0
    for loop in _LOOP.finditer(code):
        if loop.start() >= position and _vanishes(parse_size(loop["bound"]), zeros):
            kept.append(code[position : loop.start()])
            position = _end_of_block(code, loop.end())
    return "".join([*kept, code[position:]])


def _end_of_block(code: str, start: int) -> int:
    depth = 1
    for brace in re.compile("[{}]").finditer(code, start):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return brace.end()
    return len(code)


def _without_comments(source: str) -> str:
    return re.sub("//.*", "", source)
