"""What `inspect` says of files of all kinds and of directories, and how it refuses."""

import json
import os
import zipfile
from pathlib import Path

import pytest

from triton_pytorch.cli.commands import run

COMPILE = "torch._inductor.aoti_compile_and_package"
HOW = f"torch.export.export and {COMPILE}"
OR_A_SCRIPT = ", or a TorchScript archive, made by torch.jit.script or torch.jit.trace, and .save"
CHECKPOINT = (
    "a checkpoint or pickled module (torch.save), which holds no program: load it into its module, and make a "
    f"package of that with {HOW}"
)


def archive(path: Path, *entries: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as opened:
        for entry in entries:
            opened.writestr(entry, "")
    return path


def package(path: Path, *models: str) -> Path:
    return archive(path, *(f"m/data/aotinductor/{model}/x.wrapper.so" for model in models))


def printed(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    assert run(["inspect", *map(str, arguments)]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def refused(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    assert run(["inspect", *map(str, arguments)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.startswith("error: ")
    return captured.err.removeprefix("error: ").rstrip("\n")


def test_file_name_that_is_not_utf8(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / os.fsdecode(b"m\xff.pt2")
    path.write_bytes(b"GGUF")
    assert "m\\udcff.pt2 is a GGUF file" in printed(capsys, path)


def test_names_that_are_too_long(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, link, name = tmp_path / ("x" * 300), tmp_path / "model.pt2", "y" * 300
    link.symlink_to(name)
    assert refused(capsys, path) == f"'{path}' does not exist"
    assert refused(capsys, link) == f"'{link}' is a broken link to '{name}': expected the model's file"
    assert refused(capsys, tmp_path) == f"'{link}' is a broken link to '{name}': expected the model's file"


@pytest.mark.parametrize(
    ("entries", "kind", "sentence"),
    [
        (
            ("m/archive_format", "m/models/model.json"),
            "exported_program",
            f"an exported program (torch.export.save): compile it into an AOTInductor package with {COMPILE}",
        ),
        (
            ("archive/data.pkl",),
            "checkpoint",
            CHECKPOINT,
        ),
        (
            ("word/document.xml",),
            "other_archive",
            "a zip archive without a model: expected an AOTInductor package, made by " + HOW + OR_A_SCRIPT,
        ),
    ],
)
def test_other_archives(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], entries: tuple[str, ...], kind: str, sentence: str
) -> None:
    file = archive(tmp_path / "model.pt", *entries)
    assert printed(capsys, file) == f"{file} is {sentence}\n"
    assert json.loads(printed(capsys, "--json", file)) == {"file": str(file), "kind": kind, "summary": sentence}


def test_source_and_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, summary in (
        ("model.py", "Python source: not served by this version,"),
        ("model.pt", "a text file: expected"),
    ):
        (tmp_path / name).write_text("import torch\n", encoding="utf-8")
        assert printed(capsys, tmp_path / name).startswith(f"{tmp_path / name} is {summary} ")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "is empty: copy it again"),
        (b"PK\x03\x04 and no more", "is the beginning of a zip archive whose end is missing: copy it again"),
        (b"version https://git-lfs.github.com/spec/v1\n", "is a Git LFS pointer: run `git lfs pull`"),
    ],
)
def test_damaged_files(tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes, sentence: str) -> None:
    file = tmp_path / "model.pt2"
    file.write_bytes(content)
    assert refused(capsys, file) == f"'{file}' {sentence}"


def test_package_without_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = archive(tmp_path / "model.pt2", "m/data/aotinductor/model/x.wrapper.cpp")
    assert "holds no compiled model for Linux" in refused(capsys, file)


def test_missing_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert refused(capsys, tmp_path / "model.pt2") == f"'{tmp_path / 'model.pt2'}' does not exist"
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    said = refused(capsys, tmp_path / "gone")
    assert said == f"'{tmp_path / 'gone'}' is a broken link to '{tmp_path / 'nowhere'}': expected the model's file"
    (tmp_path / "models.pt2").touch()
    assert refused(capsys, tmp_path / "model.pt2").endswith("/model.pt2' does not exist; did you mean 'models.pt2'?")


def test_several_models(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = package(tmp_path / "model.pt2", "first", "second")
    assert "\nmodel      second, one of first, second (" in printed(capsys, file, "--model", "second")
    assert refused(capsys, file).endswith(
        "several models (first, second): choose one with the parameter AOTI_MODEL_NAME (inspect: --model NAME)"
    )
    assert "did you mean 'second'?" in refused(capsys, file, "--model=secnod")


class TestDirectories:
    def test_model_directory_highest_version(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        for version in ("2", "10", "9"):
            package(tmp_path / version / "model.pt2", f"model_{version}")
        (tmp_path / "config.pbtxt").touch()
        assert f"{tmp_path / '10' / 'model.pt2'} is an AOTInductor package\n" in printed(capsys, tmp_path)

    def test_version_directory(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        package(tmp_path / "model.pt2", "model")
        (tmp_path / "model.py").write_text("import runpy\n", encoding="utf-8")  # the entry of backend: "python"
        assert f"{tmp_path / 'model.pt2'} is" in printed(capsys, tmp_path)

    @pytest.mark.parametrize(("names", "holds"), [((), "it is empty"), (("a.pt2", "b.pt2"), "it holds a.pt2, b.pt2")])
    def test_directory_without_default_file(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], names: tuple[str, ...], holds: str
    ) -> None:
        for name in names:
            (tmp_path / name).touch()
        assert refused(capsys, tmp_path) == (
            f"no model.pt2, model.py or model.pt in '{tmp_path}': {holds}; give a file instead"
        )


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "the following arguments are required: FILE"),
        (("a.pt2", "b.pt2"), "unrecognized arguments: b.pt2"),
        (("a.pt2", "--jsno"), "unrecognized arguments: --jsno"),
        (("a.pt2", "--model"), "argument --model: expected one argument"),
    ],
)
def test_wrong_arguments(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], sentence: str) -> None:
    assert refused(capsys, *arguments) == f"{sentence} ('inspect --help' shows what it takes)"


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run(["inspect", "--help"])
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    assert all(word in shown for word in ("FILE", "--model NAME", "--json", "Exit code 0"))
