"""Which file is the model: in the version directory of an instance, and for `inspect` wherever one may lie."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from triton_pytorch.model_config.configuration import Instance
from triton_pytorch.model_config.errors import ArtifactError, ArtifactMissingError
from triton_pytorch.model_config.file_names import file_system_name
from triton_pytorch.model_config.suggestions import did_you_mean, listed

_DEFAULT_FILE_NAMES = ("model.pt2", "model.py", "model.pt")
# Triton's core fills this in for every `backend: "pytorch"` config without a platform, and `model.NAME` for a
# directory called `name.NAME` without a config, so the user may have wanted neither.
_FILLED_IN_FOR_PYTORCH = "model.pt"


def find(instance: Instance) -> Path:
    """Return the path of the file to serve.

    Raises:
        ArtifactMissingError: it is not there; names what was looked for and what there is.
        ArtifactError: the version directory cannot be read.
    """
    directory = instance.version_directory
    names = list(dict.fromkeys(_names(instance)))
    try:
        found = _first(directory, names)
        if found is not None:
            return found
        present = _present(directory)
    except OSError as error:
        raise ArtifactError(f"'{directory}' cannot be read: {error.strerror}") from error
    if len(names) == 1:
        raise ArtifactMissingError(_missing(names, directory, present) + did_you_mean(names[0], present))
    missing = _missing(_DEFAULT_FILE_NAMES[:1], directory, present)
    raise ArtifactMissingError(
        f"{missing}; name another file with the parameter DEFAULT_MODEL_FILENAME, or with default_model_filename"
    )


def find_for_inspection(path: Path) -> Path:
    """Return the path of a file, or of the one in a version directory or in the highest version of a model's directory.

    Raises:
        ArtifactMissingError: it is not there; names what was looked for and what there is.
        OSError: a directory cannot be read.
    """
    if not path.is_dir():
        if not _is_file(path):
            raise ArtifactMissingError(f"'{path}' does not exist")
        return path
    versions = [entry for entry in path.iterdir() if entry.is_dir() and entry.name.isdecimal()]
    # Triton serves the highest version unless it is told otherwise.
    directory = max(versions, key=lambda version: int(version.name), default=path)
    found = _first(directory, _DEFAULT_FILE_NAMES)
    if found is None:
        missing = _missing(_DEFAULT_FILE_NAMES, directory, _present(directory))
        raise ArtifactMissingError(f"{missing}; give a file instead")
    return found


def _names(instance: Instance) -> Iterator[str]:
    """Yield file names, the preferred first; a name that the user wrote is the only one."""
    config = instance.config
    if config.parameters.default_model_filename is not None:
        yield config.parameters.default_model_filename
        return
    if config.default_model_filename and not config.is_python_mode:
        yield config.default_model_filename
        if config.default_model_filename not in (_FILLED_IN_FOR_PYTORCH, f"model.{config.backend}"):
            return
    for name in _DEFAULT_FILE_NAMES:
        # With `backend: "python"` the version directory's model.py is this backend's own entry.
        if not (config.is_python_mode and name == "model.py"):
            yield name


def _first(directory: Path, names: Sequence[str]) -> Path | None:
    return next((path for name in names if _is_file(path := directory / file_system_name(name))), None)


def _is_file(path: Path) -> bool:
    """Return whether there is a file; raises ArtifactMissingError where there is something else of that name."""
    if path.is_file():
        return True
    if not path.is_symlink() and not path.exists():
        return False
    what = "a directory" if path.is_dir() else "not a file" if path.exists() else "a broken link"
    raise ArtifactMissingError(f"'{path}' is {what}: expected the model's file")


def _present(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir()) if directory.is_dir() else []


def _missing(names: Sequence[str], directory: Path, present: Sequence[str]) -> str:
    holds = f"it holds {listed(present)}" if present else "it is empty"
    return f"no {' or '.join(names)} in '{directory}': {holds}"
