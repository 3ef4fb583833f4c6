"""The names of all leaves that a model takes and returns, read from the call spec that torch stores in a package.

A call spec is two pytree specs, each in the JSON of `torch.utils._pytree.treespec_dumps`, protocol 1:

    spec  = [1, node]
    leaf  = {"type": null, "context": null, "children_spec": []}
    node  = {"type": name, "context": context, "children_spec": [node or leaf, ..]}

A context is a value, or a JSON text of one. That of a dictionary lists the keys in the order of the children. A
registered class goes by its keys where its context lists them: HuggingFace's ModelOutput has ["logits", "hidden"], a
dataclass [["logits"], ["hidden"]] (its fields, then those that were None), a defaultdict {"dict_context": ["a"], ..}.
Everything else goes by index, a namedtuple too: its field names are not in the spec.
"""

import json
import re
import reprlib
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from triton_pytorch.io_naming.leaf_names import LeafNames
from triton_pytorch.io_naming.names import LeafPath, Root, forbidden_character
from triton_pytorch.model_config.errors import ArtifactError
from triton_pytorch.model_config.suggestions import listed

_PROTOCOL = 1
_SEQUENCES = ("builtins.tuple", "builtins.list", "collections.namedtuple")
_MAPPINGS = ("builtins.dict", "collections.OrderedDict")
_Leaves = list[tuple[LeafPath, str | None]]  # with the owner of each
_LEAF: dict[str, object] = {"type": None, "context": None, "children_spec": []}


@dataclass(frozen=True, slots=True)
class CallSpec:
    """The names of all leaves in flat order: leaf i is `INPUT__i` or `OUTPUT__i`.

    `errors` say which leaves no tensor's name can be made for, so that the model cannot be served.
    """

    inputs: tuple[LeafNames, ...]
    outputs: tuple[LeafNames, ...]
    errors: tuple[str, ...]


def read_call_spec(in_spec: str, out_spec: str) -> CallSpec:
    """Read the two specs of a package, as `AOTIModelPackageLoader.get_call_spec()` or the wrapper source gives them.

    Raises ArtifactError where a text is not a pytree spec.
    """
    match _tree(in_spec, "in_spec"):
        case {
            "type": "builtins.tuple",
            "children_spec": [{"type": "builtins.tuple"} as args, {"type": "builtins.dict"} as kwargs],
        }:
            inputs = [*_leaves("ARGS", args), *_leaves("KWARGS", kwargs)]
        case _:
            raise ArtifactError("the package's in_spec is damaged: expected a tuple of an args tuple and a kwargs dict")
    outputs = _leaves("RESULT", _tree(out_spec, "out_spec"))
    errors = [error for leaves in (inputs, outputs) for error in (*_key_errors(leaves), *_twin_errors(leaves))]
    return CallSpec(_named(inputs), _named(outputs), tuple(errors))


def leaf_count_errors(spec: CallSpec, runner_inputs: int) -> Iterator[str]:
    """Yield what is wrong where the compiled model takes another number of tensors than its call spec has input leaves.

    `None` and constant arguments are leaves of the spec and no inputs of the runner, so that leaf i is not input i.
    """
    leaves = f"{len(spec.inputs)} input leaves ({listed([names.names[0] for names in spec.inputs])})"
    if runner_inputs < len(spec.inputs):
        yield (
            f"the package's call spec has {leaves} but its compiled model takes {runner_inputs} tensors, because"
            " some arguments were None or constants at export: export with tensors only, making the rest part of"
            " the module, for example through a wrapper module whose forward takes tensors only"
        )
    if runner_inputs > len(spec.inputs):
        yield (
            f"the package's call spec has {leaves} but its compiled model takes {runner_inputs} tensors:"
            " they do not belong together, so build the package again"
        )


def _tree(text: str, part: str) -> object:
    match _parsed(text, f"the package's {part}"):
        case [int(protocol), tree] if protocol == _PROTOCOL:
            return tree
        case [protocol, _]:
            raise ArtifactError(
                f"the package's {part} is written in pytree protocol {reprlib.repr(protocol)},"
                f" but only protocol {_PROTOCOL} is known: export it with a torch that this backend supports"
            )
    raise ArtifactError(
        f"the package's {part} is not a pytree spec: expected [{_PROTOCOL}, node], got {reprlib.repr(text)}"
    )


