"""Which file is the model, where several lie in a version directory, and what is said where it is not there."""

import json
import os
import socket
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from triton_pytorch.formats.files import find, find_for_inspection
from triton_pytorch.model_config.configuration import Instance, InstanceKind, read_config
from triton_pytorch.model_config.errors import ArtifactError, ArtifactMissingError
from triton_pytorch.tests.assets.configs import model_config


def instance(directory: Path, files: Iterable[str] = (), **fields: Any) -> Instance:
    for name in files:
        (directory / name).touch()
    config = read_config(json.dumps({"name": "m", **model_config([], [], **{"platform": "", **fields})}))
    return Instance(config, directory, InstanceKind.CPU, 0)


def archive(path: Path, *entries: str) -> None:
    with zipfile.ZipFile(path, "w") as opened:
        for entry in entries:
            opened.writestr(f"m/{entry}", "")


def source(path: Path) -> None:
    path.write_text("import torch\n", encoding="utf-8")


# What may lie in a version directory; `script` and `checkpoint` are both called model.pt.
PARTS: dict[str, tuple[str, Callable[[Path], None]]] = {
    "package": ("model.pt2", lambda path: archive(path, "data/aotinductor/model/x.wrapper.so")),
    "source": ("model.py", source),
    "script": ("model.pt", lambda path: archive(path, "data.pkl", "constants.pkl")),
    "checkpoint": ("model.pt", lambda path: archive(path, "data.pkl")),
}
# The configs, in the order of the columns below. Core fills in both fields for `backend: "pytorch"`.
CONFIGS: dict[str, dict[str, Any]] = {
    "nothing written": {},
    "torch_aoti": {"platform": "torch_aoti"},
    "pytorch_libtorch": {"platform": "pytorch_libtorch"},
    "filled in": {"backend": "pytorch", "platform": "pytorch_libtorch", "default_model_filename": "model.pt"},
    "python mode": {"backend": "python", "default_model_filename": "model.py"},
}
RULES: dict[str, tuple[str | None, ...]] = {
    "package": ("model.pt2", "model.pt2", "model.pt2", "model.pt2", "model.pt2"),
    "source": ("model.py", "model.py", "model.py", "model.py", None),
    "script": ("model.pt", "model.pt", "model.pt", "model.pt", "model.pt"),
    "checkpoint": ("model.pt", "model.pt", "model.pt", "model.pt", "model.pt"),
    "package source": ("model.pt2", "model.pt2", "model.pt2", "model.pt2", "model.pt2"),
    "package script": ("model.pt2", "model.pt2", "model.pt", "model.pt2", "model.pt2"),
    "package checkpoint": ("model.pt2", "model.pt2", "model.pt", "model.pt2", "model.pt2"),
    "source script": ("model.pt", "model.pt", "model.pt", "model.pt", "model.pt"),
    "source checkpoint": ("model.py", "model.py", "model.py", "model.py", "model.pt"),
    "package source script": ("model.pt2", "model.pt2", "model.pt", "model.pt2", "model.pt2"),
    "package source checkpoint": ("model.pt2", "model.pt2", "model.py", "model.pt2", "model.pt2"),
}


@pytest.mark.parametrize("parts", RULES)
@pytest.mark.parametrize("config", CONFIGS)
def test_rule(tmp_path: Path, parts: str, config: str) -> None:
    for part in parts.split():
        name, write = PARTS[part]
        write(tmp_path / name)
    expected = dict(zip(CONFIGS, RULES[parts], strict=True))[config]
    if expected is None:
        with pytest.raises(ArtifactMissingError):
            find(instance(tmp_path, **CONFIGS[config]))
        return
    found = find(instance(tmp_path, **CONFIGS[config]))
    assert found.path == tmp_path / expected
    used = {expected, "model.pt"} if expected == "model.py" else {expected}
    entry = {"model.py"} if config == "python mode" else set()
    ignored = {PARTS[part][0] for part in parts.split()} - used - entry
    assert [name for name in sorted(ignored) if name not in "".join(found.notes)] == []
    assert len(found.notes) == bool(ignored)


@pytest.mark.parametrize("parts", RULES)
def test_rule_for_inspection(tmp_path: Path, parts: str) -> None:
    for part in parts.split():
        name, write = PARTS[part]
        write(tmp_path / name)
    assert find_for_inspection(tmp_path) == tmp_path / str(RULES[parts][0])


def test_ignored_files_are_named(tmp_path: Path) -> None:
    for name, write in (PARTS["package"], PARTS["source"], PARTS["script"]):
        write(tmp_path / name)
    beside = "model.pt2, model.py beside it are not used"
    note = f"the model is model.pt; {beside} (the parameter DEFAULT_MODEL_FILENAME names another file)"
    assert find(instance(tmp_path, platform="libtorch")).notes == (note,)
    assert find(instance(tmp_path, parameters={"DEFAULT_MODEL_FILENAME": "model.pt"})).notes == ()


