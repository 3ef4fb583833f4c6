"""Which file is the model: in the version directory of an instance, and for `inspect` wherever one may lie.

A name that the user wrote is the only one looked for. Else the first of these that is there: the file of the platform
that the user wrote, model.pt2, model.py, model.pt. Where model.py would be it or model.pt, and both lie there, the
content of model.pt decides: weights belong to model.py, all else is the model.
"""

import errno
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from triton_pytorch.artifact_store.model_file import open_model_file
from triton_pytorch.formats.identification import identify
from triton_pytorch.formats.table import FORMATS, ServedFormat
from triton_pytorch.model_config.configuration import Instance, ModelConfig
from triton_pytorch.model_config.errors import ArtifactError, ArtifactMissingError
from triton_pytorch.model_config.file_names import file_system_name
from triton_pytorch.model_config.suggestions import did_you_mean, listed

_SOURCE, _SCRIPT_OR_WEIGHTS = "model.py", "model.pt"
_USUAL_NAMES = ("model.pt2", _SOURCE, _SCRIPT_OR_WEIGHTS)
_OF_PLATFORM = {
    platform: each.file_name for each in FORMATS if isinstance(each, ServedFormat) for platform in each.platforms
}
_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
_NOT_THERE = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG)
_LEADS_NOWHERE = (*_NOT_THERE, errno.ELOOP)


@dataclass(frozen=True, slots=True)
class FoundFile:
    """The path of the model's file, and what to log of the files beside it that may have been meant."""

    path: Path
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Search:
    """The names to look for, the preferred first; `origin` says whose word the first one is, `remedy` what to do."""

    names: tuple[str, ...]
    origin: str = ""
    remedy: str = ""


def find(instance: Instance) -> FoundFile:
    """Return the file to serve.

    Raises:
        ArtifactMissingError: it is not there; names what was looked for, by whose word, and what there is.
        ArtifactError: the version directory cannot be read, or the file that decides between two.
    """
    directory = instance.version_directory
    search = _search(instance.config)
    try:
        name = _chosen(directory, search.names)
        if name is None:
            raise ArtifactMissingError(_missing(search, directory))
        return FoundFile(_checked(directory / file_system_name(name)), _notes(directory, name, search.names))
    except OSError as error:
        raise ArtifactError(f"'{directory}' cannot be read: {error.strerror}") from error


def find_for_inspection(path: Path) -> Path:
    """Return the path of a file, or of the one in a version directory or in the highest version of a model's directory.

    Raises:
        ArtifactMissingError: it is not there; names what was looked for and what there is.
        ArtifactError: the file that decides between two cannot be read.
        OSError: a directory cannot be read.
    """
    if not os.path.isdir(path):  # noqa: PTH112 - Path.is_dir raises on a name that is too long
        if not _is_there(path):
            raise ArtifactMissingError(f"'{path}' does not exist{did_you_mean(path.name, _present(path.parent))}")
        return _checked(path)
    versions = [entry for entry in path.iterdir() if entry.name.isdecimal() and entry.is_dir()]
    # Triton serves the highest version unless it is told otherwise.
    directory = max(versions, key=lambda version: int(version.name), default=path)
    name = _chosen(directory, _USUAL_NAMES)
    if name is None:
        raise ArtifactMissingError(_missing(_Search(_USUAL_NAMES, remedy="give a file instead"), directory))
    return _checked(directory / name)


def _search(config: ModelConfig) -> _Search:
    named = config.parameters.default_model_filename
    if named is not None:
        return _Search((named,), " (named by the parameter DEFAULT_MODEL_FILENAME)")
    # With `backend: "python"` the field, and model.py in the version directory, are this backend's own entry.
    field = "" if config.is_python_mode else config.default_model_filename
    # Core fills in model.NAME for a directory called `m.NAME` without a config, and model.pt for backend "pytorch".
    of_directory = field if field == f"model.{config.backend}" else ""
    if field and not of_directory and not (field == "model.pt" and config.backend == "pytorch"):
        return _Search((field,), " (named by default_model_filename)")
    of_platform = _OF_PLATFORM.get(config.written_platform, "")
    usual = [name for name in _USUAL_NAMES if not (config.is_python_mode and name == _SOURCE)]
    remedy = "name another file with the parameter DEFAULT_MODEL_FILENAME"
    return _Search(
        tuple(dict.fromkeys(name for name in (of_directory, of_platform, *usual) if name)),
        f' (the default of platform "{config.platform}")' if of_platform and not of_directory else "",
        remedy if config.is_python_mode else f"{remedy}, or with default_model_filename",
    )


def _chosen(directory: Path, names: Sequence[str]) -> str | None:
    """Return the first of the names that is there, whatever it is: a broken link is not passed over in silence."""
    name = next((name for name in names if _is_there(directory / file_system_name(name))), None)
    alternatives = {_SOURCE, _SCRIPT_OR_WEIGHTS}
    if name in alternatives and alternatives.issubset(names) and _is_there(directory / _SCRIPT_OR_WEIGHTS):
        with open_model_file(_checked(directory / _SCRIPT_OR_WEIGHTS)) as file:
            are_weights = identify(file).is_weights_of_source
        return _SOURCE if are_weights and _is_there(directory / _SOURCE) else _SCRIPT_OR_WEIGHTS
    return name


def _checked(path: Path) -> Path:
    """Return the path of a file; raises ArtifactMissingError where there is something else of that name."""
    try:
        kind = _KINDS.get(stat.S_IFMT(path.stat().st_mode))
    except OSError as error:
        if error.errno not in _LEADS_NOWHERE:
            raise
        kind = f"a broken link to '{path.readlink()}'"
    if kind is not None:
        raise ArtifactMissingError(f"'{path}' is {kind}: expected the model's file")
    return path


def _is_there(path: Path) -> bool:
    try:
        path.lstat()
    except OSError as error:
        if error.errno not in _NOT_THERE:
            raise
        return False
    return True


def _notes(directory: Path, used: str, names: Sequence[str]) -> tuple[str, ...]:
    users = (used, _SCRIPT_OR_WEIGHTS) if used == _SOURCE else (used,)
    ignored = [name for name in names if name not in users and _is_there(directory / name)]
    if not ignored:
        return ()
    verb = "are" if len(ignored) > 1 else "is"
    beside = f"{listed(ignored)} beside it {verb} not used"
    return (f"the model is {used}; {beside} (the parameter DEFAULT_MODEL_FILENAME names another file)",)


def _present(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir()) if directory.is_dir() else []


def _missing(search: _Search, directory: Path) -> str:
    present = _present(directory)
    *others, last = search.names[:1] if search.origin else search.names
    wanted = f"{', '.join(others)} or {last}" if others else last
    holds = f"it holds {listed(present)}" if present else "it is empty"
    if not directory.is_dir():
        holds = "there is no such directory"
    remedy = f"; {search.remedy}" if search.remedy else ""
    # Of the usual names, all that could be meant were looked for, unless the user wrote another one.
    choices = present if len(search.names) == 1 else [name for name in present if name not in _USUAL_NAMES]
    return f"no {wanted}{search.origin} in '{directory}': {holds}{remedy}{did_you_mean(search.names[0], choices)}"
