"""`inspect` on packages as torch makes them, against expectations written by hand."""

import json
import platform
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from triton_pytorch.cli.commands import run
from triton_pytorch.tests.assets.documents import README, block, exported
from triton_pytorch.tests.assets.packages import package_path
from triton_pytorch.tests.assets.scripts import Arithmetic, scripted

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 600


def inspect(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    assert run(["inspect", *map(str, arguments)]) == 0
    return capsys.readouterr().out


def inspect_json(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> Any:
    return json.loads(inspect(capsys, "--json", *arguments))


def test_nested(capsys: pytest.CaptureFixture[str]) -> None:
    document = inspect_json(capsys, package_path("nested"))
    assert [(leaf["ordinal"], leaf["path"]) for leaf in document["inputs"]] == [
        ("INPUT__0", "ARGS[0]"),
        ("INPUT__1", "ARGS[1]"),
        ("INPUT__2", "ARGS[2][keyA]"),
        ("INPUT__3", "ARGS[2][key2]"),
        ("INPUT__4", "KWARGS[kwarg1]"),
        ("INPUT__5", "KWARGS[kw_arg2]"),
    ]
    assert [(leaf["ordinal"], leaf["path"]) for leaf in document["outputs"]] == [
        ("OUTPUT__0", "RESULT[AAA]"),
        ("OUTPUT__1", "RESULT[ZZZ]"),
        ("OUTPUT__2", "RESULT[BBB][0]"),
        ("OUTPUT__3", "RESULT[BBB][1]"),
        ("OUTPUT__4", "RESULT[CCC][keyA]"),
        ("OUTPUT__5", "RESULT[CCC][key2]"),
        ("OUTPUT__6", "RESULT[DDD][KA]"),
        ("OUTPUT__7", "RESULT[DDD][KB]"),
    ]
    for leaf in document["inputs"]:
        assert (leaf["dtype"], leaf["data_type"], leaf["shape"], leaf["layout"]) == (
            "float32",
            "TYPE_FP32",
            ["batch", 3],
            None,
        )
    assert document["bounds"]["batch"]["max"] == 64
    assert list(document["bounds"]) == ["batch"]
    assert (document["kind"], document["model"], document["models"]) == ("package", "model", ["model"])
    assert (document["weights"]["place"], document["weights"]["count"]) == ("none", 0)
    built_for = document["built_for"]
    assert (built_for["device"], built_for["platform"]) == ("cpu", "linux")
    assert built_for["machine"] == platform.machine()
    assert document["runs_here"] is True  # it was compiled here
    assert (document["faults"], document["warnings"]) == ([], [])


def test_weights_beside_the_library(capsys: pytest.CaptureFixture[str]) -> None:
    path = package_path("weights_beside_the_library")
    weights = inspect_json(capsys, path)["weights"]
    # weight, bias, rows (a view of weight), calls and scale; the storage that two of them share is there once
    matrix, rest = 64 * 64 * 4, 64 * 4 + 2 * 4 + 15 * 2
    assert (weights["place"], weights["count"]) == ("beside", 5)
    assert matrix + rest <= weights["bytes_beside"] < 2 * matrix
    assert re.search(
        r"\nweights    5 beside the library, \d\d\.\d KiB: mapped, shared by all instances\n", inspect(capsys, path)
    )


def test_weights_missing(capsys: pytest.CaptureFixture[str]) -> None:
    document = inspect_json(capsys, package_path("without_its_weights"))
    assert document["weights"]["place"] == "missing"
    (error,) = document["faults"]
    assert error.startswith("it was built without its weights: build it with ")


def test_weights_in_the_library(capsys: pytest.CaptureFixture[str]) -> None:
    weights = inspect_json(capsys, package_path("looks_up"))["weights"]
    assert (weights["place"], weights["count"], weights["bytes_beside"]) == ("library", 1, None)


def test_two_models(capsys: pytest.CaptureFixture[str]) -> None:
    path = package_path("two_models")
    for name in ("doubles", "squares"):
        document = inspect_json(capsys, path, "--model", name)
        assert (document["model"], sorted(document["models"])) == (name, ["doubles", "squares"])
        assert [(leaf["path"], leaf["shape"]) for leaf in document["inputs"]] == [("ARGS[0]", [3])]
        assert [leaf["path"] for leaf in document["outputs"]] == ["RESULT"]
    assert run(["inspect", str(path)]) == 2
    assert "holds several models (doubles, squares): choose one" in capsys.readouterr().err


def test_none_argument(capsys: pytest.CaptureFixture[str]) -> None:
    document = inspect_json(capsys, package_path("none_argument"))
    (fault,) = document["faults"]
    assert re.match(r"the package's call spec has 3 input leaves .* takes 2 tensors", fault)
    assert [leaf["path"] for leaf in document["inputs"]] == ["ARGS[0]", "ARGS[1]", "ARGS[2]"]
    assert document["warnings"] == []


def test_truncated_package(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "model.pt2"
    file.write_bytes(package_path("nested").read_bytes()[:-1000])
    assert run(["inspect", str(file)]) == 2
    assert capsys.readouterr().err.startswith(f"error: '{file}' is the beginning of a zip archive")


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_without_torch(options: list[str]) -> None:
    code = (
        "import runpy, sys\n"
        "try:\n"
        "    runpy.run_path(sys.argv.pop(1), run_name='__main__')\n"
        "except SystemExit as ended:\n"
        "    assert ended.code == 0\n"
        "print('imported:', *{'torch', 'numpy', 'tritonclient'} & set(sys.modules))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(ROOT), "inspect", str(package_path("nested")), *options],
        check=True,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert "RESULT[AAA]" in done.stdout
    assert done.stdout.splitlines()[-1] == "imported:"


def test_readme_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    file = Path("models/nested/1/model.pt2")
    package = exported(block(README, "The model is any", language="python"), str(file))
    (tmp_path / file.parent).mkdir(parents=True)
    (tmp_path / file).symlink_to(package)
    monkeypatch.chdir(tmp_path)
    printed = inspect(capsys, file)
    shown = block(README, "`python . inspect FILE`", language="text")
    # The CPU is that of the machine that compiled it.
    assert re.sub("built for .*", "", printed) == re.sub("built for .*", "", shown)
    assert re.search(r"\nbuilt for  cpu, linux, \w+, [A-Z0-9_ ]+\n", printed)


def test_fields_documented(capsys: pytest.CaptureFixture[str]) -> None:
    document = (ROOT / "docs" / "packages.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `.*", document[document.index("| field | meaning |") :], re.MULTILINE)
    documented = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    shown = inspect_json(capsys, package_path("nested"))
    parts = [shown, shown["built_for"], shown["weights"], shown["inputs"][0], shown["bounds"]["batch"]]
    assert [name for part in parts for name in part if name not in documented] == []


def test_torchscript(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = scripted(Arithmetic(), tmp_path / "model.pt")
    document = inspect_json(capsys, path)
    assert document["kind"] == "torchscript"
    assert document["parameters"] == {"count": 1, "bytes": 4}
    forward, twice = document["methods"]
    assert [argument["name"] for argument in forward["arguments"]] == ["x", "y", "bias", "power"]
    assert [argument["default"] for argument in forward["arguments"]] == [None, None, "None", "1"]
    assert forward["inputs"] == ["x (INPUT__0)", "y (INPUT__1)", "bias (INPUT__2)", "power (INPUT__3)"]
    assert (twice["name"], twice["result"], twice["outputs"]) == ("twice", "Tensor", ["RESULT (OUTPUT__0)"])

    text = inspect(capsys, path)
    assert "weights    1 of 4 bytes in parameters\n" in text
    assert "bias      Optional[Tensor]  None" in text
    assert "inputs     x (INPUT__0), y (INPUT__1), bias (INPUT__2), power (INPUT__3)" in text
    assert "declare    power as TYPE_INT64 or another integer type, dims: [ 1 ]" in text
    assert max(map(len, text.splitlines()[1:])) <= 80
