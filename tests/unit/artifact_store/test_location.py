"""Where the store lies, and which directories are refused."""

import os
import stat
from pathlib import Path
from types import SimpleNamespace

import pytest

from triton_pytorch.artifact_store.location import locate_store
from triton_pytorch.model_config.errors import StoreError

VARIABLE = "TRITON_PYTORCH_STORE"


def _mount_noexec(monkeypatch: pytest.MonkeyPatch, *places: Path) -> None:
    real = os.statvfs

    def statvfs(path: Path) -> object:
        return SimpleNamespace(f_flag=os.ST_NOEXEC) if path in places else real(path)

    monkeypatch.setattr(os, "statvfs", statvfs)


@pytest.fixture
def temporary_place(tmp_path: Path) -> Path:
    """Where the store falls to in the temporary directory `tmp_path`."""
    return tmp_path / f"triton-pytorch-{os.getuid()}"


def test_the_variable_decides_and_the_directory_is_made_private(tmp_path: Path) -> None:
    place = tmp_path / "deep" / "store"
    environment = {VARIABLE: str(place), "XDG_CACHE_HOME": str(tmp_path / "cache"), "HOME": str(tmp_path)}
    assert locate_store(environment) == place
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    assert not (tmp_path / "cache").exists()


def test_a_directory_of_ours_is_taken_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir(mode=0o755)
    (tmp_path / "link").symlink_to("store")  # the user's own link to a larger disk
    assert locate_store({VARIABLE: str(tmp_path / "link")}) == tmp_path / "store"


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"XDG_CACHE_HOME": "/ROOT/cache", "HOME": "/ROOT/home"}, "cache/triton-pytorch"),
        ({"HOME": "/ROOT/home"}, "home/.cache/triton-pytorch"),
        ({VARIABLE: "", "XDG_CACHE_HOME": "", "HOME": "/ROOT/home"}, "home/.cache/triton-pytorch"),
        ({"XDG_CACHE_HOME": "relative", "HOME": "/ROOT/home"}, "home/.cache/triton-pytorch"),
        ({"HOME": ""}, f"triton-pytorch-{os.getuid()}"),
        ({}, f"triton-pytorch-{os.getuid()}"),
    ],
)
def test_the_cache_directory_comes_before_the_temporary_one(
    environment: dict[str, str], expected: str, tmp_path: Path
) -> None:
    environment = {name: value.replace("/ROOT", str(tmp_path)) for name, value in environment.items()}
    assert locate_store({**environment, "TMPDIR": str(tmp_path)}) == tmp_path / expected


def test_an_unusable_home_is_passed_over(tmp_path: Path, temporary_place: Path) -> None:
    (tmp_path / "home").write_text("a file")
    assert locate_store({"HOME": str(tmp_path / "home"), "TMPDIR": str(tmp_path)}) == temporary_place


def test_a_noexec_home_is_passed_over(tmp_path: Path, temporary_place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _mount_noexec(monkeypatch, tmp_path / ".cache" / "triton-pytorch")
    assert locate_store({"HOME": str(tmp_path), "TMPDIR": str(tmp_path)}) == temporary_place


def test_a_read_only_home_is_passed_over(
    tmp_path: Path, temporary_place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: ".cache" not in str(path) and real(path, mode))
    assert locate_store({"HOME": str(tmp_path), "TMPDIR": str(tmp_path)}) == temporary_place


def test_noexec_is_refused_where_the_variable_asks_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _mount_noexec(monkeypatch, tmp_path / "store")
    with pytest.raises(StoreError, match=f"^{VARIABLE} names .*{tmp_path}/store is mounted noexec.*; set {VARIABLE}"):
        locate_store({VARIABLE: str(tmp_path / "store"), "HOME": str(tmp_path)})


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o720, 0o1777])
def test_a_directory_that_others_may_write_is_refused(mode: int, tmp_path: Path) -> None:
    place = tmp_path / "store"
    place.mkdir()
    place.chmod(mode)
    with pytest.raises(StoreError, match=rf"{place} can be written by others \(mode {mode:04o}\); set {VARIABLE}"):
        locate_store({VARIABLE: str(place)})


def test_a_directory_of_somebody_else_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.raises(StoreError, match=f"belongs to user {owner}, not to user {owner + 1}; set {VARIABLE}"):
        locate_store({VARIABLE: str(tmp_path)})


@pytest.mark.parametrize("target", ["elsewhere", "nowhere"])
def test_a_link_planted_in_the_temporary_directory_is_refused(
    target: str, tmp_path: Path, temporary_place: Path
) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    temporary_place.symlink_to(target)
    with pytest.raises(StoreError, match=f"there is no usable directory .*{temporary_place} .*; set {VARIABLE}"):
        locate_store({"TMPDIR": str(tmp_path)})
    assert not (tmp_path / "nowhere").exists()


def test_a_circle_of_links_and_a_file_are_refused(tmp_path: Path) -> None:
    (tmp_path / "circle").symlink_to("circle")
    (tmp_path / "file").write_text("")
    for name in ("circle", "file", "file/below"):
        with pytest.raises(StoreError, match=f"{tmp_path}/{name} cannot be made a directory"):
            locate_store({VARIABLE: str(tmp_path / name)})


def test_all_reasons_are_given_where_no_default_can_be_used(
    tmp_path: Path, temporary_place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _mount_noexec(monkeypatch, temporary_place)
    (tmp_path / ".cache").write_text("a file")
    with pytest.raises(StoreError, match=r"/\.cache/triton-pytorch cannot be made .*, and .* is mounted noexec"):
        locate_store({"HOME": str(tmp_path), "TMPDIR": str(tmp_path)})
