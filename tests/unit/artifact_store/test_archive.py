"""What an archive holds, what tells two archives apart, and which archives are refused."""

import os
import stat
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from triton_pytorch.artifact_store.archive import open_archive
from triton_pytorch.model_config.errors import ArtifactError, ArtifactMissingError

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


def test_the_content_is_what_was_written(write_archive: Callable[..., Path]) -> None:
    content = {"top": b"1", "model/data/one": b"22" * 1_000_000, "model/empty": b""}
    path = write_archive({"a/explicit/": b"", **content})
    assert _read_all(path) == content
    with open_archive(path) as archive:
        assert archive.directories == ("a", "a/explicit", "model", "model/data")
        assert archive.size == 2_000_001


def test_the_address_depends_on_names_sizes_and_content_alone(write_archive: Callable[..., Path]) -> None:
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


@pytest.mark.parametrize(
    ("name", "objection"),
    [
        ("/etc/passwd", "not a plain relative path"),
        ("../escape", "not a plain relative path"),
        ("model/../../escape", "not a plain relative path"),
        ("..", "not a plain relative path"),
        ("../", "not a plain relative path"),
        (".", "not a plain relative path"),
        ("model/./data", "not a plain relative path"),
        ("model//data", "not a plain relative path"),
        ("/", "not a plain relative path"),
        ("..\\escape", "backslash or NUL"),
        ("n" * 256, "more than 255 bytes"),
        ("\u00fc" * 128, "more than 255 bytes"),
    ],
)
def test_names_that_do_not_stay_inside_are_refused(
    name: str, objection: str, write_archive: Callable[..., Path]
) -> None:
    path = write_archive({"model/version": b"1", name: b""})
    with pytest.raises(ArtifactError) as caught, open_archive(path):
        pass
    assert objection in str(caught.value)
    assert repr(name) in str(caught.value)
    assert str(path) in str(caught.value)


def test_an_empty_name_is_refused(write_archive: Callable[..., Path]) -> None:
    path = write_archive({"n": b""})
    for header, lengths in ((LOCAL, 26), (CENTRAL, 28)):  # of the name, then of the extra field behind it
        _patch(path, header, lengths, "<H", 0)
        _patch(path, header, lengths + 2, "<H", 1)
    with pytest.raises(ArtifactError, match=r"entry '' of .* is not a plain relative path"), open_archive(path):
        pass


def test_a_nul_in_a_name_is_refused(write_archive: Callable[..., Path]) -> None:
    path = write_archive({"innocent.so": b""})
    path.write_bytes(path.read_bytes().replace(b"innocent.so", b"innocent\0so"))
    with (
        pytest.raises(ArtifactError, match=r"entry 'innocent\\x00so' of .* has a backslash or NUL"),
        open_archive(path),
    ):
        pass


@pytest.mark.parametrize(
    ("name", "mode"),
    [
        ("entry", stat.S_IFLNK),
        ("entry", stat.S_IFIFO),
        ("entry", stat.S_IFCHR),
        ("entry", stat.S_IFBLK),
        ("entry", stat.S_IFSOCK),
        ("entry", stat.S_IFDIR),
        ("entry/", stat.S_IFREG),
        ("entry/", stat.S_IFLNK),
    ],
)
def test_links_and_special_files_are_refused(name: str, mode: int, tmp_path: Path) -> None:
    member = zipfile.ZipInfo(name)
    member.external_attr = (mode | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "model.pt2", "w") as archive:
        archive.writestr(member, "/etc/passwd")
    with (
        pytest.raises(ArtifactError, match=f"entry '{name}' of .* neither a plain file nor a directory"),
        open_archive(tmp_path / "model.pt2"),
    ):
        pass


@pytest.mark.parametrize("names", [("a", "a"), ("d/", "d/"), ("a", "a/"), ("a/b", "a"), ("a", "a/b/c")])
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_clashing_entries_are_refused(names: tuple[str, str], tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "model.pt2", "w") as archive:
        for name in names:
            archive.writestr(name, b"")
    with (
        pytest.raises(ArtifactError, match=r"entry '[ad]' of .*/model\.pt2 is there twice, or both"),
        open_archive(tmp_path / "model.pt2"),
    ):
        pass


def test_an_encrypted_entry_is_refused(write_archive: Callable[..., Path]) -> None:
    path = write_archive({"secret": b"1"})
    _patch(path, CENTRAL, 8, "<H", 1)
    with pytest.raises(ArtifactError, match=r"entry 'secret' of .* is encrypted"), open_archive(path):
        pass


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_compression_that_torch_does_not_read_is_refused(method: int, write_archive: Callable[..., Path]) -> None:
    path = write_archive({"entry": b"1"}, compression=method)
    with pytest.raises(ArtifactError, match=f"is compressed by method {method}"), open_archive(path):
        pass


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("claimed", [0, 99, 101, 5000])
def test_a_size_that_lies_is_found(claimed: int, compression: int, write_archive: Callable[..., Path]) -> None:
    path = write_archive({"entry": b"x" * 100}, compression=compression)
    _patch(path, CENTRAL, 24, "<I", claimed)
    with pytest.raises(ArtifactError, match=r"entry 'entry' of .*/model\.pt2 is damaged"):
        _read_all(path)


def test_changed_content_is_found(write_archive: Callable[..., Path]) -> None:
    path = write_archive({"entry": b"right"})
    path.write_bytes(path.read_bytes().replace(b"right", b"wrong"))
    with pytest.raises(ArtifactError, match=r"entry 'entry' of .*/model\.pt2 is damaged .*CRC"):
        _read_all(path)


def test_a_bomb_is_refused_before_it_is_unpacked(write_archive: Callable[..., Path]) -> None:
    path = write_archive({"entry": bytes(100)}, compression=zipfile.ZIP_DEFLATED)
    _patch(path, CENTRAL, 24, "<I", 3 << 30)
    with pytest.raises(ArtifactError, match="claims 3072 MiB when unpacked, where at most 64 MiB"), open_archive(path):
        pass


def test_compressible_models_are_no_bombs(write_archive: Callable[..., Path]) -> None:
    path = write_archive({"zeros": bytes(32 << 20)}, compression=zipfile.ZIP_DEFLATED)
    assert path.stat().st_size < 1 << 20
    with open_archive(path) as archive:
        assert archive.size == 32 << 20


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(ArtifactMissingError, match=r"model\.pt2 does not exist"), open_archive(tmp_path / "model.pt2"):
        pass


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(ArtifactError, match=f"{path} is not a file"), open_archive(path):
            pass


def test_an_unreadable_file_says_so(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)  # file modes do not stop root
    with pytest.raises(ArtifactError, match=r"model\.pt2 cannot be read: Permission denied"), open_archive(archive):
        pass


@pytest.mark.parametrize("data", [b"", b"PK", b"import torch\n", bytes(100), b"version https://git-lfs.github.com"])
def test_what_is_no_archive_is_refused(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "model.pt2").write_bytes(data)
    with (
        pytest.raises(ArtifactError, match=r"model\.pt2 is damaged or no zip archive"),
        open_archive(tmp_path / "model.pt2"),
    ):
        pass
