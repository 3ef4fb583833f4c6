"""What a method takes and returns: from its schema, and from its code where that says more."""

from dataclasses import dataclass, replace
from typing import Any

import torch

from triton_pytorch.io_naming.argument_names import Argument, ArgumentKind, Keys
from triton_pytorch.io_naming.result_names import UNKNOWN, ResultKind, ResultType
from triton_pytorch.torchscript_loader import graphs

# By type, as torch writes it in annotations.
_ARGUMENTS = {
    "Tensor": ArgumentKind.TENSOR,
    "Optional[Tensor]": ArgumentKind.TENSOR,
    "List[str]": ArgumentKind.STRINGS,
    "Dict[str, Tensor]": ArgumentKind.TENSORS_BY_KEY,
}
_NUMBERS = {"int": "int64", "float": "float64", "bool": "bool", "complex": "complex128"}
_LEAVES = {
    "Tensor": ResultKind.TENSOR,
    "str": ResultKind.STRINGS,
    "List[str]": ResultKind.STRINGS,
    "NoneType": ResultKind.NONE,
    **dict.fromkeys(_NUMBERS, ResultKind.NUMBER),
}


@dataclass(frozen=True, slots=True)
class Signature:
    """A method as its callers see it, and what its code holds that depends on a device.

    `baked_devices` are devices that the code names, wherever it runs; `constants_device` is that of the first tensor
    in the code itself, where a frozen module has its weights.
    """

    arguments: tuple[Argument, ...]
    result: ResultType
    baked_devices: tuple[str, ...]
    constants_device: torch.device | None


def read_signature(method: Any) -> Signature:
    """Read the signature of a `torch.ScriptMethod`."""
    schema, graph = method.schema, method.inlined_graph
    taken = zip(schema.arguments[1:], list(graph.inputs())[1:], strict=True)  # without self
    (returned,) = graph.outputs()
    return Signature(
        arguments=tuple(_argument(argument, value) for argument, value in taken),
        result=_result_type(schema.returns[0].type, graph, returned),
        baked_devices=tuple(graphs.baked_devices(graph)),
        constants_device=next((tensor.device for tensor in graphs.constant_tensors(graph)), None),
    )


def _argument(argument: Any, value: graphs.Value) -> Argument:
    kind = _argument_kind(argument.type)
    keys = graphs.read_keys(value) if kind is ArgumentKind.TENSORS_BY_KEY else Keys()
    return Argument(argument.name, kind, argument.has_default_value(), argument.type.annotation_str, keys)


def _argument_kind(kind: Any) -> ArgumentKind:
    return _ARGUMENTS.get(kind.annotation_str, ArgumentKind.OTHER)


def _result_type(kind: Any, graph: graphs.Graph, value: graphs.Value | None) -> ResultType:
    """Return the type of a result, or of a part of it, given the value in the graph where that is known."""
    text, name = kind.annotation_str, kind.kind()
    if text in _LEAVES:
        dtype = _NUMBERS.get(text)
        return ResultType(_LEAVES[text], text, dtype)
    if name == "OptionalType":
        return replace(_result_type(kind.getElementType(), graph, None), text=text, is_optional=True)
    parts = None if value is None else graphs.parts_of(graph, value)
    if name == "TupleType":
        elements = kind.elements()
        values = [None] * len(elements) if parts is None else [part for _, part in parts.parts]
        typed = [_result_type(element, graph, part) for element, part in zip(elements, values, strict=True)]
        return ResultType(ResultKind.SEQUENCE, text, children=tuple((str(i), part) for i, part in enumerate(typed)))
    if name == "ListType":
        return _container(ResultKind.SEQUENCE, text, kind.getElementType(), graph, parts)
    if name == "DictType":
        return _container(ResultKind.MAPPING, text, kind.getValueType(), graph, parts)
    return replace(UNKNOWN, text=text)


def _container(
    kind: ResultKind, text: str, element: Any, graph: graphs.Graph, parts: graphs.Parts | None
) -> ResultType:
    common = ResultType(kind, text, element=_result_type(element, graph, None))
    if parts is None:
        return common
    children = tuple((key, _result_type(element, graph, part)) for key, part in parts.parts)
    return replace(common, children=children, are_certain=parts.are_certain)
