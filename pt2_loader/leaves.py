"""The input leaves of a packaged model, put together from what its wrapper source says of each in several places.

A source of another shape makes a leaf poorer, field by field, and never wrong: what does not agree is unknown.
"""

from collections.abc import Sequence
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
    reader = _LeafReader(read_asserted_inputs(wrapper), read_size_names(wrapper))
    leaves, errors, unknown = [], [], []
    for index, leaf_names in enumerate(names):
        leaf = reader.leaf(leaf_names, checked.get(index))
        unknown += [f"the {what} of '{leaf}'" for what in ("dtype", "shape") if getattr(leaf, what) is None]
        try:
            leaf = reader.laid_out(leaf, checked.get(index))
        except NotDenseError as error:
            errors.append(
                f"input '{leaf}' was exported with a tensor that is not dense in memory ({error}): "
                "export with .contiguous() on it"
            )
        leaves.append(leaf)
    return InputLeaves(tuple(leaves), tuple(errors), tuple(unknown))


@dataclass(frozen=True, slots=True)
class _LeafReader:
    asserted: dict[str, AssertedInput]
    size_names: dict[tuple[str, int], str]

    def leaf(self, names: LeafNames, checked: CheckedInput | None) -> Leaf:
        if checked is None:
            return Leaf(names)
        sizes = self._sizes(checked, self.asserted.get(checked.name))
        if sizes is None:
            return Leaf(names, dtype=checked.dtype)
        shape = tuple(_dimension(size, checked, number) for number, size in enumerate(sizes))
        return Leaf(names, dtype=checked.dtype, shape=shape)

    def laid_out(self, leaf: Leaf, checked: CheckedInput | None) -> Leaf:
        """Return the leaf with its memory layout; raises NotDenseError where it has none."""
        if checked is None or leaf.shape is None:
            return leaf
        strides = _strides(checked, self.asserted.get(checked.name))
        return replace(leaf, layout=find_layout([dimension.size for dimension in leaf.shape], strides))

    def _sizes(self, checked: CheckedInput, asserted: AssertedInput | None) -> list[Size] | None:
        """Return the sizes by dimension; None where the two places contradict each other."""
        rank = checked.rank if asserted is None else len(asserted.sizes)
        if asserted is not None and len(asserted.strides) != rank:
            return None
        if rank is None or not checked.dimensions <= set(range(rank)):
            return None
        sizes = []
        for number in range(rank):
            fixed = checked.sizes.get(number)
            stated = asserted.sizes[number] if asserted is not None else None
            if stated is not None and stated.constant != fixed:
                return None
            sizes.append(stated or self._unrelated_size(checked, number, fixed))
        return sizes

    def _unrelated_size(self, checked: CheckedInput, number: int, fixed: int | None) -> Size:
        if fixed is not None:
            return size_of(fixed)
        return dynamic_size(self.size_names.get((checked.name, number), f"{checked.name}_{number}"))


def _dimension(size: Size, checked: CheckedInput, number: int) -> Dimension:
    if size.constant is not None:
        return Dimension(size, size.constant, size.constant)
    stated, upper = checked.lower.get(number), checked.upper.get(number)
    is_growing = all(factor > 0 for factor, symbols in size.terms if symbols)
    is_assumed = is_growing and stated in (None, _with_all_sizes(size, _SMALLEST_EXPORTED))
    lower = _with_all_sizes(size, 1) if is_assumed else stated or 0
    return Dimension(size, max(0, lower), None if upper == _NO_LIMIT else upper, may_be_empty=is_assumed)


def _with_all_sizes(size: Size, number: int) -> int:
    return size.value(dict.fromkeys(size.symbols, number))


def _strides(checked: CheckedInput, asserted: AssertedInput | None) -> dict[int, Size]:
    strides = {dimension: size_of(stride) for dimension, stride in checked.strides.items()}
    stated: Sequence[Size | None] = asserted.strides if asserted is not None else ()
    return strides | {dimension: stride for dimension, stride in enumerate(stated) if stride is not None}
