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
# As the `onnx` and `safetensors` packages write them.
ONNX = b'\x08\x0e\x12\x07pytorch\x1a\x062.13.0:3\n\x0c\n\x01x\x12\x01y"\x04Relu'
ONNX_WITHOUT_PRODUCER = b'\x08\x0e:3\n\x0c\n\x01x\x12\x01y"\x04Relu\x12\x01g'
SAFETENSORS = b'8\0\0\0\0\0\0\0{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}  \0\0\0\0\0\0\0\0'
SAFETENSORS_WITH_METADATA = (
    b'X\0\0\0\0\0\0\0{"__metadata__":{"format":"pt"},"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}'
)
PLAIN_FILES = {
    "empty": b"",
    "lfs_pointer": b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
    "checkpoint": b"\x80\x02}q\x00.",
    "truncated_archive": b"PK\x03\x04 the first half of an archive",
    "text": b"hello\n",
    "onnx": ONNX,
    "safetensors": SAFETENSORS,
    "gguf": b"GGUF\x03\x00\x00\x00",
    "hdf5": b"\x89HDF\r\n\x1a\n\x00",
    "other": b"\x7fELF\x00\x00",
}
# What begins like one of the above.
SIMILAR = {
    b"\x08\x0e\x12\x07py\0orch\x1a\x06": "other",  # what should be the producer's name is not
    b"\x08\x0e\x12\x40pytorch": "text",  # the name is shorter than its length
    b"\x08\x0e:3 and some more": "text",
    b"8\0\0\0\0\0\0\0{ not the listing of tensors": "other",
    b'\xff\xff\xff\xff\xff\xff\xff\xff{"w":{"dtype":"F32"': "text",  # no header is that long
    b'{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}': "text",
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


@pytest.mark.parametrize("content", SIMILAR)
def test_similar_files(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "model.pt"
    path.write_bytes(content)
    assert identified(path) == SIMILAR[content]


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("model.onnx", ONNX_WITHOUT_PRODUCER, "onnx"),
        ("model.pt", ONNX_WITHOUT_PRODUCER, "text"),
        ("model.onnx", b"hello", "text"),
        ("model.pt2", SAFETENSORS_WITH_METADATA, "safetensors"),
    ],
)
def test_name_and_content(tmp_path: Path, name: str, content: bytes, expected: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    assert identified(path) == expected


def test_python_source(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text("import torch\n", encoding="utf-8")
    assert identified(path) == "python_source"
