"""Where a model's file is looked for, and what is said where it is not there."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from triton_pytorch.formats.files import find, find_for_inspection
from triton_pytorch.model_config.configuration import Instance, InstanceKind, read_config
from triton_pytorch.model_config.errors import ArtifactError, ArtifactMissingError
from triton_pytorch.tests.assets.configs import model_config


def instance(directory: Path, files: Iterable[str], **fields: Any) -> Instance:
    for name in files:
        (directory / name).touch()
    config = read_config(json.dumps({"name": "m", **model_config([], [], **fields)}))
    return Instance(config, directory, InstanceKind.CPU, 0)


@pytest.mark.parametrize(
    ("files", "fields", "found"),
    [
        (["model.pt2", "model.pt"], {}, "model.pt2"),
        (["model.pt"], {}, "model.pt"),
        (["other.pt2", "model.pt2"], {"default_model_filename": "other.pt2"}, "other.pt2"),
        # filled in by Triton's core
        (["model.pt2"], {"default_model_filename": "model.pt", "backend": "pytorch"}, "model.pt2"),
        (["model.pt2"], {"default_model_filename": "model.torch", "backend": "torch"}, "model.pt2"),
        # with `backend: "python"` the field and model.py are Triton's
        (["model.pt", "model.py"], {"default_model_filename": "model.py", "backend": "python"}, "model.pt"),
        (["a", "model.pt2"], {"parameters": {"DEFAULT_MODEL_FILENAME": "a"}, "backend": "python"}, "a"),
    ],
)
def test_found(tmp_path: Path, files: list[str], fields: dict[str, Any], found: str) -> None:
    assert find(instance(tmp_path, files, **fields)) == tmp_path / found


@pytest.mark.parametrize(
    ("files", "fields", "sentence"),
    [
        (
            ["m.pt2"],
            {},
            "it holds m.pt2; name another file with the parameter DEFAULT_MODEL_FILENAME, or with default_",
        ),
        (
            [],
            {},
            "it is empty; name another file with the parameter DEFAULT_MODEL_FILENAME, or with default_model_file",
        ),
        (["model.pt2"], {"default_model_filename": "model2.pt2"}, "it holds model.pt2; did you mean 'model.pt2'?"),
    ],
)
def test_missing(tmp_path: Path, files: list[str], fields: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ArtifactMissingError) as caught:
        find(instance(tmp_path, files, **fields))
    name = fields.get("default_model_filename", "model.pt2")
    assert str(caught.value).startswith(f"no {name} in '{tmp_path}': {sentence}")


def test_not_a_file(tmp_path: Path) -> None:
    (tmp_path / "model.pt2").mkdir()
    with pytest.raises(ArtifactMissingError, match=r"model\.pt2' is a directory: expected the model's file"):
        find(instance(tmp_path, []))
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    with pytest.raises(ArtifactMissingError, match="gone' is a broken link: expected the model's file"):
        find(instance(tmp_path, [], default_model_filename="gone"))
    with pytest.raises(ArtifactMissingError, match="'/dev/null' is not a file: expected the model's file"):
        find_for_inspection(Path("/dev/null"))


def test_unreadable_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", refuse)
    with pytest.raises(ArtifactError, match=f"'{tmp_path}' cannot be read: Permission denied"):
        find(instance(tmp_path, []))
