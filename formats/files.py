"""Which file of a version directory is the model (DESIGN.md, "Which file, which loader")."""

from collections.abc import Iterator
from pathlib import Path

from triton_pytorch.model_config.configuration import Instance
from triton_pytorch.model_config.errors import ArtifactError, ArtifactMissingError
from triton_pytorch.model_config.file_names import file_system_name
from triton_pytorch.model_config.suggestions import did_you_mean, listed

DEFAULT_FILE_NAMES = ("model.pt2", "model.py", "model.pt")
# Triton's core fills this in for every `backend: "pytorch"` config without a platform, and `model.NAME` for a
# directory called `name.NAME` without a config, so these may be nobody's wish.
_FILLED_IN_FOR_PYTORCH = "model.pt"


def find_artifact(instance: Instance) -> Path:
    """Return the path of the file to serve.

    Raises:
        ArtifactMissingError: it is not there; names what was looked for and what there is.
        ArtifactError: the version directory cannot be read.
    """
    candidates = list(dict.fromkeys(_candidates(instance)))
    try:
        for name in candidates:
            path = instance.version_directory / file_system_name(name)
            if path.is_file():
                return path
            if path.is_symlink() or path.exists():
                what = "a directory" if path.is_dir() else "a broken link"
                raise ArtifactMissingError(f"'{path}' is {what}: expected the model's file")
        raise ArtifactMissingError(_missing(candidates, instance.version_directory))
    except OSError as error:
        raise ArtifactError(f"'{instance.version_directory}' cannot be read: {error.strerror}") from error


def _candidates(instance: Instance) -> Iterator[str]:
    """Yield file names, the preferred first; a name that the user wrote stands alone."""
    config = instance.config
    if config.parameters.default_model_filename is not None:
        yield config.parameters.default_model_filename
        return
    if config.default_model_filename and not config.is_python_mode:
        yield config.default_model_filename
        if config.default_model_filename not in (_FILLED_IN_FOR_PYTORCH, f"model.{config.backend}"):
            return
    for name in DEFAULT_FILE_NAMES:
        # With `backend: "python"` the version directory's model.py is this backend's own entry.
        if not (config.is_python_mode and name == "model.py"):
            yield name


def _missing(candidates: list[str], directory: Path) -> str:
    present = sorted(path.name for path in directory.iterdir()) if directory.is_dir() else []
    if len(candidates) == 1:
        return f"no {candidates[0]} in '{directory}': it holds {listed(present)}{did_you_mean(candidates[0], present)}"
    holds = f"it holds {listed(present)}" if present else "it is empty"
    return (
        f"no model.pt2 in '{directory}': {holds}; name another file with the parameter DEFAULT_MODEL_FILENAME, "
        "or with default_model_filename"
    )
