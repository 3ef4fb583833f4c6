"""The input leaves of a packaged model, put together from what its wrapper source says of each in several places.

A source of another shape makes a leaf poorer, field by field, and never wrong: what does not agree is unknown.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from triton_pytorch.contract.leaves import Dimension, Leaf
from triton_pytorch.contract.sizes import Size, dynamic_size, size_of
from triton_pytorch.io_naming.leaf_names import LeafNames
from triton_pytorch.pt2_loader.layouts import NotDenseError, find_layout
from triton_pytorch.pt2_loader.wrapper import (
    AssertedInput,
    CheckedInput,
    RunnerCounts,
    read_asserted_inputs,
    read_checked_inputs,
    read_size_names,
    read_solved_sizes,
)

# The exporter assumes that no dynamic size is 0 or 1, so that a bound which follows from this is not one of the model.
_SMALLEST_EXPORTED = 2
_NO_LIMIT = 2**63 - 1  # what torch prints for an upper bound that no int64 can break


@dataclass(frozen=True, slots=True)
class InputLeaves:
    """The input leaves; `errors` are why the model cannot be served, `unknown` names what the source does not say."""

    leaves: tuple[Leaf, ...]
    errors: tuple[str, ...]
    unknown: tuple[str, ...]


def read_input_leaves(wrapper: str, names: Sequence[LeafNames], counts: RunnerCounts | None) -> InputLeaves:
    """Read what a wrapper source says of the inputs that have these names in its call spec."""
    checked = read_checked_inputs(wrapper)
    if len(names) != (counts.inputs if counts else len(checked)):
        checked = {}  # leaf i is not input i
    own_sizes = {key: dynamic_size(name) for key, name in read_size_names(wrapper).items()}
    reader = _LeafReader(read_asserted_inputs(wrapper), own_sizes | read_solved_sizes(wrapper))
    leaves, errors, unknown = [], [], []
    for index, leaf_names in enumerate(names):
        leaf, sizes = reader.leaf(leaf_names, checked.get(index))
        unknown += [f"the {part} of '{leaf}'" for part in _unknown_parts(leaf, sizes)]
        try:
            leaf = reader.laid_out(leaf, sizes, checked.get(index))
        except NotDenseError as error:
            errors.append(
                f"input '{leaf}' was exported with a tensor that is not dense in memory ({error}): "
                "export with .contiguous() on it"
            )
        leaves.append(leaf)
    return InputLeaves(tuple(leaves), tuple(errors), tuple(unknown))


# The sizes of an input by dimension, None for those that the source contradicts itself about; or nothing is known.
_Sizes = list[Size | None] | None


def _unknown_parts(leaf: Leaf, sizes: _Sizes) -> Iterator[str]:
    if leaf.dtype is None:
        yield "dtype"
    if sizes is None:
        yield "shape"
    for number, size in enumerate(sizes or ()):
        if size is None:
            yield f"size of dimension {number}"


@dataclass(frozen=True, slots=True)
class _LeafReader:
    asserted: dict[str, AssertedInput]
    own_sizes: dict[tuple[str, int], Size]

    def leaf(self, names: LeafNames, checked: CheckedInput | None) -> tuple[Leaf, _Sizes]:
        if checked is None:
            return Leaf(names), None
        sizes = self._sizes(checked, self.asserted.get(checked.name))
        if sizes is None:
            return Leaf(names, dtype=checked.dtype), None
        shape = tuple(_dimension(size, checked, number) for number, size in enumerate(sizes))
        return Leaf(names, dtype=checked.dtype, shape=shape), sizes

    def laid_out(self, leaf: Leaf, sizes: _Sizes, checked: CheckedInput | None) -> Leaf:
        """Return the leaf with its memory layout; raises NotDenseError where it has none."""
        known = [size for size in sizes or () if size is not None]
        if checked is None or sizes is None or len(known) < len(sizes):
            return leaf
        strides = _strides(checked, self.asserted.get(checked.name))
        return replace(leaf, layout=find_layout(known, strides))

    def _sizes(self, checked: CheckedInput, asserted: AssertedInput | None) -> _Sizes:
        rank = checked.rank if asserted is None else len(asserted.sizes)
        if asserted is not None and len(asserted.strides) != rank:
            return None
        if rank is None or not checked.dimensions <= set(range(rank)):
            return None
        return [
            self._size(checked, number, asserted.sizes[number] if asserted is not None else None)
            for number in range(rank)
        ]

    def _size(self, checked: CheckedInput, number: int, asserted: Size | None) -> Size | None:
        """Return the size of a dimension; None where the check and the assertion contradict each other.

        A lowering can fix a size that the exporter left open (docs/internals.md). The check has equal bounds then.
        """
        fixed = _fixed_size(checked, number)
        if asserted is None:
            return size_of(fixed) if fixed is not None else self._own_size(checked, number)
        if asserted.constant is None:
            return asserted if number not in checked.sizes else None
        return asserted if checked.allows(number, asserted.constant) else None

    def _own_size(self, checked: CheckedInput, number: int) -> Size:
        return self.own_sizes.get((checked.name, number), dynamic_size(_name(checked, number)))


def _fixed_size(checked: CheckedInput, number: int) -> int | None:
    """Return the number that the check alone fixes a size at: equal bounds do, unless the lower one may mean 1."""
    lower, upper = checked.lower.get(number), checked.upper.get(number)
    return checked.sizes.get(number, upper if lower == upper != _SMALLEST_EXPORTED else None)


def _dimension(size: Size | None, checked: CheckedInput, number: int) -> Dimension:
    if size is None:
        return Dimension(dynamic_size(_name(checked, number)), 1, may_be_empty=True)
    if size.constant is not None:
        return Dimension(size, size.constant, size.constant)
    stated, upper = checked.lower.get(number), checked.upper.get(number)
    is_growing = all(factor > 0 for factor, symbols in size.terms if symbols)
    is_assumed = is_growing and stated in (None, _with_all_sizes(size, _SMALLEST_EXPORTED))
    lower = _with_all_sizes(size, 1) if is_assumed else stated or 0
    return Dimension(size, max(0, lower), None if upper == _NO_LIMIT else upper, may_be_empty=is_assumed)


def _name(checked: CheckedInput, number: int) -> str:
    """Name a size that the source has no name for."""
    return f"{checked.name}_{number}"


def _with_all_sizes(size: Size, number: int) -> int:
    return size.value(dict.fromkeys(size.symbols, number))


def _strides(checked: CheckedInput, asserted: AssertedInput | None) -> dict[int, Size]:
    strides = {dimension: size_of(stride) for dimension, stride in checked.strides.items()}
    stated: Sequence[Size | None] = asserted.strides if asserted is not None else ()
    return strides | {dimension: stride for dimension, stride in enumerate(stated) if stride is not None}
