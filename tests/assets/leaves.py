"""Leaves made by hand, with the names that each format gives them."""

from typing import Any

from triton_pytorch.contract.leaves import Leaf, ValueKind
from triton_pytorch.io_naming.leaf_names import LeafNames
from triton_pytorch.io_naming.names import LeafPath

NUMBERS = {"int": "int64", "float": "float64", "bool": "bool"}


def packaged(path: LeafPath, index: int, **known: Any) -> Leaf:
    """Make a leaf of a package, which goes by its path and its index."""
    is_named = path.root != "ARGS" and path.segments and not path.segments[0].isdecimal()
    return Leaf(LeafNames(path, (str(path),), index, path.segments[0] if is_named else None), **known)


def positional(index: int, **known: Any) -> Leaf:
    """Make the leaf `ARGS[index]` of a package."""
    return packaged(LeafPath("ARGS", (str(index),)), index, **known)


def keyword(name: str, index: int, **known: Any) -> Leaf:
    """Make the leaf `KWARGS[name]` of a package."""
    return packaged(LeafPath("KWARGS", (name,)), index, **known)


def element(index: int, **known: Any) -> Leaf:
    """Make the leaf `RESULT[index]` of a package."""
    return packaged(LeafPath("RESULT", (str(index),)), index, **known)


def argument(name: str, index: int, kind: ValueKind = ValueKind.TENSOR, **known: Any) -> Leaf:
    """Make the leaf of an argument of a callable."""
    path = LeafPath("KWARGS", (name,))
    return Leaf(LeafNames(path, (name, f"ARGS[{index}]", str(path)), index, name), kind, **known)


def number(name: str, index: int, kind: str, **known: Any) -> Leaf:
    """Make the leaf of an argument that is an `int`, `float` or `bool`."""
    return argument(name, index, ValueKind.NUMBER, dtype=NUMBERS[kind], shape=(), type=kind, **known)


def entry(dictionary: str, index: int, key: str, *, is_only: bool = True, **known: Any) -> Leaf:
    """Make the leaf of an entry of an argument of a callable that is a dictionary; `<key>` stands for any other one."""
    path = LeafPath("KWARGS", (dictionary, key))
    bare = (key,) if is_only else ()
    names = (f"{dictionary}[{key}]", *bare, f"ARGS[{index}][{key}]", str(path))
    return Leaf(LeafNames(path, names, None, dictionary, True, index, key if is_only else None), **known)


def part(
    *segments: str,
    index: int | None = None,
    others: tuple[str, ...] = (),
    owner: str | None = None,
    is_entry: bool = False,
    **known: Any,
) -> Leaf:
    """Make the leaf of a part of the result of a callable; `others` are names beside its path."""
    path = LeafPath("RESULT", segments)
    return Leaf(LeafNames(path, (str(path), *others), index, owner, is_entry), **known)
