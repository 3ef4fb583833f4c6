"""Which format a file has, told from its content whatever its name."""

import zipfile
from pathlib import Path

import pytest

from triton_pytorch.artifact_store.model_file import open_model_file
from triton_pytorch.formats import table
from triton_pytorch.formats.identification import identify
from triton_pytorch.formats.table import Format

# Entries as the makers of each format write them.
ARCHIVES = {
    table.PACKAGE: ["m/data/aotinductor/model/x.wrapper.so", "m/archive_format", "m/byteorder"],
    table.EXPORTED_PROGRAM: ["m/archive_format", "m/models/model.json", "m/data/weights/weight_0"],
    table.TORCHSCRIPT: ["m/data.pkl", "m/code/__torch__.py", "m/constants.pkl", "m/version"],
    table.CHECKPOINT: ["archive/data.pkl", "archive/data/0", "archive/version"],
    table.OTHER_ARCHIVE: ["word/document.xml"],
}
PLAIN_FILES = {
    table.EMPTY: b"",
    table.LFS_POINTER: b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
    table.CHECKPOINT: b"\x80\x02}q\x00.",
    table.TRUNCATED_ARCHIVE: b"PK\x03\x04 the first half of an archive",
    table.TEXT: b"hello\n",
    table.OTHER: b"\x7fELF\x00\x00",
}


def identified(path: Path) -> Format:
    with open_model_file(path) as file:
        return identify(file)


@pytest.mark.parametrize("expected", ARCHIVES, ids=lambda expected: expected.key)
def test_archives(tmp_path: Path, expected: Format) -> None:
    path = tmp_path / "model.pt"
    with zipfile.ZipFile(path, "w") as archive:
        for entry in ARCHIVES[expected]:
            archive.writestr(entry, "")
    assert identified(path) is expected


@pytest.mark.parametrize("expected", PLAIN_FILES, ids=lambda expected: expected.key)
def test_plain_files(tmp_path: Path, expected: Format) -> None:
    path = tmp_path / "model.pt2"
    path.write_bytes(PLAIN_FILES[expected])
    assert identified(path) is expected


def test_python_source(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text("import torch\n", encoding="utf-8")
    assert identified(path) is table.PYTHON_SOURCE
