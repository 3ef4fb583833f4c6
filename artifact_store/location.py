"""Where unpacked archives are kept: a private directory from which libraries can be loaded."""

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from triton_pytorch.model_config.errors import StoreError

VARIABLE = "TRITON_PYTORCH_STORE"


def locate_store(environment: Mapping[str, str]) -> Path:
    """Return the directory for unpacked archives, made with mode 0700 where it is missing.

    TRITON_PYTORCH_STORE decides where it is set; else the user's cache directory, else the temporary directory is
    taken, whichever can be used first. Raises StoreError with the reason against each directory that was tried.
    """
    refusals: list[str] = []
    for path in _candidates(environment):
        refusal = _refusal(path)
        if refusal is None:
            return path
        refusals.append(f"{path} {refusal}")
    subject = f"{VARIABLE} names" if environment.get(VARIABLE) else "there is"
    raise StoreError(
        f"{subject} no usable directory for unpacked archives: {', and '.join(refusals)}; set {VARIABLE} to a "
        "directory of your own that others cannot write to, on a file system that allows execution"
    )


def _candidates(environment: Mapping[str, str]) -> Iterator[Path]:
    if explicit := environment.get(VARIABLE):
        yield _resolved(Path(explicit))
        return
    cache = Path(environment.get("XDG_CACHE_HOME", ""))
    if not cache.is_absolute():  # the XDG specification has relative paths ignored
        cache = Path(environment.get("HOME", ""), ".cache")
    if cache.is_absolute():
        yield _resolved(cache / "triton-pytorch")
    temporary = Path(environment.get("TMPDIR") or "/tmp").absolute()  # noqa: S108  what is found there is checked
    yield temporary / f"triton-pytorch-{os.geteuid()}"


def _resolved(path: Path) -> Path:
    """Follow the links of a path that the user chose; `Path.resolve` would raise on a circle of links."""
    return Path(os.path.realpath(path))


def _refusal(path: Path) -> str | None:
    """Make the directory where it is missing, and return what speaks against it: code will be loaded from there."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        status, flags = path.lstat(), os.statvfs(path).f_flag
    except OSError as error:
        return f"cannot be made a directory ({error.strerror})"
    objections = (
        (stat.S_ISLNK(status.st_mode), "is a symbolic link"),
        (status.st_uid != os.geteuid(), f"belongs to user {status.st_uid}, not to user {os.geteuid()}"),
        (status.st_mode & 0o022, f"can be written by others (mode {stat.S_IMODE(status.st_mode):04o})"),
        (flags & os.ST_NOEXEC, "is mounted noexec, so that no library can be loaded from it"),
        (not os.access(path, os.W_OK | os.X_OK), "cannot be written"),
    )
    return next((text for applies, text in objections if applies), None)
