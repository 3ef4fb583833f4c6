"""What a file is, told from its content whatever its name."""

import zipfile
from pathlib import Path

import pytest

from triton_pytorch.formats.kinds import Kind, identify
from triton_pytorch.model_config.errors import ArtifactError

# Entries as the makers of each kind write them.
ARCHIVES = {
    Kind.PACKAGE: ["m/data/aotinductor/model/x.wrapper.so", "m/archive_format", "m/byteorder"],
    Kind.EXPORTED_PROGRAM: ["m/archive_format", "m/models/model.json", "m/data/weights/weight_0"],
    Kind.TORCHSCRIPT: ["m/data.pkl", "m/code/__torch__.py", "m/constants.pkl", "m/version"],
    Kind.CHECKPOINT: ["archive/data.pkl", "archive/data/0", "archive/version"],
    Kind.OTHER_ARCHIVE: ["word/document.xml"],
}
PLAIN_FILES = {
    Kind.EMPTY: b"",
    Kind.LFS_POINTER: b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
    Kind.CHECKPOINT: b"\x80\x02}q\x00.",
    Kind.TRUNCATED_ARCHIVE: b"PK\x03\x04 the first half of an archive",
    Kind.TEXT: b"hello\n",
    Kind.OTHER: b"\x7fELF\x00\x00",
}


@pytest.mark.parametrize("kind", ARCHIVES, ids=lambda kind: kind.name)
def test_archives(tmp_path: Path, kind: Kind) -> None:
    path = tmp_path / "model.pt"
    with zipfile.ZipFile(path, "w") as archive:
        for entry in ARCHIVES[kind]:
            archive.writestr(entry, "")
    assert identify(path) is kind


@pytest.mark.parametrize("kind", PLAIN_FILES, ids=lambda kind: kind.name)
def test_plain_files(tmp_path: Path, kind: Kind) -> None:
    path = tmp_path / "model.pt2"
    path.write_bytes(PLAIN_FILES[kind])
    assert identify(path) is kind


def test_python_source(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text("import torch\n", encoding="utf-8")
    assert identify(path) is Kind.PYTHON_SOURCE


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match=r"'.*model.pt2' cannot be read"):
        identify(tmp_path / "model.pt2")


@pytest.mark.parametrize("field", [6, 10])  # of the central directory: version needed, compression method
def test_an_archive_of_the_future_is_an_error_of_ours(tmp_path: Path, field: int) -> None:
    path = tmp_path / "model.pt2"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("m/data.pkl", "x")
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\x01\x02") + field] = 71
    path.write_bytes(content)
    with pytest.raises(ArtifactError, match=r"model.pt2"):
        identify(path)