def _parsed(text: str, what: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ArtifactError(f"{what} is not valid JSON ({error}): {reprlib.repr(text)}") from error


def _key_errors(leaves: _Leaves) -> Iterator[str]:
    keys = {
        (LeafPath(path.root, path.segments[:number]), segment): forbidden
        for path, _ in leaves
        for number, segment in enumerate(path.segments)
        if (forbidden := forbidden_character(segment)) is not None
    }
    for (path, key), forbidden in keys.items():
        yield (
            f"the key {key!r} of the dictionary at {path} holds {forbidden!r}, so no tensor name can be made of it:"
            ' expected a key without , " [ ] white space and unprintable characters; rename it and export again'
        )


def _twin_errors(leaves: _Leaves) -> Iterator[str]:
    twins = [str(path) for path, count in Counter(path for path, _ in leaves).items() if count > 1]
    if twins:
        yield (
            f"several leaves of the model print alike as {listed(twins)}, so no name fits one of them alone:"
            " expected keys that differ as text, got some like 1 and '1'; rename one and export again"
        )


def _named(leaves: _Leaves) -> tuple[LeafNames, ...]:
    return tuple(LeafNames(path, (str(path),), index=index, owner=owner) for index, (path, owner) in enumerate(leaves))


def _leaves(root: Root, tree: object) -> _Leaves:
    """Return the path of each leaf, with its owner: the keyword of the call or the key of the result it belongs to."""
    paths = []
    waiting = [(LeafPath(root), tree)]
    while waiting:  # a loop, because a damaged spec may be nested deeper than Python recurses
        path, node = waiting.pop()
        if node == _LEAF:
            paths.append(path)
        else:
            keys, children = _keys_and_children(path, node)
            segments = map(str, range(len(children))) if keys is None else keys
            below = [LeafPath(root, (*path.segments, segment)) for segment in segments]
            waiting.extend(reversed(list(zip(below, children, strict=True))))
    is_keyed = tree != _LEAF and _keys_and_children(LeafPath(root), tree)[0] is not None
    return [(path, path.segments[0] if is_keyed else None) for path in paths]


def _keys_and_children(path: LeafPath, node: object) -> tuple[list[str] | None, list[object]]:
    """Return the children of a node with the keys that they go by, None where they go by index."""
    match node:
        case {"type": str(kind), "context": context, "children_spec": list(children)}:
            if kind in _SEQUENCES:
                return None, children
            if kind not in _MAPPINGS:
                return _keys_of_registered(context, len(children)), children
            keys = [_key_text(path, key) for key in _keys(path, context)]
            if len(keys) == len(children):
                return keys, children
    raise _damaged(path, node, "pytree node")


def _keys_of_registered(context: object, count: int) -> list[str] | None:
    """Return the keys of a class that only its author knows, where its context is seen to list them."""
    with suppress(ValueError, RecursionError):
        context = json.loads(context) if isinstance(context, str) else context
    match context:
        case [list(fields), list()] | {"dict_context": list(fields)}:
            keys = fields
        case list():
            keys = context
        case _:
            return None
    are_names = all(isinstance(key, str) and forbidden_character(key) is None for key in keys)
    return keys if are_names and len(keys) == len(set(keys)) == count else None


def _keys(path: LeafPath, context: object) -> list[object]:
    keys = _parsed(context, f"the list of keys at {path}") if isinstance(context, str) else context
    if not isinstance(keys, list):
        raise _damaged(path, context, "list of keys")
    return keys


def _key_text(path: LeafPath, key: object) -> str:
    """Return `str()` of the key in Python: torch writes an enum member as an object and a tuple as a list."""
    match key:
        case {"__enum__": True, "fqn": str(class_name), "name": str(member)}:
            return f"{re.split('[.:]', class_name)[-1]}.{member}"
        case dict():
            raise _damaged(path, key, "key")
        case list(elements):
            return reprlib.repr(tuple(elements))  # an excerpt will do: its comma is refused anyway
    return str(key)


def _damaged(path: LeafPath, found: object, expected: str) -> ArtifactError:
    return ArtifactError(f"the package's call spec is damaged at {path}: {reprlib.repr(found)} is not a {expected}")
