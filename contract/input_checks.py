"""What config.pbtxt declares of an input, validated at load against what the model says of its leaf."""

from collections.abc import Iterable, Iterator

from triton_pytorch.contract.declared_inputs import DeclaredInput
from triton_pytorch.contract.leaves import Dimension, Leaf, ValueKind, shape_text
from triton_pytorch.contract.sizes import Size
from triton_pytorch.model_config.datatypes import DataType, data_type_of
from triton_pytorch.model_config.suggestions import counted, listed
from triton_pytorch.model_config.tensors import DYNAMIC, ONE_IN_EACH_ROW

UNBOUNDED = 'if the exporter invented that bound, set the parameter ENFORCE_UPPER_BOUNDS to "false"'


def is_one_value(declared: DeclaredInput, leaf: Leaf) -> bool:
    """Return whether a declared input is one value in a call: a number, or a tensor without dimensions.

    Triton demands `dims: [ 1 ]` for it, and with batching a batch dimension too: then its rows have to be equal.
    """
    if leaf.shape != () or declared.depends_on_merge:
        return False
    return declared.shape in (((DYNAMIC, 1), (DYNAMIC,)) if declared.is_batched else ((1,),))


def fixed_batch_errors(inputs: Iterable[tuple[DeclaredInput, Leaf]], max_batch_size: int) -> Iterator[str]:
    """Yield a sentence for each number of rows that the model is fixed at, and so cannot be batched."""
    by_size: dict[Size, list[str]] = {}
    for declared, leaf in inputs:
        has_rows = declared.is_batched and declared.kind is None
        if has_rows and leaf.shape and len(leaf.shape) == len(declared.shape) and leaf.shape[0].is_fixed:
            by_size.setdefault(leaf.shape[0].size, []).append(f"'{declared.name}'")
    for size, names in by_size.items():
        yield (
            f"the config has max_batch_size: {max_batch_size}, but the model was exported with a fixed first dimension "
            f"of {size} for input{'s' * (len(names) > 1)} {listed(names)}: export with a dynamic first dimension, or "
            "set max_batch_size: 0"
        )


def input_errors(declared: DeclaredInput, leaf: Leaf, max_batch_size: int) -> Iterator[str]:
    """Yield a sentence for each way in which the shape or type of a declared tensor contradicts the model."""
    if declared.data_type is DataType.STRING:
        return  # value_checks.py
    # A number can be sent in several types: value_checks.py.
    if leaf.kind is not ValueKind.NUMBER and leaf.dtype is not None and declared.data_type.torch_name != leaf.dtype:
        yield _wrong_type(declared, leaf.dtype)
    if leaf.shape is None or is_one_value(declared, leaf):
        return
    if len(declared.shape) != len(leaf.shape):
        yield _wrong_rank(declared, _taken(leaf, leaf.shape), len(leaf.shape), max_batch_size)
        return
    for number, (size, dimension) in enumerate(zip(declared.shape, leaf.shape, strict=True)):
        if number == 0 and declared.depends_on_merge:
            yield from _merge_errors(declared, dimension)
        elif size != DYNAMIC:
            yield from _size_errors(declared, number, size, leaf.shape)


def _wrong_type(declared: DeclaredInput, dtype: str) -> str:
    taken = data_type_of(dtype)
    is_declared = f"input '{declared.name}' is declared {declared.data_type}"
    if taken is None:
        return f"{is_declared}, but the model takes {dtype}, which Triton lacks"
    hint = ""
    if declared.kind is not None and taken not in (DataType.INT32, DataType.FP32):
        hint = ": Triton makes batch inputs TYPE_INT32 or TYPE_FP32, so export the model with one of these"
    return f"{is_declared}, but the model takes {taken}{hint}"


def _taken(leaf: Leaf, shape: tuple[Dimension, ...]) -> str:
    if leaf.kind is ValueKind.NUMBER:
        return f"the model takes {leaf.type}, which is one number"
    return f"the model takes {counted(len(shape), 'dimension')}, {shape_text(shape)}"


def _wrong_rank(declared: DeclaredInput, taken: str, rank: int, max_batch_size: int) -> str:
    if declared.is_ragged:
        return (
            f"input '{declared.name}' is ragged, so that all requests arrive flat, in 1 dimension, but {taken}: export "
            "a model that takes it flat, or remove `allow_ragged_batch: true`"
        )
    if declared.kind is not None:
        made = f"input '{declared.name}' is made by batch_input of kind {declared.kind}"
        return f"{made}, which has {counted(len(declared.shape), 'dimension')}, but {taken}"
    dims = declared.shape[1:] if declared.is_batched else declared.shape
    after = " after the batch dimension" if declared.is_batched else ""
    hint = _rank_hint(len(declared.shape), rank, max_batch_size)
    return f"input '{declared.name}' is declared with dims {list(dims)}{after}, but {taken}{hint}"


def _rank_hint(declared: int, taken: int, max_batch_size: int) -> str:
    if not taken:
        return ": declare dims: [ 1 ]"
    if max_batch_size and taken == 1:
        return f": declare {ONE_IN_EACH_ROW}, or set max_batch_size: 0"
    if max_batch_size and declared == taken + 1:
        return ": leave the batch dimension out of dims, or set max_batch_size: 0"
    if not max_batch_size and declared == taken - 1:
        return ": add the missing dimension to dims, or set max_batch_size"
    return ""


def _merge_errors(declared: DeclaredInput, first: Dimension) -> Iterator[str]:
    if first.is_fixed:
        origin = "is ragged" if declared.is_ragged else f"is made by batch_input of kind {declared.kind}"
        yield (
            f"input '{declared.name}' {origin}, so that the requests of a call decide its first dimension, but the "
            f"model was exported with a fixed one of {first.size}: export with a dynamic first dimension"
        )


def _size_errors(declared: DeclaredInput, number: int, size: int, shape: tuple[Dimension, ...]) -> Iterator[str]:
    dimension = shape[number]
    if size < dimension.lower or (dimension.upper is not None and size > dimension.upper):
        is_size = f"is declared {size}" if declared.kind is None else f"is {size}, the number of dims of its source"
        yield (
            f"dimension {number} of input '{declared.name}' {is_size}, but the model takes "
            f"{bounds_text(dimension)} in {shape_text(shape)}{upper_remedy(dimension, size)}"
        )


def upper_remedy(dimension: Dimension, size: int) -> str:
    """Return what to do where a size is above what may be no more than an assumption of the exporter."""
    is_above = dimension.upper is not None and size > dimension.upper and not dimension.is_fixed
    return f": {UNBOUNDED}" if is_above else ""


def bounds_text(dimension: Dimension) -> str:
    """Print the sizes that a dimension may have: `3`, `1 to 64`, `at least 2`."""
    if dimension.is_fixed:
        return str(dimension.size)
    return f"at least {dimension.lower}" if dimension.upper is None else f"{dimension.lower} to {dimension.upper}"
