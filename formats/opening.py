"""Opens the model of an instance: finds its file, tells the kind, checks the platform, calls the loader."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch

from triton_pytorch.artifact_store.location import locate_store
from triton_pytorch.artifact_store.store import Store
from triton_pytorch.formats.files import find_artifact
from triton_pytorch.formats.kinds import FORMATS, WHAT_IS_SERVED, Kind, identify
from triton_pytorch.model_config.configuration import Instance
from triton_pytorch.model_config.datatypes import DataType
from triton_pytorch.model_config.errors import ArtifactError, ConfigError, UnsupportedError
from triton_pytorch.model_config.parameters import foreign_parameters
from triton_pytorch.model_config.suggestions import listed
from triton_pytorch.pt2_loader.package import Package, open_package
from triton_pytorch.torch_runtime.placement import device_of_instance
from triton_pytorch.torch_runtime.settings import Settings, apply_settings
from triton_pytorch.torch_runtime.streams import device_scope
from triton_pytorch.torchscript_loader.script import ScriptModel, open_script

# The platforms of each kind that is served, the usual one first.
_PLATFORMS = {Kind.PACKAGE: ("torch_aoti",), Kind.TORCHSCRIPT: ("pytorch_libtorch", "libtorch")}
# Models that a later version serves; they get another sentence than files that are no models.
_MODELS_OF_LATER_VERSIONS = (Kind.EXPORTED_PROGRAM, Kind.PYTHON_SOURCE)


@dataclass(frozen=True, slots=True)
class OpenedModel:
    """A model, what is in force in its process, and what its user should know of both."""

    model: Package | ScriptModel
    settings: Settings
    warnings: tuple[str, ...]


def open_model(instance: Instance) -> OpenedModel:
    """Put the parameters of an instance in force and open the model that it serves.

    Raises:
        BackendError: with one sentence that says what is wrong and what to change.
    """
    path = find_artifact(instance)
    kind = identify(path)
    if kind in _MODELS_OF_LATER_VERSIONS:
        raise UnsupportedError(
            f"'{path}' is {kind.value}, which this version does not serve: expected {WHAT_IS_SERVED}"
        )
    if kind not in _PLATFORMS:
        raise ArtifactError(f"'{path}' is {kind.value}: expected {WHAT_IS_SERVED}")
    _check_platform(instance, path, kind)
    settings = apply_settings(instance.config, FORMATS[kind])
    device = device_of_instance(instance)
    with device_scope(device):
        if kind is Kind.TORCHSCRIPT:
            method = settings.parameters.module_method_name
            model: Package | ScriptModel = open_script(path, instance.config, device, method)
        else:
            model = _open_package(path, instance, device)
    warnings = (*_foreign_parameters(instance, kind), *settings.warnings, *model.warnings)
    return OpenedModel(model, settings, warnings)


def _foreign_parameters(instance: Instance, kind: Kind) -> Iterator[str]:
    foreign = foreign_parameters(instance.config.parameters, FORMATS[kind])
    if foreign:
        verb = "have" if len(foreign) > 1 else "has"
        yield f"{listed(foreign)} {verb} no effect on {FORMATS[kind].value}"


def _open_package(path: Path, instance: Instance, device: torch.device | None) -> Package:
    _check_tensors_only(instance)
    store = Store(locate_store(os.environ))
    store.sweep()
    return open_package(path, instance.config.parameters.aoti_model_name, device, store)


def _check_platform(instance: Instance, path: Path, kind: Kind) -> None:
    # Core fills in pytorch_libtorch for `backend: "pytorch"` configs that name no platform: not the user's word.
    is_filled_in_by_core = instance.config.backend == "pytorch" and instance.config.platform == "pytorch_libtorch"
    if instance.config.platform not in ("", *_PLATFORMS[kind]) and not is_filled_in_by_core:
        raise ConfigError(
            f"platform is '{instance.config.platform}', but '{path}' is {kind.value}: "
            f'expected platform: "{_PLATFORMS[kind][0]}"'
        )


def _check_tensors_only(instance: Instance) -> None:
    config = instance.config
    strings = [tensor.name for tensor in config.inputs + config.outputs if tensor.data_type is DataType.STRING]
    if strings:
        raise ConfigError(
            f"{', '.join(strings)}: TYPE_STRING is not possible in {Kind.PACKAGE.value}, which takes and returns "
            "tensors only"
        )
