"""A model's file is an archive, or not, or cannot be read."""

import os
from pathlib import Path

import pytest

from triton_pytorch.artifact_store.model_file import open_model_file
from triton_pytorch.model_config.errors import ArtifactError, ArtifactMissingError


def test_model_file_archive(archive: Path, content: dict[str, bytes]) -> None:
    with open_model_file(archive) as file:
        assert file.path == archive
        assert file.archive is not None
        assert {entry.filename: b"".join(file.archive.chunks(entry)) for entry in file.archive.files} == content
        descriptor = file.archive.descriptor
        assert os.fstat(descriptor).st_size == archive.stat().st_size
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)


def test_model_file_plain(tmp_path: Path, archive: Path) -> None:
    truncated = archive.read_bytes()[:-1000]
    for name, data in {"model.py": b"import torch\n", "empty.pt": b"", "truncated.pt2": truncated}.items():
        (tmp_path / name).write_bytes(data)
        with open_model_file(tmp_path / name) as file:
            assert (file.path, file.archive) == (tmp_path / name, None)


def test_model_file_damaged(archive: Path) -> None:
    archive.write_bytes(archive.read_bytes().replace(b"PK\x01\x02", b"PK\x01\x03"))
    with pytest.raises(ArtifactError, match=r"model\.pt2' is damaged or not a zip archive"), open_model_file(archive):
        pass


def test_model_file_unreadable(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)  # file modes do not stop root
    with pytest.raises(ArtifactError, match=r"model\.pt2' cannot be read: Permission denied"), open_model_file(archive):
        pass


def test_model_file_missing(tmp_path: Path) -> None:
    with (
        pytest.raises(ArtifactMissingError, match=r"model\.pt' does not exist"),
        open_model_file(tmp_path / "model.pt"),
    ):
        pass
