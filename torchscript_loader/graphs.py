"""What the code of a method says of its dictionaries, its result and its devices, read from its graph.

The graph of a method holds, inlined, all that it calls. Only what is certain is told: a dictionary that goes where it
cannot be followed counts as one whose keys are not known.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from triton_pytorch.method_calls.arguments import Keys

# What `torch._C` has by these names; its stubs leave most of it out. They live no longer than their graph.
Graph = Any
Node = Any
Use = Any
Value = Any

_READS = ("aten::__getitem__", "aten::get", "aten::__contains__")
_CONSTRUCTIONS = ("prim::TupleConstruct", "prim::ListConstruct", "prim::DictConstruct")
_PUT = "aten::_set_item"
_LOOKS = (*_READS, "aten::len", "aten::keys", "aten::values", "aten::items")


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts that a container can have, by index or key; their values where these are known.

    `are_certain` says that it has them all, in this order.
    """

    parts: tuple[tuple[str, Value | None], ...]
    are_certain: bool = True


def read_keys(dictionary: Value) -> Keys:
    """Return the keys that a graph reads from one of its inputs; they are known where the code spells them out.

    Where the code may put entries itself, it may have put those that it reads.
    """
    required: dict[str, None] = {}
    optional: dict[str, None] = {}
    are_all = True
    is_only_read = all(use.offset == 0 and use.user.kind() in _LOOKS for use in dictionary.uses())
    for use in dictionary.uses():
        key = _constant_text(use.user.inputsAt(1)) if use.offset == 0 and use.user.kind() in _READS else None
        if key is None:
            are_all = are_all and use.user.kind() == "aten::len"
        elif is_only_read and use.user.kind() == "aten::__getitem__" and _is_unconditional(use.user):
            required[key] = None
        else:
            optional[key] = None
    return Keys(tuple(required), tuple(key for key in optional if key not in required), are_all)


def parts_of(graph: Graph, container: Value) -> Parts | None:
    """Return the parts of a tuple, list or dictionary that a graph makes; None where it does not tell them."""
    made = container.node()
    if made.kind() in ("prim::TupleConstruct", "prim::ListConstruct") and all(map(_is_handed_on, container.uses())):
        return Parts(tuple((str(index), part) for index, part in enumerate(made.inputs())))
    if made.kind() != "prim::DictConstruct":
        return None
    if all(_is_handed_on(use) or _is_put(use) for use in container.uses()):
        return _entries(graph, container)
    if all(_is_handed_on(use) or (use.offset == 0 and use.user.kind() in (_PUT, *_LOOKS)) for use in container.uses()):
        return _possible_entries(container)
    return None


def baked_devices(graph: Graph) -> list[str]:
    """Return the devices that the code names, whatever device it runs on."""
    constants = [
        node for node in graph.findAllNodes("prim::Constant") if node.output().type().kind() == "DeviceObjType"
    ]
    devices = [node.s("value") for node in constants]
    return list(dict.fromkeys(devices + ["cuda"] * bool(graph.findAllNodes("aten::cuda"))))


def constant_tensors(graph: Graph) -> Iterator[torch.Tensor]:
    """Yield the tensors in the code itself, as a frozen module has its weights."""
    for node in graph.findAllNodes("prim::Constant"):
        if node.output().type().kind() == "TensorType" and node.hasAttribute("value"):
            yield node.t("value")


def _constant_text(value: Value) -> str | None:
    made = value.node()
    is_text = made.kind() == "prim::Constant" and value.type().kind() == "StringType"
    return made.s("value") if is_text else None


def _is_unconditional(node: Node) -> bool:
    block: Any = node.owningBlock().owningNode()
    return block is None


def _is_put(use: Use) -> bool:
    """Return whether a dictionary gets an entry in every call."""
    return use.offset == 0 and use.user.kind() == _PUT and _is_unconditional(use.user)


def _is_handed_on(use: Use) -> bool:
    """Return whether a container goes into the result, alone or in another one, and nothing can change it there."""
    kind = use.user.kind()
    if not _is_unconditional(use.user):
        return False
    if kind == "prim::Return":
        return True
    if kind == _PUT:
        holder = use.user.inputsAt(0)
        return use.offset == 2 and all(_is_handed_on(other) or _is_put(other) for other in holder.uses())
    return kind in _CONSTRUCTIONS and all(map(_is_handed_on, use.user.output().uses()))


def _entries(graph: Graph, dictionary: Value) -> Parts | None:
    made = list(dictionary.node().inputs())
    put = [node for node in graph.nodes() if node.kind() == _PUT and _is_same(node.inputsAt(0), dictionary)]
    pairs = [*zip(made[::2], made[1::2], strict=True), *((node.inputsAt(1), node.inputsAt(2)) for node in put)]
    entries = {_constant_text(key): value for key, value in pairs}
    return _parts(entries, are_certain=True)


def _possible_entries(dictionary: Value) -> Parts | None:
    keys = list(dictionary.node().inputs())[::2]
    keys += [use.user.inputsAt(1) for use in dictionary.uses() if use.offset == 0 and use.user.kind() == _PUT]
    return _parts({_constant_text(key): None for key in keys}, are_certain=False)


def _parts(entries: Mapping[str | None, Value | None], *, are_certain: bool) -> Parts | None:
    known = tuple((key, value) for key, value in entries.items() if key is not None)
    return Parts(known, are_certain) if len(known) == len(entries) else None


def _is_same(one: Value, other: Value) -> bool:
    same: bool = one.unique() == other.unique()
    return same
