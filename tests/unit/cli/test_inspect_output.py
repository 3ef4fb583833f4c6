"""What `inspect` prints of a package, from descriptions written by hand; the batch by name, and the bounds of sizes."""

import json
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from triton_pytorch.cli.inspect_output import as_json, as_text
from triton_pytorch.contract.leaves import Dimension, Leaf, shape_text
from triton_pytorch.contract.sizes import dynamic_size, parse_size, size_of
from triton_pytorch.io_naming.leaf_names import LeafNames
from triton_pytorch.io_naming.names import LeafPath
from triton_pytorch.pt2_loader.archive import PackagedModel
from triton_pytorch.pt2_loader.description import PackageDescription
from triton_pytorch.pt2_loader.host import BuiltFor
from triton_pytorch.pt2_loader.sections import dynamic_sizes, name_the_batch
from triton_pytorch.pt2_loader.wrapper import RunnerCounts
from triton_pytorch.tests.assets.formats import PACKAGE


def dynamic(size: str, lower: int, upper: int | None = None) -> Dimension:
    parsed = parse_size(size)
    assert parsed is not None
    return Dimension(parsed, lower, upper)


def fixed(size: int) -> Dimension:
    return Dimension(size_of(size), size, size)


def leaf(path: LeafPath, index: int, dtype: str | None = None, *shape: Dimension, **fields: Any) -> Leaf:
    return Leaf(LeafNames(path, (str(path),), index), dtype=dtype, shape=shape if dtype else None, **fields)


def described(**fields: Any) -> PackageDescription:
    model = PackagedModel(
        name=fields.pop("name", "model"),
        directory=PurePosixPath("m/data/aotinductor/model"),
        siblings=fields.pop("siblings", ("model",)),
        wrapper=fields.pop("wrapper", ""),
        metadata="",
        operators=fields.pop("operators", ()),
        library_size=fields.pop("library_size", 3 << 19),
        weights_size=fields.pop("weights_size", None),
        are_weights_listed=False,
    )
    defaults: dict[str, Any] = {
        "archive": None,
        "device": None,
        "built_for": BuiltFor("cpu", "linux", None, ("AVX2",)),
        "counts": RunnerCounts(1, 1, 0, True),
        "specs": None,
        "inputs": (),
        "outputs": (leaf(LeafPath("RESULT"), 0),),
        "errors": (),
        "host_errors": (),
        "warnings": (),
    }
    return PackageDescription(model=model, **defaults | fields)


def text_of(**fields: Any) -> str:
    return as_text(Path("m.pt2"), PACKAGE, described(**fields).sections())


def json_of(**fields: Any) -> Any:
    return json.loads(json.dumps(as_json(Path("m.pt2"), PACKAGE, described(**fields).sections())))


BATCH, WIDTH = dynamic("s33", 1, 64), dynamic("s27", 1)
USUAL: dict[str, Any] = {
    "counts": RunnerCounts(3, 2, 12, True),
    "library_size": 129 << 19,
    "inputs": (
        leaf(LeafPath("ARGS", ("0",)), 0, "float32", BATCH, fixed(3), WIDTH, WIDTH, layout=(0, 2, 3, 1)),
        leaf(LeafPath("ARGS", ("1", "lengths")), 1, "int64", BATCH),
        leaf(LeafPath("KWARGS", ("scores",)), 2, "bfloat16", BATCH, dynamic("2*s27 + 1", 3)),
    ),
    "outputs": (leaf(LeafPath("RESULT", ("0",)), 0), leaf(LeafPath("RESULT", ("1", "probabilities")), 1)),
}


def test_usual_package() -> None:
    assert text_of(**USUAL) == (
        """\
m.pt2 is an AOTInductor package

built for  cpu, linux, AVX2
runs here  yes, as far as the package says
weights    12 in the library of 64.5 MiB: every instance copies them
model      model

input     name              type        shape
INPUT__0  ARGS[0]           TYPE_FP32   [batch, 3, s27, s27] channels_last
INPUT__1  ARGS[1][lengths]  TYPE_INT64  [batch]
INPUT__2  KWARGS[scores]    TYPE_BF16   [batch, 2*s27 + 1]

size       bounds
batch      1 to 64
s27        at least 1
2*s27 + 1  at least 3

output     name (type and shape are known after the first run)
OUTPUT__0  RESULT[0]
OUTPUT__1  RESULT[1][probabilities]"""
    )


def test_custom_operators() -> None:
    fields = {**USUAL, "operators": ("myops::twice", "aten::_unique2", "myops::scale.two")}
    sentence = "operators myops::twice, myops::scale.two: not torch's own, to be registered before it is loaded (docs/"
    assert sentence in " ".join(text_of(**fields).split())
    assert json_of(**fields)["operators"] == ["myops::twice", "myops::scale.two"]


