"""What stands in the archive of an AOTInductor package, read without torch."""

import re
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from triton_pytorch.model_config.errors import ArtifactError, ConfigError
from triton_pytorch.model_config.suggestions import did_you_mean, listed

DEFAULT_MODEL_NAME = "model"

# torch.export.pt2_archive.constants: every model lies in data/aotinductor/<name>/, below one folder named like
# the file it was written to (older archives leave that folder out).
_LIBRARY = re.compile(r"(?P<directory>(?:[^/]+/)?data/aotinductor/(?P<name>[^/]+))/[^/]+\.so")


@dataclass(frozen=True, slots=True)
class PackagedModel:
    """One model of a package: its name, and its folder within the archive."""

    name: str
    directory: PurePosixPath


def packaged_models(entries: Iterable[str]) -> dict[str, PackagedModel]:
    """Return the models that an archive with these entries holds, by name and in the archive's order."""
    matches = (_LIBRARY.fullmatch(entry) for entry in entries)
    return {
        match["name"]: PackagedModel(match["name"], PurePosixPath(match["directory"]))
        for match in matches
        if match is not None
    }


def choose_model(archive: Path, requested: str | None) -> PackagedModel:
    """Return the model to load from a package.

    Without a request the only model is taken, or the one with torch's default name.

    Raises:
        ArtifactError: the package holds no model.
        ConfigError: the requested model is not there, or several are and none was chosen.
    """
    with zipfile.ZipFile(archive) as package:
        models = packaged_models(package.namelist())
    if not models:
        raise ArtifactError(
            f"'{archive}' holds no compiled model for Linux: expected a library at data/aotinductor/<name>/*.so in it"
        )
    if requested is not None:
        return _requested(requested, models, archive)
    if DEFAULT_MODEL_NAME in models:
        return models[DEFAULT_MODEL_NAME]
    if len(models) > 1:
        raise ConfigError(
            f"'{archive}' holds several models ({listed(list(models))}): choose one with the parameter AOTI_MODEL_NAME"
        )
    return next(iter(models.values()))


def _requested(name: str, models: Mapping[str, PackagedModel], archive: Path) -> PackagedModel:
    if name not in models:
        raise ConfigError(
            f"parameter AOTI_MODEL_NAME is '{name}', but '{archive}' holds {listed(list(models))}"
            f"{did_you_mean(name, models)}"
        )
    return models[name]
