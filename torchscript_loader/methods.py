"""What a method of a TorchScript module takes and returns: from its schema, and from its code where that says more."""

from dataclasses import dataclass, replace
from typing import Any

import torch

from triton_pytorch.contract.leaves import ValueKind
from triton_pytorch.contract.signature import Signature
from triton_pytorch.method_calls.arguments import Argument, argument_leaves
from triton_pytorch.method_calls.results import (
    ContainerKind,
    ContainerType,
    LeafType,
    ResultType,
    result_leaves,
)
from triton_pytorch.torchscript_loader import graphs
from triton_pytorch.torchscript_loader.state import kept_state

# By type, as torch writes it in annotations.
_NUMBERS = {"int": "int64", "float": "float64", "bool": "bool", "complex": "complex128"}
_SENDABLE_NUMBERS = {text: _NUMBERS[name] for name in ("int", "float", "bool") for text in (name, f"Optional[{name}]")}
_DICTIONARY = "Dict[str, Tensor]"
_ARGUMENTS = {
    **dict.fromkeys(("Tensor", "Optional[Tensor]", _DICTIONARY), ValueKind.TENSOR),
    "List[str]": ValueKind.STRINGS,
    **dict.fromkeys(_SENDABLE_NUMBERS, ValueKind.NUMBER),
}
_LEAVES = {
    "Tensor": ValueKind.TENSOR,
    "str": ValueKind.STRINGS,
    "List[str]": ValueKind.STRINGS,
    "NoneType": ValueKind.NONE,
    **dict.fromkeys(_NUMBERS, ValueKind.NUMBER),
}
# Types of results, by kind, that may be any of those that a response can hold: Any, Union, Scalar.
_TOLD_BY_ANSWERS = ("AnyType", "UnionType", "NumberType")
_NAMED_TUPLE = "NamedTuple("


@dataclass(frozen=True, slots=True)
class ScriptMethod:
    """A method of a loaded module; `call` is the method itself, `arguments` are those other than `self`.

    `defaults` are those of the arguments as Python prints them, None where there is none. `baked_devices` are devices
    that the code names, wherever it runs; `constants_device` is that of the first tensor in the code itself, where a
    frozen module has its weights. `kept_state` are attributes of the module that a call changes for the next one.
    """

    name: str
    call: Any
    arguments: tuple[Argument, ...]
    defaults: tuple[str | None, ...]
    result: ResultType
    signature: Signature
    baked_devices: tuple[str, ...]
    constants_device: torch.device | None
    kept_state: tuple[str, ...]


def read_method(method: Any) -> ScriptMethod:
    """Read what a `torch.ScriptMethod` takes and returns."""
    schema, graph = method.schema, method.inlined_graph
    taken = schema.arguments[1:]  # without self
    values = list(graph.inputs())[1:]
    (returned,) = graph.outputs()
    arguments = tuple(_argument(argument, value) for argument, value in zip(taken, values, strict=True))
    result = _result_type(schema.returns[0].type, graph, returned)
    outputs, has_open_result = result_leaves(result)
    return ScriptMethod(
        name=schema.name,
        call=method,
        arguments=arguments,
        defaults=tuple(map(_default, taken)),
        result=result,
        signature=Signature(argument_leaves(arguments), outputs, has_open_result, follows_config_order=True),
        baked_devices=tuple(graphs.baked_devices(graph)),
        constants_device=next((tensor.device for tensor in graphs.constant_tensors(graph)), None),
        kept_state=tuple(kept_state(graph, method.owner)),
    )


def _argument(argument: Any, value: graphs.Value) -> Argument:
    text = argument.type.annotation_str
    kind = _ARGUMENTS.get(text, ValueKind.OTHER)
    keys = graphs.read_keys(value) if text == _DICTIONARY else None
    return Argument(argument.name, kind, argument.has_default_value(), text, keys, _SENDABLE_NUMBERS.get(text))


def _default(argument: Any) -> str | None:
    if not argument.has_default_value():
        return None
    value = argument.default_value
    return "a tensor" if isinstance(value, torch.Tensor) else repr(value)


def _result_type(kind: Any, graph: graphs.Graph, value: graphs.Value | None) -> ResultType:
    """Return the type of a result, or of a part of it, given the value in the graph where that is known."""
    text, name = kind.annotation_str, kind.kind()
    if text in _LEAVES:
        return LeafType(_LEAVES[text], text, _NUMBERS.get(text))
    if name == "OptionalType":
        return _optional_type(_result_type(kind.getElementType(), graph, None))
    parts = None if value is None else graphs.parts_of(graph, value)
    if name == "TupleType":
        return _tuple_type(kind, graph, parts)
    if name == "ListType":
        element = _result_type(kind.getElementType(), graph, None)
        common = ContainerType(ContainerKind.SEQUENCE, f"List[{element.text}]", element=element)
        return _with_parts(common, kind.getElementType(), graph, parts)
    if name == "DictType":
        element = _result_type(kind.getValueType(), graph, None)
        words = f"Dict[{kind.getKeyType().annotation_str}, {element.text}]"
        common = ContainerType(ContainerKind.MAPPING, words, element=element)
        return _with_parts(common, kind.getValueType(), graph, parts)
    return LeafType(ValueKind.UNKNOWN if name in _TOLD_BY_ANSWERS else ValueKind.OTHER, text)


def _optional_type(present: ResultType) -> ResultType:
    text = f"Optional[{present.text}]"
    if isinstance(present, ContainerType):
        return replace(present, text=text, is_optional=True)
    return replace(present, text=text)


def _tuple_type(kind: Any, graph: graphs.Graph, parts: graphs.Parts | None) -> ContainerType:
    elements, fields = kind.elements(), _fields(kind)
    values = [None] * len(elements) if parts is None else [part for _, part in parts.parts]
    typed = [_result_type(element, graph, part) for element, part in zip(elements, values, strict=True)]
    if fields:
        # torch writes the name of its class, which says nothing of the fields.
        text = f"NamedTuple({', '.join(f'{name}: {part.text}' for name, part in zip(fields, typed, strict=True))})"
    else:
        text = f"Tuple[{', '.join(part.text for part in typed)}]"
    children = tuple((str(index), part) for index, part in enumerate(typed))
    return ContainerType(ContainerKind.SEQUENCE, text, children, fields=fields)


def _fields(kind: Any) -> tuple[str, ...]:
    """Return the names of a NamedTuple's fields, which torch tells only as `NamedTuple(first : Tensor, ...)`."""
    text = kind.str()
    if not text.startswith(_NAMED_TUPLE):
        return ()
    names = []
    rest = text.removeprefix(_NAMED_TUPLE)
    for element in kind.elements():
        name, _, rest = rest.partition(" : ")
        names.append(name)
        rest = rest.removeprefix(element.str()).removeprefix(", ")
    return tuple(names)


def _with_parts(
    container: ContainerType, element: Any, graph: graphs.Graph, parts: graphs.Parts | None
) -> ContainerType:
    """Add the parts that the graph tells to a list or dictionary of elements of a type."""
    if parts is None:
        return container
    children = tuple((key, _result_type(element, graph, part)) for key, part in parts.parts)
    return replace(container, children=children, are_certain=parts.are_certain)
