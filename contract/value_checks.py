"""Data types in config.pbtxt against what the leaves of a model are: tensors, strings or numbers.

torch has no tensors of strings, so strings come and go as lists, which have one dimension.
"""

from collections.abc import Iterator

from triton_pytorch.contract.declared_inputs import DeclaredInput
from triton_pytorch.contract.leaves import Leaf, ValueKind
from triton_pytorch.model_config.datatypes import DataType, data_type_of
from triton_pytorch.model_config.tensors import ONE_IN_EACH_ROW, TensorConfig

SENDABLE = "Tensor, int, float, bool, an Optional of these, List[str] or Dict[str, Tensor]"

# What an input that is a number can be declared, in words and all of it, by the dtype of its leaf.
_NUMBER_TYPES = {
    "int64": ("TYPE_INT64 or another integer type", {it for it in DataType if "INT" in it.name}),
    "float64": ("TYPE_FP64 or TYPE_FP32", {DataType.FP64, DataType.FP32}),
    "bool": ("TYPE_BOOL", {DataType.BOOL}),
}


def unsendable_argument(leaf: Leaf) -> str:
    """Say why a model cannot be called through Triton that needs an argument which no request can send."""
    return (
        f"argument '{leaf}' is of type {leaf.type} and has no default, but requests can send only {SENDABLE}: "
        "give it a default, or serve a module around this one"
    )


def is_answerable(leaf: Leaf) -> bool:
    """Return whether an output leaf can be in a response."""
    if leaf.kind is ValueKind.NUMBER:
        return data_type_of(leaf.dtype) is not None
    return leaf.kind not in (ValueKind.OTHER, ValueKind.NONE)


def input_value_errors(declared: DeclaredInput, leaf: Leaf) -> Iterator[str]:
    """Yield what is wrong with the data type of an input, or with the dims of one of strings."""
    label = f"input '{declared.name}'"
    if leaf.kind is ValueKind.OTHER:
        remedy = ": remove it from the config, and its default applies" if leaf.has_default else ""
        yield f"{label} is argument '{leaf}' of type {leaf.type}, which no request can send{remedy}"
    elif leaf.kind is ValueKind.STRINGS:
        if declared.data_type is not DataType.STRING:
            yield f"{label} is declared {declared.data_type}, but the model takes {leaf.type}: declare TYPE_STRING"
        else:
            yield from _dims_errors(label, declared.shape, is_batched=declared.is_batched)
    elif leaf.kind is ValueKind.NUMBER:
        words, data_types = _NUMBER_TYPES[leaf.dtype or ""]
        if declared.data_type not in data_types:
            yield f"{label} is declared {declared.data_type}, but the model takes {leaf.type}: declare {words}"
    elif declared.data_type is DataType.STRING:
        yield f"{label} is declared TYPE_STRING, but the model takes a tensor there: declare {_type_of(leaf)}"


def output_value_errors(declared: TensorConfig, leaf: Leaf, *, is_batched: bool) -> Iterator[str]:
    """Yield what is wrong with the data type of an output, or with the dims of one of strings, as far as is known."""
    label = f"output '{declared.name}'"
    returned = f"{label} is declared {declared.data_type}, but the model returns {leaf.type}"
    if leaf.kind is ValueKind.NONE:
        yield f"{label} is always None: remove it from the config"
    elif leaf.kind is ValueKind.OTHER:
        yield f"{label} is of type {leaf.type}, which no response can hold: remove it from the config"
    elif declared.data_type is DataType.STRING:
        if leaf.kind in (ValueKind.TENSOR, ValueKind.NUMBER):
            yield f"{returned}: declare {_type_of(leaf)}"
        else:
            yield from _dims_errors(label, (-1,) * is_batched + declared.model_dims, is_batched=is_batched)
    elif leaf.kind is ValueKind.STRINGS:
        yield f"{returned}: declare TYPE_STRING"
    elif leaf.kind is ValueKind.NUMBER and leaf.dtype != declared.data_type.torch_name:
        yield f"{returned}: {_number_remedy(leaf)}"


def number_type(leaf: Leaf) -> str:
    """Return in words what an input that is a number can be declared."""
    return _NUMBER_TYPES[leaf.dtype or ""][0]


def _type_of(leaf: Leaf) -> str:
    return str(data_type_of(leaf.dtype) or "the data type of the tensor")


def _number_remedy(leaf: Leaf) -> str:
    data_type = data_type_of(leaf.dtype)
    return f"declare {data_type}" if data_type else "remove it, since Triton has no such type"


def _dims_errors(label: str, shape: tuple[int, ...], *, is_batched: bool) -> Iterator[str]:
    if len(shape) == 1:
        return
    if is_batched:
        yield (
            f"{label} is TYPE_STRING with dims {list(shape[1:])} after the batch dimension, but a list of strings has "
            f"one dimension, that of the batch: declare {ONE_IN_EACH_ROW}"
        )
    else:
        yield (
            f"{label} is TYPE_STRING with dims {list(shape)}, but a list of strings has one dimension: "
            "declare dims: [ -1 ]"
        )
