"""Shapes of tree that torch.export accepts, as a table of small models: what a call spec can look like.

Each row gives a name, a forward, and the arguments it is called with; `t()` makes the next input tensor: float32
[2, 3], filled with 1.5, then 2.5, and so on, so that every leaf carries data of its own (halves, so that no sum of
two leaves is a third). `digits(a, b, c)` makes one tensor of them, a + 10 b + 100 c, so that leaves that change
places change the result. Torch is loaded by the methods of a row, not by this module.
"""

import enum
import functools
import itertools
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import torch

Leaf = Callable[[], Any]


class Point(NamedTuple):
    x: Any
    y: Any


class Segment(NamedTuple):
    start: Point
    end: Point


# The module stands in the spec, so it must not depend on how this file was imported.
Colour = enum.Enum("Colour", ["RED", "BLUE"], module="shapes")


@dataclass
class Box:
    width: Any
    height: Any
    depth: Any = None


class Output(OrderedDict[str, Any]):
    """As HuggingFace's ModelOutput: a class of its own, whose context is the list of its keys."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A model and the arguments of one call, `forward(*args, **kwargs)`."""

    name: str
    forward: Callable[..., Any]
    args: Callable[[Leaf], tuple[Any, ...]] = lambda _: ()
    kwargs: Callable[[Leaf], dict[str, Any]] = lambda _: {}

    def arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Make fresh args and kwargs; leaf i of the flat input spec is filled with i + 1.5."""
        import torch

        constants = itertools.count(1.5)

        def leaf() -> "torch.Tensor":
            return torch.full((2, 3), next(constants))

        return self.args(leaf), self.kwargs(leaf)

    def module(self) -> "torch.nn.Module":
        """Make a module whose forward has the signature of the row."""
        import torch

        register_nodes()
        model: torch.nn.Module = type("Model", (torch.nn.Module,), {"forward": staticmethod(self.forward)})()
        return model

    def export(self) -> "torch.export.ExportedProgram":
        """Export the module for the arguments of the row, all sizes static."""
        import torch

        args, kwargs = self.arguments()
        return torch.export.export(self.module(), args, kwargs)


@functools.cache
def register_nodes() -> None:
    """Make the classes of this module known to torch's pytree: once in a process, before a spec is read or written."""
    import torch
    from torch.utils import _pytree as pytree

    for node in (Point, Segment):
        pytree._register_namedtuple(node, serialized_type_name=f"shapes.{node.__name__}")
    torch.export.register_dataclass(Box, serialized_type_name="shapes.Box")
    pytree.register_pytree_node(
        Output,
        lambda output: (list(output.values()), list(output.keys())),
        lambda values, keys: Output(zip(keys, values, strict=True)),
        serialized_type_name="shapes.Output",
        flatten_with_keys_fn=lambda output: ([(pytree.MappingKey(k), v) for k, v in output.items()], list(output)),
    )


def digits(*leaves: Any) -> Any:
    return sum(leaf * 10**place for place, leaf in enumerate(leaves))


