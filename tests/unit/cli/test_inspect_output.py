"""What `inspect` prints of a package, on 80 columns and as JSON, from descriptions written by hand."""

import json
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from triton_pytorch.cli.inspect_json import as_json
from triton_pytorch.cli.inspect_text import as_text
from triton_pytorch.formats.describe import DescribedFile, for_display
from triton_pytorch.formats.kinds import Kind
from triton_pytorch.contract.leaves import Dimension, Leaf
from triton_pytorch.io_naming.names import LeafPath
from triton_pytorch.contract.sizes import dynamic_size, parse_size, size_of
from triton_pytorch.pt2_loader.archive import PackagedModel
from triton_pytorch.pt2_loader.description import BuiltFor, Description
from triton_pytorch.pt2_loader.wrapper import RunnerCounts

AVX2 = frozenset({"avx2", "fma"})


def open_(size: str, lower: int, upper: int | None = None) -> Dimension:
    parsed = parse_size(size)
    assert parsed is not None
    return Dimension(parsed, lower, upper)


def fixed(size: int) -> Dimension:
    return Dimension(size_of(size), size, size)


def described(flags: frozenset[str] = AVX2, **fields: Any) -> DescribedFile:
    model = PackagedModel(
        name=fields.pop("name", "model"),
        address="address",
        directory=PurePosixPath("m/data/aotinductor/model"),
        siblings=fields.pop("siblings", ("model",)),
        wrapper="",
        metadata="",
        kernels=(),
        library_size=fields.pop("library_size", 3 << 19),
        weights_size=fields.pop("weights_size", None),
        are_weights_listed=False,
    )
    defaults: dict[str, Any] = {
        "built_for": BuiltFor("cpu", "linux", None, ("AVX2",)),
        "counts": RunnerCounts(1, 1, 0, True),
        "inputs": (),
        "outputs": (Leaf(LeafPath("RESULT")),),
    }
    package = for_display(Description(model, **defaults | fields), flags)
    return DescribedFile(Path("m.pt2"), Kind.PACKAGE, "an AOTInductor package", package)


BATCH, WIDTH = open_("s33", 1, 64), open_("s27", 1)
USUAL: dict[str, Any] = {
    "counts": RunnerCounts(3, 2, 12, True),
    "library_size": 129 << 19,
    "inputs": (
        Leaf(LeafPath("ARGS", ("0",)), "float32", (BATCH, fixed(3), WIDTH, WIDTH), (0, 2, 3, 1)),
        Leaf(LeafPath("ARGS", ("1", "lengths")), "int64", (BATCH,)),
        Leaf(LeafPath("KWARGS", ("scores",)), "bfloat16", (BATCH, open_("2*s27 + 1", 3))),
    ),
    "outputs": (Leaf(LeafPath("RESULT", ("0",))), Leaf(LeafPath("RESULT", ("1", "probabilities")))),
}