def test_operators_whose_errors_are_dropped() -> None:
    fields = {**USUAL, "wrapper": "    aoti_torch_index_put_out(buf0, buf0, {arg1_1}, 1, arg2_1, 1);\n"}
    assert "drops      errors of index_put, so that requests are not merged\n" in text_of(**fields)
    assert json_of(**fields)["unchecked_operators"] == ["index_put"]


def test_usual_package_json() -> None:
    unknown = {"dtype": None, "data_type": None, "shape": None, "layout": None}
    assert json_of(**USUAL) == {
        "file": "m.pt2",
        "kind": "package",
        "summary": "an AOTInductor package",
        "model": "model",
        "models": ["model"],
        "operators": [],
        "unchecked_operators": [],
        "built_for": {"device": "cpu", "platform": "linux", "machine": None, "cpu_features": ["AVX2"]},
        "runs_here": True,
        "weights": {"place": "library", "count": 12, "bytes_beside": None, "bytes_of_library": 67633152},
        "inputs": [
            {
                "ordinal": "INPUT__0",
                "path": "ARGS[0]",
                "dtype": "float32",
                "data_type": "TYPE_FP32",
                "shape": ["batch", 3, "s27", "s27"],
                "layout": [0, 2, 3, 1],
            },
            {
                "ordinal": "INPUT__1",
                "path": "ARGS[1][lengths]",
                "dtype": "int64",
                "data_type": "TYPE_INT64",
                "shape": ["batch"],
                "layout": None,
            },
            {
                "ordinal": "INPUT__2",
                "path": "KWARGS[scores]",
                "dtype": "bfloat16",
                "data_type": "TYPE_BF16",
                "shape": ["batch", "2*s27 + 1"],
                "layout": None,
            },
        ],
        "outputs": [
            {"ordinal": "OUTPUT__0", "path": "RESULT[0]", **unknown},
            {"ordinal": "OUTPUT__1", "path": "RESULT[1][probabilities]", **unknown},
        ],
        "bounds": {
            "batch": {"min": 1, "max": 64},
            "s27": {"min": 1, "max": None},
            "2*s27 + 1": {"min": 3, "max": None},
        },
        "faults": [],
        "warnings": [],
    }


LONG = leaf(LeafPath("KWARGS", ("a_dictionary", "and_a_key_of_it_that_is_long")), 0, "complex64")
ODD: dict[str, Any] = {
    "built_for": BuiltFor("cpu", "linux", None, ("AVX512", "AMX_TILE")),
    "counts": RunnerCounts(3, 1, 1, False),
    "siblings": ("doubles", "squares"),
    "name": "squares",
    "inputs": (
        LONG,
        leaf(LeafPath("ARGS", ("1",)), 1),
        leaf(LeafPath("ARGS", ("2",)), 2, "float32", fixed(4), Dimension(dynamic_size("s5"), 0, 9), layout=(1, 0)),
    ),
    "errors": (
        "input 'ARGS[3]' was exported with a tensor that is not dense in memory",
        "it was built without weights",
    ),
    "host_errors": ("it was compiled for a CPU with AVX512, AMX_TILE, which this machine's CPU lacks",),
    "warnings": ("the package does not say the dtype of 'ARGS[1]'",),
}


def test_odd_package() -> None:
    assert text_of(**ODD) == (
        """\
m.pt2 is an AOTInductor package

built for  cpu, linux, AVX512 AMX_TILE
runs here  no: it was compiled for a CPU with AVX512, AMX_TILE, which this
           machine's CPU lacks
weights    1, missing
model      squares, one of doubles, squares (--model NAME shows another)
error      input 'ARGS[3]' was exported with a tensor that is not dense in
           memory
error      it was built without weights
warning    the package does not say the dtype of 'ARGS[1]'

input     name     type       shape
INPUT__0  KWARGS[a_dictionary][and_a_key_of_it_that_is_long]
                   complex64  []
INPUT__1  ARGS[1]  unknown    unknown
INPUT__2  ARGS[2]  TYPE_FP32  [4, s5] in memory by dimensions 1, 0

size  bounds
s5    0 to 9

output     name (type and shape are known after the first run)
OUTPUT__0  RESULT"""
    )


def test_odd_package_json() -> None:
    document = json_of(**ODD)
    assert document["runs_here"] is False
    assert document["models"] == ["doubles", "squares"]
    assert document["model"] == "squares"
    assert document["faults"] == [*ODD["errors"], *ODD["host_errors"]]
    assert document["warnings"] == list(ODD["warnings"])
    assert [(leaf["dtype"], leaf["data_type"], leaf["shape"], leaf["layout"]) for leaf in document["inputs"]] == [
        ("complex64", None, [], None),
        (None, None, None, None),
        ("float32", "TYPE_FP32", [4, "s5"], [1, 0]),
    ]


def test_package_without_source() -> None:
    stripped = {"built_for": BuiltFor(), "counts": None, "inputs": None, "outputs": None, "warnings": ("no source",)}
    assert text_of(**stripped) == (
        """\
m.pt2 is an AOTInductor package

built for  unknown
runs here  unknown before the model is loaded
weights    unknown
model      model
warning    no source

inputs and outputs are unknown before the model is loaded"""
    )
    document = json_of(**stripped)
    assert (document["inputs"], document["outputs"], document["runs_here"]) == (None, None, None)
    assert document["bounds"] == {}


