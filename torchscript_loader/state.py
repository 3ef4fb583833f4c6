"""What a method keeps from one call to the next: attributes of its module that its code changes."""

from collections.abc import Iterator
from typing import Any

from triton_pytorch.model_config.suggestions import listed
from triton_pytorch.torchscript_loader.graphs import Graph, Node, Value

_Path = tuple[str, ...]

# What hands on its first input itself, or memory that is a part of it.
_PARTS = frozenset(
    {
        *(f"prim::{name}" for name in ("ListUnpack", "TupleIndex", "TupleUnpack", "unchecked_cast")),
        *(f"aten::{name}" for name in ("__getitem__", "chunk", "detach", "diagonal", "expand", "expand_as", "narrow")),
        *(f"aten::{name}" for name in ("permute", "select", "slice", "split", "squeeze", "t", "transpose", "unbind")),
        *(f"aten::{name}" for name in ("unfold", "unsqueeze", "view", "view_as")),
    }
)
# What changes a list or dictionary that is its first input; what changes a tensor has a name that ends in `_`.
_CHANGES_CONTAINER = frozenset(
    f"aten::{name}"
    for name in (
        *("_set_item", "append", "clear", "Delete", "extend", "insert", "pop", "popitem", "remove", "reverse"),
        *("setdefault", "update"),
    )
)


def kept_state(graph: Graph, module: Any) -> list[str]:
    """Return the attributes that a method changes and reads, such as `counter` or `encoder.cache`.

    What the code does in training alone is left out: a branch on a flag of the module, such as `training`, that no
    code sets, is not taken where the flag is off. Only what is certain is told: an attribute that goes where it cannot
    be followed counts as unchanged.

    Args:
        graph: that of the method, inlined, so that it holds the code of all submodules.
        module: the module of the method, as torch's bindings have it (`torch.ScriptMethod.owner`).
    """
    owner = next(iter(graph.inputs()))
    setters = [(node, path) for node in graph.findAllNodes("prim::SetAttr") if (path := _path(node, owner)) is not None]
    assigned = {path for _, path in setters}
    flags = _Flags(module, owner, assigned)
    kept: dict[_Path, None] = {}
    read: set[_Path] = set()
    # A large model has tens of thousands of nodes: only those are looked at that have to do with attributes.
    for node in graph.findAllNodes("prim::GetAttr"):
        value = node.output()
        if value.type().kind() == "ClassType":  # a submodule or another object, of which attributes are read
            continue
        is_changed = any(_is_executed(change, flags) for change in _changes(value))
        if (is_changed or assigned) and (path := _path(node, owner)) is not None:
            read.add(path)
            if is_changed:
                kept[path] = None
    # One that is only set changes no answer.
    kept |= dict.fromkeys(path for node, path in setters if path in read and _is_executed(node, flags))
    return [".".join(path) for path in kept]


def state_warnings(kept: tuple[str, ...]) -> list[str]:
    """Return one warning if a method keeps state."""
    if not kept:
        return []
    names = listed([f"self.{name}" for name in kept])
    warning = (
        f"the model keeps state in {names}: the requests of all clients change it, in the order in which they come, a "
        "call of merged requests changes it once, and each instance has its own; where it belongs to one client, take "
        "it as an input and return it"
    )
    return [warning]


class _Flags:
    """The values of the module's flags, and of what the code makes of them."""

    def __init__(self, module: Any, owner: Value, assigned: set[_Path]) -> None:
        self._module = module
        self._owner = owner
        self._assigned = assigned

    def value(self, condition: Value) -> bool | None:
        """Return whether a condition is true in every call, or false in every call; None where that is not known."""
        node = condition.node()
        kind = node.kind()
        if kind == "prim::GetAttr":
            return self._attribute(_path(node, self._owner))
        if kind == "prim::Constant":
            return bool(node.i("value")) if condition.type().kind() == "BoolType" else None
        if kind == "aten::__not__":
            negated = self.value(node.inputsAt(0))
            return None if negated is None else not negated
        if kind == "prim::If":  # what `and` and `or` are
            chosen = self.value(node.inputsAt(0))
            if chosen is None:
                return None
            results = list(list(node.blocks())[0 if chosen else 1].outputs())
            return self.value(results[condition.offset()])
        return None

    def _attribute(self, path: _Path | None) -> bool | None:
        if path is None or path in self._assigned:
            return None
        value = self._module
        for name in path:
            value = value.getattr(name)
        return value if isinstance(value, bool) else None


def _is_executed(node: Node, flags: _Flags) -> bool:
    """Return whether some call may come to a node: it is in no branch that a flag of the module turns off."""
    block = node.owningBlock()
    while (holder := block.owningNode()) is not None:
        if holder.kind() == "prim::If":
            is_taken = flags.value(holder.inputsAt(0))
            branch = list(holder.blocks()).index(block) == 0
            if is_taken is not None and is_taken is not branch:
                return False
        block = holder.owningBlock()
    return True


def _changes(value: Value) -> Iterator[Node]:
    """Yield the nodes that change a tensor or container, or a part of it, in place."""
    for use in value.uses():
        if use.offset != 0:
            continue
        user = use.user
        kind = user.kind()
        if kind in _CHANGES_CONTAINER or (kind.endswith("_") and not kind.endswith("__")):
            yield user
        elif kind in _PARTS:
            for part in user.outputs():
                yield from _changes(part)


def _path(node: Node, owner: Value) -> _Path | None:
    """Return which attribute a `prim::GetAttr` or `prim::SetAttr` means; None for one of what the call itself made."""
    names = [node.s("name")]
    value = node.inputsAt(0)
    node = value.node()
    while node.kind() == "prim::GetAttr":
        names.append(node.s("name"))
        value = node.inputsAt(0)
        node = value.node()
    return tuple(reversed(names)) if value.unique() == owner.unique() else None
