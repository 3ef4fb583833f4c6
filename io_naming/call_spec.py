"""The leaves that a model takes and returns, read from the call spec that torch stores in a package.

A call spec is two pytree specs, each in the JSON of `torch.utils._pytree.treespec_dumps`, protocol 1:

    spec  = [1, node]
    leaf  = {"type": null, "context": null, "children_spec": []}
    node  = {"type": name, "context": context, "children_spec": [node or leaf, ..]}

The context of a dictionary is a JSON text of its own that lists the keys in the order of the children; other
contexts do not matter here. A namedtuple is read by index: its field names are not in the spec.
"""

import json
import re
import reprlib
from collections import Counter
from dataclasses import dataclass

from triton_pytorch.io_naming.names import LeafPath, Root, forbidden_character
from triton_pytorch.model_config.errors import ArtifactError, NamingError, UnsupportedError
from triton_pytorch.model_config.suggestions import listed

_PROTOCOL = 1
_SEQUENCES = ("builtins.tuple", "builtins.list", "collections.namedtuple")
_MAPPINGS = ("builtins.dict", "collections.OrderedDict")


@dataclass(frozen=True, slots=True)
class CallSpec:
    """The paths of all leaves in flat order: leaf i is `INPUT__i` or `OUTPUT__i`."""

    inputs: tuple[LeafPath, ...]
    outputs: tuple[LeafPath, ...]


def read_call_spec(in_spec: str, out_spec: str) -> CallSpec:
    """Read the two specs of a package, as `AOTIModelPackageLoader.get_call_spec()` or the wrapper source gives them.

    Raises ArtifactError where a text is no pytree spec, UnsupportedError where the tree holds a node without names
    here, and NamingError where a key cannot be written in a tensor's name or two leaves print alike.
    """
    match _tree(in_spec, "in_spec"):
        case {
            "type": "builtins.tuple",
            "children_spec": [{"type": "builtins.tuple"} as args, {"type": "builtins.dict"} as kwargs],
        }:
            inputs = (*_leaves("ARGS", args), *_leaves("KWARGS", kwargs))
        case _:
            raise ArtifactError("the package's in_spec is damaged: expected a tuple of an args tuple and a kwargs dict")
    outputs = _leaves("RESULT", _tree(out_spec, "out_spec"))
    _refuse_twins(inputs)
    _refuse_twins(outputs)
    return CallSpec(inputs, outputs)


def check_leaf_count(spec: CallSpec, runner_inputs: int) -> None:
    """Refuse a package whose compiled model takes another number of tensors than its call spec has input leaves.

    `None` and constant arguments are leaves of the spec and no inputs of the runner, so that leaf i would no longer
    be input i. Raises UnsupportedError for those, ArtifactError for a runner with more inputs than leaves.
    """
    leaves = f"{len(spec.inputs)} input leaves ({listed([str(path) for path in spec.inputs])})"
    if runner_inputs < len(spec.inputs):
        raise UnsupportedError(
            f"the package's call spec has {leaves} but its compiled model takes {runner_inputs} tensors, because"
            " some arguments were None or constants at export: export with tensors only, making the rest part of"
            " the module, for example through a wrapper module whose forward takes tensors only"
        )
    if runner_inputs > len(spec.inputs):
        raise ArtifactError(
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
        f"the package's {part} is no pytree spec: expected [{_PROTOCOL}, node], got {reprlib.repr(text)}"
    )


def _parsed(text: str, what: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ArtifactError(f"{what} is no JSON that can be read ({error}): {reprlib.repr(text)}") from error


def _leaves(root: Root, tree: object) -> tuple[LeafPath, ...]:
    leaves = []
    waiting = [(LeafPath(root), tree)]
    while waiting:  # a loop, because a damaged spec may be nested deeper than Python recurses
        path, node = waiting.pop()
        if _is_leaf(node):
            leaves.append(path)
        else:
            waiting.extend(reversed(_children(path, node)))
    return tuple(leaves)


def _is_leaf(node: object) -> bool:
    return node == {"type": None, "context": None, "children_spec": []}


def _children(path: LeafPath, node: object) -> list[tuple[LeafPath, object]]:
    match node:
        case {"type": str(kind), "context": context, "children_spec": list(children)}:
            segments = _segments(path, kind, context, len(children))
            if len(segments) == len(children):
                paths = [LeafPath(path.root, (*path.segments, segment)) for segment in segments]
                return list(zip(paths, children, strict=True))
    raise _damaged(path, node, "pytree node")


def _segments(path: LeafPath, kind: str, context: object, count: int) -> list[str]:
    if kind in _SEQUENCES:
        return [str(index) for index in range(count)]
    if kind in _MAPPINGS:
        return [_segment(path, key) for key in _keys(path, context)]
    raise UnsupportedError(
        f"the model's call spec holds a {kind!r} at {path}, whose elements have no names:"
        " use tuple, list, dict, OrderedDict or namedtuple there and export again"
    )


def _keys(path: LeafPath, context: object) -> list[object]:
    keys = _parsed(context, f"the list of keys at {path}") if isinstance(context, str) else context
    if not isinstance(keys, list):
        raise _damaged(path, context, "list of keys")
    return keys


def _segment(path: LeafPath, key: object) -> str:
    text = _key_text(path, key)
    forbidden = forbidden_character(text)
    if forbidden is not None:
        raise NamingError(
            f"the key {text!r} of the dictionary at {path} holds {forbidden!r}, so no tensor name can be made of it:"
            ' expected a key without , " [ ] white space and unprintable characters; rename it and export again'
        )
    return text


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
    return ArtifactError(f"the package's call spec is damaged at {path}: {reprlib.repr(found)} is no {expected}")


def _refuse_twins(leaves: tuple[LeafPath, ...]) -> None:
    twins = [str(path) for path, count in Counter(leaves).items() if count > 1]
    if twins:
        raise NamingError(
            f"several leaves of the model print alike as {listed(twins)}, so no name fits one of them alone:"
            " expected keys that differ as text, got some like 1 and '1'; rename one and export again"
        )