@pytest.mark.parametrize(
    ("fields", "place", "text"),
    [
        ({"counts": RunnerCounts(1, 1, 0, False)}, "none", "none"),
        (
            {"counts": RunnerCounts(1, 1, 2, False), "weights_size": 2560},
            "beside",
            "2 beside the library, 2.5 KiB: mapped, shared by all instances",
        ),
        ({"counts": RunnerCounts(1, 1, 2, False)}, "missing", "2, missing"),
        (
            {"counts": RunnerCounts(1, 1, 2, True)},
            "library",
            "2 in the library of 1.5 MiB: every instance copies them",
        ),
        ({"counts": None}, "unknown", "unknown"),
    ],
)
def test_weights(fields: dict[str, Any], place: str, text: str) -> None:
    assert f"\nweights    {text}\n" in text_of(**fields)
    assert json_of(**fields)["weights"]["place"] == place


@pytest.mark.parametrize(
    ("fields", "runs_here", "text"),
    [
        ({"built_for": BuiltFor("cuda")}, None, "unknown before the model is loaded"),
        ({"built_for": BuiltFor("cuda"), "host_errors": ("it is too new",)}, False, "no: it is too new"),
        ({"built_for": BuiltFor("cpu")}, True, "yes, as far as the package says"),
    ],
)
def test_runs_here(fields: dict[str, Any], runs_here: bool | None, text: str) -> None:
    assert f"\nruns here  {text}\n" in text_of(**fields)
    assert json_of(**fields)["runs_here"] is runs_here


def test_unprintable_names() -> None:
    text = text_of(siblings=("model", "\x1b[2J\u202e\udc80"), inputs=None, outputs=None)
    assert "model, \\x1b[2J\\u202e\\udc80 (--model" in text


def test_width_80_columns() -> None:
    wide = leaf(LeafPath("ARGS", ("a_key_of_thirty_two_characters_",)), 1, "uint64", BATCH, fixed(128))
    text = text_of(**{**ODD, "inputs": (LONG, wide), "siblings": tuple(f"model_{i}" for i in range(40))})
    assert max(map(len, text.splitlines())) <= 80


STATED = frozenset({"s1", "s2", "s27"})


def sized(*sizes: str, lower: int = 1, upper: int | None = None) -> Leaf:
    dimensions = []
    for text in sizes:
        size = parse_size(text)
        assert size is not None
        dimensions.append(Dimension(size, lower, upper))
    return Leaf(LeafNames(LeafPath("ARGS", ("0",)), ("ARGS[0]",), 0), dtype="float32", shape=tuple(dimensions))


@pytest.mark.parametrize(
    ("inputs", "expected"),
    [
        ([sized("s1", "3")], ["[batch, 3]"]),
        ([sized("s1", "s2"), sized("s1")], ["[batch, s2]", "[batch]"]),
        ([sized("s1", "2*s1"), sized("s1", "s1 + s2")], ["[batch, 2*batch]", "[batch, batch + s2]"]),
        # An input that is only handed through has a size of its own name.
        ([sized("s1"), sized("arg1_1_0"), sized("arg2_1_0")], ["[batch]", "[batch]", "[batch]"]),
        ([sized("arg0_1_0")], ["[batch]"]),
        ([sized(), sized("s1", "3")], ["[]", "[batch, 3]"]),
    ],
)
def test_batch_named(inputs: list[Leaf], expected: list[str]) -> None:
    named = name_the_batch(inputs, STATED)
    assert [shape_text(leaf.shape or ()) for leaf in named] == expected


@pytest.mark.parametrize(
    "inputs",
    [
        [],
        [sized("4", "s1")],  # fixed
        [sized("s1"), sized("s2")],  # two sizes
        [sized("s1"), sized("2*s1")],  # related, and not the same
        [sized("2*s1")],
        [sized("s1*s2")],
        [sized()],
        [sized("s1"), Leaf(LeafNames(LeafPath("ARGS", ("1",)), ("ARGS[1]",), 1), dtype="float32")],  # unknown
        [sized("s1"), sized("arg1_1_0", lower=4)],  # a size that is only handed through, and not the same
        [sized("s1"), sized("arg1_1_0", upper=64)],
        [sized("arg0_1_0"), sized("arg1_1_0")],
    ],
)
def test_batch_unknown(inputs: list[Leaf]) -> None:
    assert name_the_batch(inputs, STATED) == tuple(inputs)


def test_bounds_narrowest() -> None:
    sizes = dynamic_sizes([sized("s1", "s2", upper=64), sized("s1", lower=3, upper=100), sized("7", "2*s1"), sized()])
    assert [(str(size), size.lower, size.upper) for size in sizes] == [("s1", 3, 64), ("s2", 1, 64), ("2*s1", 1, None)]
