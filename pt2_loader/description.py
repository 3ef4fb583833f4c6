"""What is known of a packaged model before it runs: its leaves, what it was built for, and where its weights lie.

The wrapper source in the package says it (wrapper.py). A source of another shape makes a description poorer, field
by field and with one warning, and never wrong: whatever does not agree with itself counts as unknown.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from triton_pytorch.io_naming.call_spec import CallSpec, read_call_spec
from triton_pytorch.contract.leaves import Dimension, Leaf
from triton_pytorch.io_naming.names import LeafPath
from triton_pytorch.contract.sizes import Size, dynamic_size, size_of
from triton_pytorch.model_config.suggestions import listed
from triton_pytorch.pt2_loader.archive import PackagedModel
from triton_pytorch.pt2_loader.layouts import NotDenseError, find_layout
from triton_pytorch.pt2_loader.wrapper import (
    AssertedInput,
    CheckedInput,
    RunnerCounts,
    read_asserted_inputs,
    read_checked_inputs,
    read_counts,
    read_size_names,
    read_specs,
)
from triton_pytorch.pt2_loader.zero_sizes import read_possible_zeros

# The exporter assumes that no open size is 0 or 1, so a bound that this makes holds for nothing (FACTS.md).
_SMALLEST_EXPORTED = 2
_WITHOUT_WEIGHTS = (
    'it was built without its weights: build it with "aot_inductor.package_constants_in_so": True, or with '
    '"aot_inductor.package_constants_on_disk_format": "pickle_weights"'
)
_NO_LIMIT = 2**63 - 1  # what torch prints for an upper bound that no int64 can break


@dataclass(frozen=True, slots=True)
class BuiltFor:
    """The machine that a model was compiled for; None where the package does not say."""

    device: str | None = None
    platform: str | None = None
    machine: str | None = None
    cpu_features: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Description:
    """All that is known of a model without loading it; `inputs` and `outputs` are None where the source is of no use.

    `faults` are reasons why the model cannot be served at all, `warnings` name what is unknown.
    """

    model: PackagedModel
    built_for: BuiltFor
    counts: RunnerCounts | None
    inputs: tuple[Leaf, ...] | None
    outputs: tuple[Leaf, ...] | None
    faults: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def is_without_weights(self) -> bool:
        """Whether its weights are neither in its library nor beside it: it kills its process at the first call."""
        if self.counts is None or self.counts.are_weights_in_library:
            return False
        return self.counts.constants > 0 and self.model.weights_size is None

    @property
    def all_faults(self) -> tuple[str, ...]:
        """The faults of the inputs, and that of the weights."""
        return self.faults + ((_WITHOUT_WEIGHTS,) if self.is_without_weights else ())

    @property
    def specs(self) -> tuple[str, str] | None:
        """The call spec as torch wrote it."""
        return read_specs(self.model.wrapper)


def describe(model: PackagedModel) -> Description:
    """Describe a model from the texts of its package.

    Raises:
        ArtifactError, NamingError, UnsupportedError: the call spec is damaged, or holds what has no name here.
    """
    description = Description(model, _built_for(model.metadata), read_counts(model.wrapper), None, None)
    specs = description.specs
    if specs is None:
        return replace(description, warnings=("the package holds no source that describes its inputs",))
    call_spec = read_call_spec(*specs)
    outputs = tuple(Leaf(path) for path in call_spec.outputs)
    inputs, faults, unknown = _input_leaves(model, call_spec, description.counts)
    warnings = (f"the package does not say {listed(unknown)}: the config is trusted there",) if unknown else ()
    return replace(description, inputs=inputs, outputs=outputs, faults=faults, warnings=warnings)


def _built_for(metadata: str) -> BuiltFor:
    try:
        recorded = json.loads(metadata)
    except (ValueError, RecursionError):
        return BuiltFor()
    if not isinstance(recorded, dict):
        return BuiltFor()
    texts = {key: value for key, value in recorded.items() if isinstance(value, str) and value}
    return BuiltFor(
        device=texts.get("AOTI_DEVICE_KEY"),
        platform=texts.get("AOTI_PLATFORM"),
        machine=texts.get("AOTI_MACHINE"),
        cpu_features=tuple(name for name in texts.get("AOTI_CPU_ISA", "").split() if name != "INVALID_VEC_ISA"),
    )


def _input_leaves(
    model: PackagedModel, call_spec: CallSpec, counts: RunnerCounts | None
) -> tuple[tuple[Leaf, ...], tuple[str, ...], tuple[str, ...]]:
    """Return the input leaves, the faults of the package and the names of what is unknown."""
    checked = read_checked_inputs(model.wrapper)
    if len(call_spec.inputs) != (counts.inputs if counts else len(checked)):
        checked = {}  # leaf i is not input i
    reader = _LeafReader(
        asserted=read_asserted_inputs(model.wrapper),
        size_names=read_size_names(model.wrapper),
        possible_zeros=read_possible_zeros(model.wrapper, model.kernels),
    )
    leaves, faults, unknown = [], [], []
    for index, path in enumerate(call_spec.inputs):
        leaf = reader.leaf(path, checked.get(index))
        unknown += [f"the {what} of '{path}'" for what in ("dtype", "shape") if getattr(leaf, what) is None]
        try:
            leaf = reader.laid_out(leaf, checked.get(index))
        except NotDenseError as error:
            faults.append(
                f"input '{path}' was exported with a tensor that is not dense in memory ({error}): "
                "export with .contiguous() on it"
            )
        leaves.append(leaf)
    return tuple(leaves), tuple(faults), tuple(unknown)


@dataclass(frozen=True, slots=True)
class _LeafReader:
    """Puts together what the source says of one input in several places."""

    asserted: dict[str, AssertedInput]
    size_names: dict[tuple[str, int], str]
    possible_zeros: frozenset[str]

    def leaf(self, path: LeafPath, checked: CheckedInput | None) -> Leaf:
        if checked is None:
            return Leaf(path)
        asserted = self.asserted.get(checked.name)
        sizes = self._sizes(checked, asserted)
        if sizes is None:
            return Leaf(path, checked.dtype)
        shape = tuple(self._dimension(size, checked, dimension) for dimension, size in enumerate(sizes))
        return Leaf(path, checked.dtype, shape)

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
        for dimension in range(rank):
            fixed = checked.sizes.get(dimension)
            stated = asserted.sizes[dimension] if asserted is not None else None
            if stated is not None and stated.constant != fixed:
                return None
            sizes.append(stated or self._unrelated_size(checked, dimension, fixed))
        return sizes

    def _unrelated_size(self, checked: CheckedInput, dimension: int, fixed: int | None) -> Size:
        if fixed is not None:
            return size_of(fixed)
        return dynamic_size(self.size_names.get((checked.name, dimension), f"{checked.name}_{dimension}"))

    def _dimension(self, size: Size, checked: CheckedInput, dimension: int) -> Dimension:
        if size.constant is not None:
            return Dimension(size, size.constant, size.constant)
        upper = checked.upper.get(dimension)
        return Dimension(size, self._lower(size, checked.lower.get(dimension)), None if upper == _NO_LIMIT else upper)

    def _lower(self, size: Size, stated: int | None) -> int:
        """Return the lower bound that holds: the stated one, unless it comes of what the exporter assumes."""
        is_growing = all(factor > 0 for factor, symbols in size.terms if symbols)
        assumed = size.value(dict.fromkeys(size.symbols, _SMALLEST_EXPORTED))
        smallest = size.value({name: 0 if name in self.possible_zeros else 1 for name in size.symbols})
        return max(0, smallest if is_growing and stated in (None, assumed) else stated or 0)


def _strides(checked: CheckedInput, asserted: AssertedInput | None) -> dict[int, Size]:
    strides = {dimension: size_of(stride) for dimension, stride in checked.strides.items()}
    stated: Sequence[Size | None] = asserted.strides if asserted is not None else ()
    return strides | {dimension: stride for dimension, stride in enumerate(stated) if stride is not None}
