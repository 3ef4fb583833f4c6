"""What config.pbtxt declares of an input, held against what the model says of its leaf, at load."""

from collections.abc import Iterator

from triton_pytorch.io_naming.leaves import Dimension, Leaf, shape_text
from triton_pytorch.model_config.configuration import OPEN, ModelConfig, TensorConfig
from triton_pytorch.model_config.datatypes import DataType


def declared_shape(tensor: TensorConfig, config: ModelConfig) -> tuple[int, ...]:
    """Return the shape in which the model gets an input: with the batch dimension, after `reshape`, -1 where open."""
    return (OPEN, *tensor.model_dims) if config.max_batch_size else tensor.model_dims


def is_scalar(tensor: TensorConfig, leaf: Leaf, config: ModelConfig) -> bool:
    """Return whether an input without dimensions is declared `dims: [ 1 ]`, as Triton demands without batching."""
    return leaf.shape == () and declared_shape(tensor, config) == (1,)


def input_faults(tensor: TensorConfig, leaf: Leaf, config: ModelConfig) -> Iterator[str]:
    """Yield a sentence for each way in which a declared input cannot be what the model takes."""
    if leaf.dtype is not None and tensor.data_type.torch_name != leaf.dtype:
        yield _wrong_type(tensor, leaf.dtype)
    if leaf.shape is None or is_scalar(tensor, leaf, config):
        return
    declared = declared_shape(tensor, config)
    if len(declared) != len(leaf.shape):
        yield _wrong_rank(tensor, leaf.shape, config)
        return
    for number, (size, dimension) in enumerate(zip(declared, leaf.shape, strict=True)):
        if number == 0 and config.max_batch_size:
            yield from _batch_faults(tensor, dimension, config)
        elif size != OPEN:
            yield from _size_faults(tensor, number, size, leaf.shape)


def input_warnings(tensor: TensorConfig, leaf: Leaf, config: ModelConfig) -> Iterator[str]:
    """Yield a sentence where a declared input may ask for more than the exporter promised.

    An upper bound of the batch dimension can be invented by the exporter (FACTS.md), so it is no fault.
    """
    upper = leaf.shape[0].upper if leaf.shape and config.max_batch_size else None
    if upper is not None and upper < config.max_batch_size:
        yield (
            f"the config has max_batch_size: {config.max_batch_size}, but the model was exported for at most "
            f"{upper} rows of input '{tensor.name}'"
        )


def _wrong_type(tensor: TensorConfig, dtype: str) -> str:
    taken = next((data_type.value for data_type in DataType if data_type.torch_name == dtype), None)
    if taken is None:
        return f"input '{tensor.name}' is declared {tensor.data_type}, but the model takes {dtype}, which Triton lacks"
    return f"input '{tensor.name}' is declared {tensor.data_type}, but the model takes {taken}"


def _wrong_rank(tensor: TensorConfig, shape: tuple[Dimension, ...], config: ModelConfig) -> str:
    dims = tensor.model_dims
    declared = f"{list(dims)} behind the batch dimension" if config.max_batch_size else str(list(dims))
    surplus = len(declared_shape(tensor, config)) - len(shape)
    hint = ""
    if not shape and not config.max_batch_size:
        hint = ": declare dims: [ 1 ]"
    elif config.max_batch_size and surplus == 1:
        hint = ": leave the batch dimension out of dims, or set max_batch_size: 0"
    elif not config.max_batch_size and surplus == -1:
        hint = ": add the missing dimension to dims, or set max_batch_size"
    return (
        f"input '{tensor.name}' is declared with dims {declared}, but the model takes "
        f"{len(shape)} dimension{'' if len(shape) == 1 else 's'}, {shape_text(shape)}{hint}"
    )


def _batch_faults(tensor: TensorConfig, batch: Dimension, config: ModelConfig) -> Iterator[str]:
    if batch.size.constant is not None:
        yield (
            f"the config has max_batch_size: {config.max_batch_size}, but the model was exported with a fixed first "
            f"dimension of {batch.size} for input '{tensor.name}': export with a dynamic first dimension, or set "
            "max_batch_size: 0"
        )


def _size_faults(tensor: TensorConfig, number: int, size: int, shape: tuple[Dimension, ...]) -> Iterator[str]:
    dimension = shape[number]
    if size < dimension.lower or (dimension.upper is not None and size > dimension.upper):
        yield (
            f"dimension {number} of input '{tensor.name}' is declared {size}, but the model takes "
            f"{bounds_text(dimension)} in {shape_text(shape)}"
        )


def bounds_text(dimension: Dimension) -> str:
    """Print the sizes that a dimension may have: `3`, `1 to 64`, `at least 2`."""
    if dimension.size.constant is not None:
        return str(dimension.size)
    return f"at least {dimension.lower}" if dimension.upper is None else f"{dimension.lower} to {dimension.upper}"
