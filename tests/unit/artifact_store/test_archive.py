"""What is in an archive, what tells two archives apart, and which archives are refused."""

import os
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from triton_pytorch.model_config.errors import ArtifactError
from triton_pytorch.tests.assets.archives import open_archive

LOCAL, CENTRAL = b"PK\x03\x04", b"PK\x01\x02"  # signatures of the two headers of an entry (APPNOTE 4.3.7, 4.3.12)


def _patch(path: Path, header: bytes, offset: int, layout: str, value: int) -> None:
    """Overwrite a field of an archive's first header of that kind."""
    data = bytearray(path.read_bytes())
    struct.pack_into(layout, data, data.index(header) + offset, value)
    path.write_bytes(data)


def _read_all(path: Path) -> dict[str, bytes]:
    with open_archive(path) as archive:
        return {file.filename: b"".join(archive.chunks(file)) for file in archive.files}


def _address(path: Path) -> str:
    with open_archive(path) as archive:
        return archive.address


def _refusal(path: Path) -> str:
    with pytest.raises(ArtifactError) as caught, open_archive(path):
        pass
    assert str(path) in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_archive_content(compression: int, write_archive: Callable[..., Path]) -> None:
    content = {"top": b"1", "model/data/one": b"22" * 1_000_000, "model/empty": b""}
    path = write_archive({"a/explicit/": b"", **content}, compression=compression)
    assert _read_all(path) == content
    with open_archive(path) as archive:
        assert archive.size == 2_000_001
        assert os.path.samestat(os.fstat(archive.descriptor), path.stat())


def test_address_of_names_sizes_and_content(write_archive: Callable[..., Path]) -> None:
    original = _address(write_archive({"one": b"abc", "two": b"defg"}))
    for name, content in (
        ("content.zip", {"one": b"abd", "two": b"defg"}),
        ("name.zip", {"one": b"abc", "too": b"defg"}),
        ("swapped.zip", {"one": b"defg", "two": b"abc"}),
        ("more.zip", {"one": b"abc", "two": b"defg", "three": b""}),
    ):
        assert _address(write_archive(content, name=name)) != original
    again = write_archive({"one": b"abc", "two": b"defg"}, name="again.zip", compression=zipfile.ZIP_DEFLATED)
    os.utime(again, (0, 0))
    assert _address(again) == original


@pytest.mark.parametrize("name", ["/etc/passwd", "../escape", "model/../../escape", "../", ".", "model//data", "/"])
def test_entry_outside(name: str, write_archive: Callable[..., Path]) -> None:
    path = write_archive({"model/version": b"1", name: b""})
    assert f"entry {name!r} of '{path}' is not a plain relative path; such archives are refused" in _refusal(path)


def test_entry_without_name(write_archive: Callable[..., Path]) -> None:
    path = write_archive({"n": b""})
    for header, lengths in ((LOCAL, 26), (CENTRAL, 28)):  # of the name, then of the extra field after it
        _patch(path, header, lengths, "<H", 0)
        _patch(path, header, lengths + 2, "<H", 1)
    assert f"entry '' of '{path}' is not a plain relative path" in _refusal(path)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_entry_twice(tmp_path: Path) -> None:
    path = tmp_path / "model.pt2"
    with zipfile.ZipFile(path, "w") as archive:
        for data in (b"old", b"new"):
            archive.writestr("weights", data)
    assert f"entry 'weights' of '{path}' is there twice" in _refusal(path)


def test_entry_encrypted(write_archive: Callable[..., Path]) -> None:
    path = write_archive({"secret": b"1"})
    _patch(path, CENTRAL, 8, "<H", 1)
    with pytest.raises(ArtifactError, match=r"entry 'secret' of .* \(.*encrypted"):
        _read_all(path)


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("claimed", [0, 99, 101, 5000])
def test_entry_of_wrong_size(claimed: int, compression: int, write_archive: Callable[..., Path]) -> None:
    path = write_archive({"entry": b"x" * 100}, compression=compression)
    _patch(path, CENTRAL, 24, "<I", claimed)
    with pytest.raises(ArtifactError, match=r"entry 'entry' of .*/model\.pt2' is damaged"):
        _read_all(path)


def test_entry_of_changed_content(write_archive: Callable[..., Path]) -> None:
    path = write_archive({"entry": b"right"})
    path.write_bytes(path.read_bytes().replace(b"right", b"wrong"))
    with pytest.raises(ArtifactError, match=r"entry 'entry' of .*/model\.pt2' is damaged .*CRC"):
        _read_all(path)


def test_file_of_special_type(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe"):
        assert _refusal(path) == f"'{path}' is not a file"