# Trees of arguments; the result is one bare tensor unless the name says more.
_ARGUMENTS = (
    Shape("one tensor", lambda x: x * 2, lambda t: (t(),)),
    Shape("positional only", lambda x, y, z: digits(z, x, y), lambda t: (t(), t(), t())),
    Shape("keyword only", lambda *, x, y: digits(x, y), kwargs=lambda t: {"x": t(), "y": t()}),
    Shape("positional and keyword", lambda x, *, y: digits(x, y), lambda t: (t(),), lambda t: {"y": t()}),
    Shape(
        "keywords in another order than the signature",
        lambda *, first, second, third: digits(first, second, third),
        kwargs=lambda t: {"third": t(), "first": t(), "second": t()},
    ),
    Shape(
        "positional arguments given by keyword, last first",
        lambda x, y, z: digits(z, x, y),
        lambda t: (t(),),
        lambda t: {"z": t(), "y": t()},
    ),
    Shape(
        "starred arguments",
        lambda x, *rest, **named: digits(x, *rest, named["a"], named["b"]),
        lambda t: (t(), t(), t()),
        lambda t: {"b": t(), "a": t()},
    ),
    Shape(
        "dictionary as keyword",
        lambda x, *, options: digits(x, options["scale"], options["shift"]),
        lambda t: (t(),),
        lambda t: {"options": {"shift": t(), "scale": t()}},
    ),
    Shape(
        "list and tuple as keywords",
        lambda *, many, pair: digits(*many, *pair),
        kwargs=lambda t: {"many": [t(), t(), t()], "pair": (t(), t())},
    ),
    Shape("list", lambda xs: digits(*xs), lambda t: ([t(), t(), t()],)),
    Shape("tuple", lambda pair: digits(*pair), lambda t: ((t(), t()),)),
    Shape("list of one beside a bare tensor", lambda xs, y: digits(xs[0], y), lambda t: ([t()], t())),
    Shape("dictionary of one key", lambda d: d["only"] * 2, lambda t: ({"only": t()},)),
    Shape(
        "keys inserted in another order than sorted",
        lambda d: digits(d["apple"], d["mango"], d["zebra"]),
        lambda t: ({"zebra": t(), "apple": t(), "mango": t()},),
    ),
    Shape(
        "same keys in two orders",
        lambda d, e: digits(d["a"], d["b"], e["a"], e["b"]),
        lambda t: ({"a": t(), "b": t()}, {"b": t(), "a": t()}),
    ),
    Shape(
        "list of dictionaries",
        lambda rows: digits(rows[0]["a"], rows[0]["b"], rows[1]["b"]),
        lambda t: ([{"a": t(), "b": t()}, {"b": t()}],),
    ),
    Shape(
        "dictionary of lists",
        lambda d: digits(*d["a"], *d["b"]),
        lambda t: ({"a": [t(), t()], "b": [t()]},),
    ),
    Shape(
        "dictionary of dictionaries",
        lambda d: digits(d["a"]["x"], d["a"]["y"], d["b"]["x"]),
        lambda t: ({"b": {"x": t()}, "a": {"y": t(), "x": t()}},),
    ),
    Shape(
        "tuple of lists of tuples",
        lambda tree: digits(tree[0][0][1], tree[0][1][0], tree[1][0][0], tree[0][0][0]),
        lambda t: (([(t(), t()), (t(),)], [(t(),)]),),
    ),
    Shape(
        "nine levels deep",
        lambda d: digits(d["a"][0]["b"][0]["c"][0]["d"][0]["e"], d["a"][1]),
        lambda t: ({"a": [{"b": ({"c": [{"d": ({"e": t()},)}]},)}, t()]},),
    ),
    Shape("empty dictionary between tensors", lambda x, _, y: digits(x, y), lambda t: (t(), {}, t())),
    Shape("empty list between tensors", lambda x, _, y: digits(x, y), lambda t: (t(), [], t())),
    Shape("empty tuple as keyword", lambda x, *, none: x * 2, lambda t: (t(),), lambda t: {"none": ()}),
    Shape(
        "empty containers within containers",
        lambda d: digits(d["d"], d["c"][1]),
        lambda t: ({"a": {}, "b": [[], (), {"z": {}}], "c": [(), t()], "d": t()},),
    ),
    Shape(
        "OrderedDict",
        lambda d: digits(d["b"], d["a"]),
        lambda t: (OrderedDict([("b", t()), ("a", t())]),),
    ),
    Shape(
        "OrderedDict in a list, around a dictionary",
        lambda xs: digits(xs[1]["b"]["k"], xs[0], xs[1]["a"]),
        lambda t: ([t(), OrderedDict([("b", {"k": t()}), ("a", t())])],),
    ),
    Shape("namedtuple", lambda p: digits(p.x, p.y), lambda t: (Point(t(), t()),)),
    Shape(
        "namedtuple of namedtuples in a dictionary",
        lambda d: digits(d["s"].start.x, d["s"].start.y, d["s"].end.x, d["s"].end.y),
        lambda t: ({"s": Segment(Point(t(), t()), Point(t(), t()))},),
    ),
    Shape("integer keys", lambda d: digits(d[-1], d[3], d[10]), lambda t: ({10: t(), 3: t(), -1: t()},)),
    Shape("boolean keys", lambda d: digits(d[False], d[True]), lambda t: ({True: t(), False: t()},)),
    Shape(
        "None and float keys",
        lambda d: digits(d[0.5], d[None], d[1e20]),
        lambda t: ({None: t(), 0.5: t(), 1e20: t()},),
    ),
    Shape(
        "enum keys",
        lambda d: digits(d[Colour.RED], d[Colour.BLUE]),
        lambda t: ({Colour.BLUE: t(), Colour.RED: t()},),
    ),
    Shape(
        "keys of several types",
        lambda d: digits(d["a"], d[2], d[None][True]),
        lambda t: ({None: {True: t()}, "a": t(), 2: t()},),
    ),
    Shape(
        "twelve positional",
        lambda *xs: [x + 100 for x in xs],
        lambda t: tuple(t() for _ in range(12)),
    ),
    Shape(
        "eleven in a list as keyword",
        lambda *, xs: {"sum": digits(*xs[:7]), "rest": digits(*xs[7:])},
        kwargs=lambda t: {"xs": [t() for _ in range(11)]},
    ),
    Shape(
        "twelve keys that look like indices, last first",
        lambda d: {key: x + 100 for key, x in d.items()},
        lambda t: ({str(key): t() for key in reversed(range(12))},),
    ),
    Shape(
        "unicode keys",
        lambda d: digits(d["größe"], d["温度"], d["😀"]),
        lambda t: ({"温度": t(), "größe": t(), "😀": t()},),
    ),
    Shape(
        "keys that differ in case",
        lambda d: digits(d["Key"], d["key"], d["KEY"]),
        lambda t: ({"key": t(), "KEY": t(), "Key": t()},),
    ),
    Shape(
        "keys with dots, dashes and slashes",
        lambda d: digits(d["layer.0.weight"], d["a-b"], d["a/b"], d["a:b"]),
        lambda t: ({"a/b": t(), "a-b": t(), "a:b": t(), "layer.0.weight": t()},),
    ),
    Shape(
        "keys with single quotes, braces and signs",
        lambda d: digits(d["'quoted'"], d["{x}"], d["(x)"], d["\\"], d["%s"]),
        lambda t: ({"'quoted'": t(), "{x}": t(), "(x)": t(), "\\": t(), "%s": t()},),
    ),
    Shape(
        "keys that look like names",
        lambda x, ARGS, *, KWARGS: digits(x, ARGS["INPUT__0"], ARGS["RESULT"], KWARGS),  # noqa: N803
        lambda t: (t(), {"RESULT": t(), "INPUT__0": t()}),
        lambda t: {"KWARGS": t()},
    ),
    Shape(
        "keys that look like other indices",
        lambda d: digits(d["0"], d["00"], d["-1"], d["1.0"]),
        lambda t: ({"00": t(), "-1": t(), "1.0": t(), "0": t()},),
    ),
    Shape("empty key", lambda d: digits(d[""], d["a"]), lambda t: ({"a": t(), "": t()},)),
    Shape("deque", lambda x, d: digits(x, d[0]), lambda t: (t(), deque([t()]))),
    Shape("dataclass", lambda *, box: digits(box.width, box.height), kwargs=lambda t: {"box": Box(t(), t())}),
    Shape("unused arguments", lambda x, _, d: digits(x, d["b"]), lambda t: (t(), t(), {"a": t(), "b": t()})),
    Shape("one tensor given twice", lambda x, d: digits(x, d["again"]), lambda t: _twice(t())),
)