@pytest.mark.parametrize(
    ("files", "fields", "found"),
    [
        (["other.pt2", "model.pt2"], {"default_model_filename": "other.pt2"}, "other.pt2"),
        (["model.py", "model.pt2"], {"default_model_filename": "model.py", "backend": "pytorch"}, "model.py"),
        (["model.pt", "model.pt2"], {"default_model_filename": "model.pt"}, "model.pt"),
        # filled in by Triton's core for a directory called `m.torch` without a config
        (["model.pt2"], {"default_model_filename": "model.torch", "backend": "torch"}, "model.pt2"),
        (["model.torch", "model.pt2"], {"default_model_filename": "model.torch", "backend": "torch"}, "model.torch"),
        # the parameter comes first, with `backend: "python"` too
        (["a", "b"], {"parameters": {"DEFAULT_MODEL_FILENAME": "a"}, "default_model_filename": "b"}, "a"),
        (["a", "model.pt2"], {"parameters": {"DEFAULT_MODEL_FILENAME": "a"}, "backend": "python"}, "a"),
    ],
)
def test_named(tmp_path: Path, files: list[str], fields: dict[str, Any], found: str) -> None:
    assert find(instance(tmp_path, files, **fields)).path == tmp_path / found


OTHER = "name another file with the parameter DEFAULT_MODEL_FILENAME"
MEANT_MODE1 = "; did you mean 'mode1.pt'?"
OR_FIELD = f"{OTHER}, or with default_model_filename"


@pytest.mark.parametrize(
    ("files", "fields", "sentence"),
    [
        ([], {}, f"no model.pt2, model.py or model.pt in 'DIR': it is empty; {OR_FIELD}"),
        (["x.pt2"], CONFIGS["filled in"], f"no model.pt2, model.py or model.pt in 'DIR': it holds x.pt2; {OR_FIELD}"),
        (
            ["mode1.pt"],
            {"platform": "libtorch"},
            f"no model.pt (the default of platform \"libtorch\") in 'DIR': it holds mode1.pt; {OR_FIELD}{MEANT_MODE1}",
        ),
        (["model.py"], CONFIGS["python mode"], f"no model.pt2 or model.pt in 'DIR': it holds model.py; {OTHER}"),
        (
            ["model.pt2"],
            {"default_model_filename": "model2.pt2"},
            "no model2.pt2 (named by default_model_filename) in 'DIR': it holds model.pt2; did you mean 'model.pt2'?",
        ),
        (
            ["model.pt2"],
            {"parameters": {"DEFAULT_MODEL_FILENAME": "a.bin"}},
            "no a.bin (named by the parameter DEFAULT_MODEL_FILENAME) in 'DIR': it holds model.pt2",
        ),
    ],
)
def test_missing(tmp_path: Path, files: list[str], fields: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ArtifactMissingError) as caught:
        find(instance(tmp_path, files, **fields))
    assert str(caught.value) == sentence.replace("DIR", str(tmp_path))


def test_missing_version_directory(tmp_path: Path) -> None:
    with pytest.raises(ArtifactMissingError, match=r"model\.pt in '.*/1': there is no such directory; name"):
        find(instance(tmp_path / "1"))


def a_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as opened:
        opened.bind(str(path))


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (Path.mkdir, "a directory"),
        (os.mkfifo, "a named pipe"),
        (a_socket, "a socket"),
        (lambda path: path.symlink_to("/dev/null"), "a device"),
        (lambda path: path.symlink_to("no/where"), "a broken link to 'no/where'"),
        (lambda path: path.symlink_to(path.name), "a broken link to 'model.pt2'"),
    ],
)
def test_not_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[Path], None], kind: str) -> None:
    monkeypatch.chdir(tmp_path)  # the path of a socket is short
    make(Path("model.pt2"))
    sentence = f"'{tmp_path / 'model.pt2'}' is {kind}: expected the model's file"
    for config in ({}, {"default_model_filename": "model.pt2"}):
        with pytest.raises(ArtifactMissingError) as caught:
            find(instance(tmp_path, **config))
        assert str(caught.value) == sentence
    with pytest.raises(ArtifactMissingError) as caught:
        find_for_inspection(tmp_path)
    assert str(caught.value) == sentence


def test_not_a_file_beside_the_one_of_the_platform(tmp_path: Path) -> None:
    PARTS["script"][1](tmp_path / "model.pt")
    (tmp_path / "model.pt2").mkdir()
    (tmp_path / "model.py").symlink_to("nowhere")
    assert find(instance(tmp_path, platform="pytorch_libtorch")).path == tmp_path / "model.pt"


def test_damaged_weights_beside_source(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text("import torch\n", encoding="utf-8")
    (tmp_path / "model.pt").write_bytes(b"PK\x03\x04 the first half")  # what is wrong with it is the next thing said
    assert find(instance(tmp_path)).path == tmp_path / "model.pt"


def test_unreadable_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", refuse)
    with pytest.raises(ArtifactError, match=f"'{tmp_path}' cannot be read: Permission denied"):
        find(instance(tmp_path))
