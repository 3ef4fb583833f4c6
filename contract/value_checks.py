"""Data types in config.pbtxt held against what the arguments and the result of a method are: tensors, strings, numbers.

torch has no tensors of strings, so strings come and go as lists, which have one dimension.
"""

from collections.abc import Iterator

from triton_pytorch.io_naming.argument_names import Argument, ArgumentKind
from triton_pytorch.contract.declared_inputs import DeclaredInput
from triton_pytorch.io_naming.result_names import ResultKind, ResultType
from triton_pytorch.model_config.datatypes import DataType
from triton_pytorch.model_config.tensors import TensorConfig


def input_type_faults(declared: DeclaredInput, argument: Argument) -> Iterator[str]:
    """Yield what is wrong with the data type of an input, or with the dims of one of strings."""
    label = f"input '{declared.name}'"
    takes = f"the model takes {_value_of(argument)}"
    if argument.kind is not ArgumentKind.STRINGS:
        if declared.data_type is DataType.STRING:
            yield f"{label} is declared TYPE_STRING, but {takes}: declare the data type of the tensor"
    elif declared.data_type is not DataType.STRING:
        yield f"{label} is declared {declared.data_type}, but {takes}: declare TYPE_STRING"
    else:
        yield from _dims_faults(label, declared.shape, is_batched=declared.is_batched)


def output_type_faults(declared: TensorConfig, result: ResultType, *, is_batched: bool) -> Iterator[str]:
    """Yield what is wrong with the data type of an output, or with the dims of one of strings, as far as is known."""
    label = f"output '{declared.name}'"
    returned = f"{label} is declared {declared.data_type}, but the model returns {result.text}"
    if declared.data_type is DataType.STRING:
        if result.kind in (ResultKind.TENSOR, ResultKind.NUMBER):
            yield f"{returned}: declare its data type"
        else:
            yield from _dims_faults(label, (-1,) * is_batched + declared.model_dims, is_batched=is_batched)
    elif result.kind is ResultKind.STRINGS:
        yield f"{returned}: declare TYPE_STRING"
    elif result.kind is ResultKind.NUMBER and result.dtype != declared.data_type.torch_name:
        yield f"{returned}: {_number_remedy(result)}"


def _value_of(argument: Argument) -> str:
    return "tensors there" if argument.kind is ArgumentKind.TENSORS_BY_KEY else argument.type


def _number_remedy(result: ResultType) -> str:
    data_type = next((data_type for data_type in DataType if data_type.torch_name == result.dtype), None)
    return f"declare {data_type}" if data_type else "remove it, since Triton has no such type"


def _dims_faults(label: str, shape: tuple[int, ...], *, is_batched: bool) -> Iterator[str]:
    if len(shape) == 1:
        return
    if is_batched:
        yield (
            f"{label} is TYPE_STRING with dims {list(shape[1:])} behind the batch dimension, but a list of strings has "
            "one dimension, that of the batch: declare dims: [ 1 ] and reshape: { shape: [ ] }"
        )
    else:
        yield (
            f"{label} is TYPE_STRING with dims {list(shape)}, but a list of strings has one dimension: "
            "declare dims: [ -1 ]"
        )
