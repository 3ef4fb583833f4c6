"""Which format a file has, told from its content whatever its name."""

import zipfile
from pathlib import Path

import pytest

from triton_pytorch.artifact_store.model_file import open_model_file
from triton_pytorch.formats.identification import identify

# Entries as the makers of each format write them.
ARCHIVES = {
    "package": ["m/data/aotinductor/model/x.wrapper.so", "m/archive_format", "m/byteorder"],
    "exported_program": ["m/archive_format", "m/models/model.json", "m/data/weights/weight_0"],
    "torchscript": ["m/data.pkl", "m/code/__torch__.py", "m/constants.pkl", "m/version"],
    "checkpoint": ["archive/data.pkl", "archive/data/0", "archive/version"],
    "other_archive": ["word/document.xml"],
}
PLAIN_FILES = {
    "empty": b"",
    "lfs_pointer": b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
    "checkpoint": b"\x80\x02}q\x00.",
    "truncated_archive": b"PK\x03\x04 the first half of an archive",
    "text": b"hello\n",
    "other": b"\x7fELF\x00\x00",
}


def identified(path: Path) -> str:
    with open_model_file(path) as file:
        return identify(file).key


@pytest.mark.parametrize("expected", ARCHIVES)
def test_archives(tmp_path: Path, expected: str) -> None:
    path = tmp_path / "model.pt"
    with zipfile.ZipFile(path, "w") as archive:
        for entry in ARCHIVES[expected]:
            archive.writestr(entry, "")
    assert identified(path) == expected


@pytest.mark.parametrize("expected", PLAIN_FILES)
def test_plain_files(tmp_path: Path, expected: str) -> None:
    path = tmp_path / "model.pt2"
    path.write_bytes(PLAIN_FILES[expected])
    assert identified(path) == expected


def test_python_source(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text("import torch\n", encoding="utf-8")
    assert identified(path) == "python_source"
