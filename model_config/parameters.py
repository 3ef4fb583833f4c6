"""The `parameters` of config.pbtxt: which keys exist, what they may say, and what is done about the rest."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from triton_pytorch.model_config.errors import ConfigError, UnsupportedError
from triton_pytorch.model_config.suggestions import nearest

_IN_EFFECT = ("DEFAULT_MODEL_FILENAME", "AOTI_MODEL_NAME")
# A model that asks for one of these gives other answers without it: refused until it is built, never half served.
_REFUSED_UNTIL_BUILT = ("CRASH_ISOLATION", "CUSTOM_OP_LIBRARIES", "MODEL_INIT_LIBRARY")
# A model answers the same with and without these, so one warning is enough until they are built.
_WITHOUT_EFFECT_YET = (
    "DISABLE_CUDNN",
    "DISABLE_OPTIMIZED_EXECUTION",
    "ENABLE_CACHE_CLEANING",
    "ENABLE_JIT_EXECUTOR",
    "ENABLE_JIT_PROFILING",
    "ENABLE_TENSOR_FUSER",
    "ENABLE_WEIGHT_SHARING",
    "INFERENCE_MODE",
    "INTER_OP_THREAD_COUNT",
    "INTRA_OP_THREAD_COUNT",
    "MODULE_CLASS",
    "MODULE_METHOD_NAME",
    "NUM_INTEROP_THREADS",
    "NUM_THREADS",
    "TORCH_COMPILE_OPTIONAL_PARAMETERS",
)
_KNOWN = _IN_EFFECT + _REFUSED_UNTIL_BUILT + _WITHOUT_EFFECT_YET
# NVIDIA's public page calls the field default_model_filename by this name, which exists nowhere.
_MISNAMED_FILENAME = ("DEFAULT_MODEL_NAME", "default_model_name")


@dataclass(frozen=True, slots=True)
class Parameters:
    """The parameters of one model that this backend understands; None where one is not set."""

    default_model_filename: str | None = None
    aoti_model_name: str | None = None
    warnings: tuple[str, ...] = ()


def read_parameters(values: Mapping[str, str]) -> Parameters:
    """Read the parameters of one model.

    Keys that nobody knows belong to somebody else and are left alone; a near miss of a known key is warned about.

    Raises:
        ConfigError: a value is not one of those that its key allows.
        UnsupportedError: a parameter asks for what is not built yet.
    """
    refused = sorted(key for key in _REFUSED_UNTIL_BUILT if key in values)
    if refused:
        raise UnsupportedError(
            f"parameter {', '.join(refused)} is not supported by this version of the backend: remove it, "
            "or serve this model with a version that supports it"
        )
    return Parameters(
        default_model_filename=_file_name(values, "DEFAULT_MODEL_FILENAME"),
        aoti_model_name=_text(values, "AOTI_MODEL_NAME"),
        warnings=tuple(_warnings(values)),
    )


def _text(values: Mapping[str, str], key: str) -> str | None:
    value = values.get(key)
    if value is not None and not value.strip():
        raise ConfigError(f"parameter {key} is empty: give it a value or remove it")
    return value


def _file_name(values: Mapping[str, str], key: str) -> str | None:
    value = _text(values, key)
    if value is not None:
        check_inside_version_directory(value, f"parameter {key}")
    return value


def check_inside_version_directory(file_name: str, where: str) -> None:
    """Raise ConfigError unless the file name stays inside the model's version directory."""
    path = PurePosixPath(file_name)
    if path.is_absolute() or ".." in path.parts or file_name == "." or "\0" in file_name:
        raise ConfigError(
            f"{where} is '{file_name}': expected the name of a file in the model's version directory, "
            "such as 'model.pt2'"
        )


def _warnings(values: Mapping[str, str]) -> list[str]:
    without_effect = [key for key in _WITHOUT_EFFECT_YET if key in values]
    warnings = [f"parameters without effect in this version: {', '.join(without_effect)}"] if without_effect else []
    warnings += [
        f"unknown parameter '{key}'; did you mean '{match}'?"
        for key in values
        if (match := _likely_meant(key)) is not None
    ]
    return warnings


def _likely_meant(key: str) -> str | None:
    if key in _KNOWN:
        return None
    if key in _MISNAMED_FILENAME:
        return "DEFAULT_MODEL_FILENAME"
    return nearest(key, _KNOWN, closeness=0.85)