def test_the_usual_package() -> None:
    assert as_text(described(**USUAL)) == (
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


def test_the_usual_package_as_json() -> None:
    unknown = {"dtype": None, "data_type": None, "shape": None, "layout": None}
    assert json.loads(json.dumps(as_json(described(**USUAL)))) == {
        "file": "m.pt2",
        "kind": "package",
        "summary": "an AOTInductor package",
        "model": "model",
        "models": ["model"],
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


LONG = Leaf(LeafPath("KWARGS", ("a_dictionary", "and_a_key_of_it_that_is_long")), "complex64", ())
ODD: dict[str, Any] = {
    "built_for": BuiltFor("cpu", "linux", None, ("AVX512", "AMX_TILE")),
    "counts": RunnerCounts(3, 1, 1, False),
    "siblings": ("doubles", "squares"),
    "name": "squares",
    "inputs": (
        LONG,
        Leaf(LeafPath("ARGS", ("1",))),
        Leaf(LeafPath("ARGS", ("2",)), "float32", (fixed(4), Dimension(dynamic_size("s5"), 0, 9)), (1, 0)),
    ),
    "faults": ("input 'ARGS[3]' was exported with a tensor that is not dense in memory",),
    "warnings": ("the package does not say the dtype of 'ARGS[1]'",),
}


def test_a_package_with_everything_odd() -> None:
    assert as_text(described(**ODD)) == (
        """\
m.pt2 is an AOTInductor package

built for  cpu, linux, AVX512 AMX_TILE
runs here  no: it was compiled for a CPU with AVX512, AMX_TILE, which this
           machine's CPU lacks
weights    1, missing
model      squares, one of doubles, squares (--model NAME shows another)
fault      input 'ARGS[3]' was exported with a tensor that is not dense in
           memory
fault      it was built without its weights: build it with
           "aot_inductor.package_constants_in_so": True, or with
           "aot_inductor.package_constants_on_disk_format": "pickle_weights"
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


def test_a_package_with_everything_odd_as_json() -> None:
    document = as_json(described(**ODD))
    assert document["runs_here"] is False
    assert document["models"] == ["doubles", "squares"]
    assert document["model"] == "squares"
    faults = document["faults"]
    assert isinstance(faults, list)
    assert [fault.split()[0:4] for fault in faults] == [
        ["input", "'ARGS[3]'", "was", "exported"],
        ["it", "was", "built", "without"],
        ["it", "was", "compiled", "for"],
    ]
    assert document["warnings"] == ["the package does not say the dtype of 'ARGS[1]'"]
    inputs = document["inputs"]
    assert isinstance(inputs, list)
    assert [(leaf["dtype"], leaf["data_type"], leaf["shape"], leaf["layout"]) for leaf in inputs] == [
        ("complex64", None, [], None),
        (None, None, None, None),
        ("float32", "TYPE_FP32", [4, "s5"], [1, 0]),
    ]


def test_a_package_without_a_source() -> None:
    file = described(built_for=BuiltFor(), counts=None, inputs=None, outputs=None, warnings=("it holds no source",))
    assert as_text(file) == (
        """\
m.pt2 is an AOTInductor package

built for  unknown
runs here  unknown before the model is loaded
weights    unknown
model      model
warning    it holds no source

inputs and outputs are unknown before the model is loaded"""
    )
    document = as_json(file)
    assert (document["inputs"], document["outputs"], document["runs_here"]) == (None, None, None)


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
    file = described(**fields)
    assert f"\nweights    {text}\n" in as_text(file)
    weights = as_json(file)["weights"]
    assert isinstance(weights, dict)
    assert weights["place"] == place


@pytest.mark.parametrize(
    ("built_for", "runs_here", "text"),
    [
        (BuiltFor("cuda", "linux"), None, "unknown before the model is loaded"),
        (BuiltFor("cuda", "win32"), False, "no: it was compiled for win32, not for Linux"),
        (BuiltFor("cpu"), True, "yes, as far as the package says"),
    ],
)
def test_what_this_machine_can_run(built_for: BuiltFor, runs_here: bool | None, text: str) -> None:
    file = described(built_for=built_for)
    assert f"\nruns here  {text}\n" in as_text(file)
    assert as_json(file)["runs_here"] is runs_here


def test_names_that_a_terminal_would_obey_are_shown() -> None:
    text = as_text(described(siblings=("model", "\x1b[2J\u202e\udc80"), inputs=None, outputs=None))
    assert "model, \\x1b[2J\\u202e\\udc80 (--model" in text


def test_no_line_is_longer_than_80_columns() -> None:
    leaf = Leaf(LeafPath("ARGS", ("a_key_of_thirty_two_characters_",)), "uint64", (BATCH, fixed(128)))
    text = as_text(described(**{**ODD, "inputs": (LONG, leaf), "siblings": tuple(f"model_{i}" for i in range(40))}))
    assert max(map(len, text.splitlines())) <= 80
