"""What the archive of an AOTInductor package holds, read without torch and without unpacking it."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from triton_pytorch.artifact_store.archive import Archive
from triton_pytorch.model_config.errors import ArtifactError, ConfigError
from triton_pytorch.model_config.suggestions import did_you_mean, listed
from triton_pytorch.pt2_loader.operators import read_operators

DEFAULT_MODEL_NAME = "model"

# torch.export.pt2_archive.constants: every model lies in data/aotinductor/<name>/, below one folder named like
# the file it was written to (older archives leave that folder out).
_FILE = re.compile(r"(?P<directory>(?:[^/]+/)?data/aotinductor/(?P<model>[^/]+))/(?P<file>[^/]+)")
_WEIGHTS = re.compile(r"(?:[^/]+/)?data/weights/[^/]+")
_WEIGHTS_LIST = "weights_config.json"


@dataclass(frozen=True, slots=True)
class PackagedModel:
    """One model of a package: its name, its folder within the archive, and the texts that describe it.

    `siblings` are the names of all models in the package. `wrapper` and `metadata` are empty where they do not lie
    beside the library. `operators` are those that the code calls by name (operators.py). Sizes are in bytes:
    `weights_size` is what lies beside the library, None for nothing; with `are_weights_listed` in files of their own,
    to be mapped.
    """

    name: str
    directory: PurePosixPath
    siblings: tuple[str, ...]
    wrapper: str
    metadata: str
    operators: tuple[str, ...]
    library_size: int
    weights_size: int | None
    are_weights_listed: bool


def read_model(archive: Archive, requested: str | None) -> PackagedModel:
    """Read the texts of the model to load from a package.

    Without a request the only model is taken, or the one with torch's default name.

    Raises:
        ArtifactError: the archive is damaged or holds no model.
        ConfigError: the requested model is not there, or several are and none was chosen.
    """
    files = {file.filename: file.file_size for file in archive.files}
    models = _models(files)
    name = _choose_model(archive.path, list(models), requested)
    directory = models[name]
    own = [file for file in files if PurePosixPath(file).parent == directory]
    library = next(file for file in own if file.endswith(".so"))
    return PackagedModel(
        name=name,
        directory=directory,
        siblings=tuple(models),
        wrapper=_text(archive, library.removesuffix(".so") + ".cpp"),
        metadata=_text(archive, library.removesuffix(".so") + "_metadata.json"),
        operators=read_operators(_text(archive, library.removesuffix(".so") + ".json")),
        library_size=files[library],
        weights_size=_weights_size(files, own),
        are_weights_listed=_WEIGHTS_LIST in (PurePosixPath(file).name for file in own),
    )


def _models(files: Iterable[str]) -> dict[str, PurePosixPath]:
    matches = (_FILE.fullmatch(file) for file in files)
    return {
        match["model"]: PurePosixPath(match["directory"])
        for match in matches
        if match is not None and match["file"].endswith(".so")
    }


def _choose_model(package: Path, names: list[str], requested: str | None) -> str:
    if not names:
        raise ArtifactError(
            f"'{package}' holds no compiled model for Linux: expected a library at data/aotinductor/<name>/*.so in it"
        )
    if requested is not None and requested not in names:
        raise ConfigError(
            f"parameter AOTI_MODEL_NAME is '{requested}', but '{package}' holds {listed(names)}"
            f"{did_you_mean(requested, names)}"
        )
    if requested is None and len(names) > 1 and DEFAULT_MODEL_NAME not in names:
        raise ConfigError(
            f"'{package}' holds several models ({listed(names)}): choose one with the parameter AOTI_MODEL_NAME "
            "(inspect: --model NAME)"
        )
    return requested or (DEFAULT_MODEL_NAME if DEFAULT_MODEL_NAME in names else names[0])


def _text(archive: Archive, name: str) -> str:
    file = next((file for file in archive.files if file.filename == name), None)
    return b"".join(archive.chunks(file)).decode("utf-8", errors="replace") if file is not None else ""


def _weights_size(files: Mapping[str, int], own: Iterable[str]) -> int | None:
    """Return how much lies beside the library, in a blob that torch reads itself or in files that we map."""
    blobs = [files[file] for file in own if file.endswith(".blob")]
    if blobs or not any(PurePosixPath(file).name == _WEIGHTS_LIST for file in own):
        return sum(blobs) or None
    return sum(size for file, size in files.items() if _WEIGHTS.fullmatch(file))