# Trees of results.
_RESULTS = (
    Shape("one-element tuple as result", lambda x: (x * 2,), lambda t: (t(),)),
    Shape("one-element list as result", lambda x: [x * 2], lambda t: (t(),)),
    Shape("one-key dictionary as result", lambda x: {"only": x * 2}, lambda t: (t(),)),
    Shape("one-element tuple in a one-element list as result", lambda x: [(x * 2,)], lambda t: (t(),)),
    Shape("pair as result", lambda x, y: (digits(x, y), digits(y, x)), lambda t: (t(), t())),
    Shape(
        "result keys inserted in another order than sorted",
        lambda x, y: {"zebra": digits(x, y), "apple": digits(y, x), "mango": x + y},
        lambda t: (t(), t()),
    ),
    Shape(
        "tuple of tensor, list and dictionary as result",
        lambda x, y: (digits(x, y), [x * 5, y * 5], {"b": x * 7, "a": y * 7}),
        lambda t: (t(), t()),
    ),
    Shape(
        "list of dictionaries as result",
        lambda x, y: [{"boxes": x * 3, "labels": x * 4}, {"boxes": y * 5, "labels": y * 6}],
        lambda t: (t(), t()),
    ),
    Shape(
        "deep result",
        lambda x: {"a": [{"b": ({"c": [{"d": (x * 2, x * 3)}]},)}, x * 4]},
        lambda t: (t(),),
    ),
    Shape(
        "empty containers in the result",
        lambda x: ({}, x * 2, [], {"a": (), "b": x * 3}),
        lambda t: (t(),),
    ),
    Shape(
        "OrderedDict as result",
        lambda x: OrderedDict([("last", x * 2), ("first", x * 3)]),
        lambda t: (t(),),
    ),
    Shape("namedtuple as result", lambda x: Point(x * 2, x * 3), lambda t: (t(),)),
    Shape(
        "list of namedtuples as result",
        lambda x: [Segment(Point(x * 2, x * 3), Point(x * 4, x * 5)), Point(x * 6, x * 7)],
        lambda t: (t(),),
    ),
    Shape("integer and boolean keys in the result", lambda x: {7: x * 2, True: x * 3, 0: x * 4}, lambda t: (t(),)),
    Shape("defaultdict as result", lambda x: {"a": defaultdict(list, b=x * 2)}, lambda t: (t(),)),
    Shape("dataclass with None as result", lambda x: Box(x * 2, None, [x * 3]), lambda t: (t(),)),
    Shape("class with keys as result", lambda x: Output(last=x * 2, pooled=(x * 3, x * 4)), lambda t: (t(),)),
    Shape("twelve results", lambda x: tuple(x * k for k in range(1, 13)), lambda t: (t(),)),
    Shape("result of one tensor three times", lambda x: _thrice(x * 2), lambda t: (t(),)),
    Shape("result that hands the arguments on", lambda x, d: {"d": d, "x": x}, lambda t: (t(), {"b": t(), "a": t()})),
    Shape(
        "result that turns a dictionary round", lambda d: dict(reversed(d.items())), lambda t: ({"a": t(), "b": t()},)
    ),
    Shape("result with None", lambda x: {"value": x * 2, "cache": None, "more": (None, x * 3)}, lambda t: (t(),)),
    Shape(
        "example of the specification",
        lambda hdata, vdata, options, *, kwarg1, kw_arg2: {
            "AAA": hdata + vdata,
            "ZZZ": hdata - vdata,
            "BBB": (hdata, vdata),
            "CCC": options,
            "DDD": {"KA": kwarg1, "KB": kw_arg2},
        },
        lambda t: (t(), t(), {"keyA": t(), "key2": t()}),
        lambda t: {"kwarg1": t(), "kw_arg2": t()},
    ),
)

SHAPES = _ARGUMENTS + _RESULTS

# What torch exports and we refuse: keys of dictionaries that no name can be made of.
REFUSED = (
    Shape("key with a space", lambda d: d["a b"] * 2, lambda t: ({"a b": t()},)),
    Shape("key with a bracket in the result", lambda x: (x, {"a]": x * 2}), lambda t: (t(),)),
    Shape("tuple as key", lambda d: d["k"]["a", 1] * 2, lambda t: ({"k": {("a", 1): t()}},)),
    Shape("keys that print alike", lambda d: digits(d[1], d["1"]), lambda t: ({1: t(), "1": t()},)),
)

# What torch exports and has more leaves than the compiled model takes tensors.
NOT_ONLY_TENSORS = (
    Shape("None argument", lambda x, _, y: digits(x, y), lambda t: (t(), None, t())),
    Shape("constant as keyword", lambda x, *, n: x * n, lambda t: (t(),), lambda _: {"n": 3}),
)

TABLES = {"served": SHAPES, "refused": REFUSED, "not only tensors": NOT_ONLY_TENSORS}


def _twice(leaf: Any) -> Any:
    return leaf, {"again": leaf}


def _thrice(leaf: Any) -> Any:
    return leaf, {"again": leaf}, leaf
