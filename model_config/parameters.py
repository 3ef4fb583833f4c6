"""The `parameters` of config.pbtxt: which keys exist, and what they may say."""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import PurePosixPath
from typing import Any

from triton_pytorch.model_config.errors import ConfigError, UnsupportedError
from triton_pytorch.model_config.suggestions import joined, nearest

_MOST_THREADS = 4096

_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}
# A model that asks for one of these gives other answers without it: refused until it is built, never half served.
_REFUSED_UNTIL_BUILT = ("CRASH_ISOLATION", "CUSTOM_OP_LIBRARIES", "MODEL_INIT_LIBRARY")
# A model answers the same with and without this, so one warning is enough until it is built.
_WITHOUT_EFFECT_YET = ("ENABLE_WEIGHT_SHARING",)
# NVIDIA's backend took these for what torch has since removed.
_REMOVED_FROM_TORCH = {"ENABLE_NVFUSER": "torch has no NVFuser any more"}
# Of Python modules, which this version does not serve.
_OF_FORMATS_NOT_BUILT = ("MODULE_CLASS", "TORCH_COMPILE_OPTIONAL_PARAMETERS")
# Two keys for one number: NVIDIA's page has the first for TorchScript, and the second for modules.
_SYNONYMS = (("INTRA_OP_THREAD_COUNT", "NUM_THREADS"), ("INTER_OP_THREAD_COUNT", "NUM_INTEROP_THREADS"))
# NVIDIA's public page calls the field default_model_filename by this name, which exists nowhere.
_MISNAMED_FILENAME = ("DEFAULT_MODEL_NAME", "default_model_name")


@dataclass(frozen=True, slots=True)
class Parameters:
    """The parameters of one model: a field for each key, named as it is; None where none is set and torch decides.

    `given` are the keys that the config sets, of those that this backend knows.
    """

    allow_empty_inputs: bool = False
    aoti_model_name: str | None = None
    default_model_filename: str | None = None
    disable_cudnn: bool = False
    disable_optimized_execution: bool = False
    enable_cache_cleaning: bool = False
    enable_jit_executor: bool | None = None
    enable_jit_profiling: bool | None = None
    enable_tensor_fuser: bool | None = None
    enable_weight_sharing: bool = False
    enforce_upper_bounds: bool = True
    inference_mode: bool = True
    inter_op_thread_count: int | None = None
    intra_op_thread_count: int | None = None
    module_method_name: str = "forward"
    num_interop_threads: int | None = None
    num_threads: int | None = None
    given: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def limited_to(self, keys: Collection[str]) -> "Parameters":
        """Return the parameters that apply to a format: those that are foreign to it are as if they were not set."""
        foreign = {key.lower() for key in foreign_parameters(self, keys)}
        defaults = {field.name: field.default for field in fields(self) if field.name in foreign}
        return replace(self, **defaults)  # type: ignore[arg-type]  # each default is of its own field's type


def foreign_parameters(parameters: Parameters, keys: Collection[str]) -> tuple[str, ...]:
    """Return the keys that the config sets, but that are for other formats; `keys` are those of this one alone."""
    return tuple(key for key in parameters.given if key not in keys and key not in _FOR_ALL_FORMATS)


def read_parameters(values: Mapping[str, str]) -> Parameters:
    """Read the parameters of one model.

    Unknown keys are left alone, since others may read them; a near miss of a known key is warned about.

    Raises:
        ConfigError: values are not among those that their keys allow; names them all.
        UnsupportedError: a parameter asks for what is not built yet.
    """
    refused = sorted(key for key in _REFUSED_UNTIL_BUILT if key in values)
    if refused:
        raise UnsupportedError(
            f"parameter {', '.join(refused)} is not supported by this version of the backend: remove it, "
            "or serve this model with a version that supports it"
        )
    found: dict[str, Any] = {}
    errors = []
    for key, read in sorted(_READERS.items()):
        if key in values:
            try:
                found[key.lower()] = read(values[key], f"parameter {key}")
            except ConfigError as error:
                errors.append(str(error))
    errors += [_difference(found, *keys) for keys in _SYNONYMS if _differ(found, *keys)]
    if errors:
        raise ConfigError(joined(errors))
    given = tuple(sorted(key for key in _KNOWN if key in values))
    return Parameters(**found, given=given, warnings=tuple(_warnings(values)))


def _boolean(value: str, where: str) -> bool:
    if value.lower() not in _BOOLEANS:
        raise ConfigError(f"{where} is '{value}': expected true, false, 1 or 0")
    return _BOOLEANS[value.lower()]


def _thread_count(value: str, where: str) -> int:
    # int() would also take "+2", "1_0", " 2 " and the digits of other scripts.
    if not re.fullmatch("[1-9][0-9]{0,3}", value) or int(value) > _MOST_THREADS:
        raise ConfigError(f"{where} is '{value}': expected a whole number of threads from 1 to {_MOST_THREADS}")
    return int(value)


def _text(value: str, where: str) -> str:
    if not value.strip():
        raise ConfigError(f"{where} is empty: give it a value or remove it")
    return value


def _file_name(value: str, where: str) -> str:
    check_inside_version_directory(_text(value, where), where)
    return value


def check_inside_version_directory(file_name: str, where: str) -> None:
    """Raise ConfigError unless the file name stays inside the model's version directory."""
    path = PurePosixPath(file_name)
    if path.is_absolute() or ".." in path.parts or file_name == "." or "\0" in file_name:
        raise ConfigError(
            f"{where} is '{file_name}': expected the name of a file in the model's version directory, "
            "such as 'model.pt2'"
        )


_Reader = Callable[[str, str], bool | int | str]
_FOR_ALL_FORMATS: dict[str, _Reader] = {
    "DEFAULT_MODEL_FILENAME": _file_name,
    "DISABLE_CUDNN": _boolean,
    "ENABLE_CACHE_CLEANING": _boolean,
    "ENABLE_WEIGHT_SHARING": _boolean,
    "INFERENCE_MODE": _boolean,
    "INTER_OP_THREAD_COUNT": _thread_count,
    "INTRA_OP_THREAD_COUNT": _thread_count,
}
_FOR_SOME_FORMATS: dict[str, _Reader] = {
    "ALLOW_EMPTY_INPUTS": _boolean,
    "AOTI_MODEL_NAME": _text,
    "DISABLE_OPTIMIZED_EXECUTION": _boolean,
    "ENABLE_JIT_EXECUTOR": _boolean,
    "ENABLE_JIT_PROFILING": _boolean,
    "ENABLE_TENSOR_FUSER": _boolean,
    "ENFORCE_UPPER_BOUNDS": _boolean,
    "MODULE_METHOD_NAME": _text,
    "NUM_INTEROP_THREADS": _thread_count,
    "NUM_THREADS": _thread_count,
}
_READERS = _FOR_ALL_FORMATS | _FOR_SOME_FORMATS
_KNOWN = (*_READERS, *_OF_FORMATS_NOT_BUILT, *_REFUSED_UNTIL_BUILT)


def _differ(found: Mapping[str, Any], one: str, other: str) -> bool:
    return len({found[key.lower()] for key in (one, other) if key.lower() in found}) > 1


def _difference(found: Mapping[str, Any], one: str, other: str) -> str:
    return (
        f"parameters {one} ({found[one.lower()]}) and {other} ({found[other.lower()]}) are two names of one number, "
        "but differ: remove one of them"
    )


def _warnings(values: Mapping[str, str]) -> list[str]:
    without_effect = [key for key in _WITHOUT_EFFECT_YET if key in values]
    warnings = [f"parameters without effect in this version: {', '.join(without_effect)}"] if without_effect else []
    warnings += [f"parameter {key} has no effect: {why}" for key, why in _REMOVED_FROM_TORCH.items() if key in values]
    warnings += [
        f"unknown parameter '{key}'; did you mean '{match}'?"
        for key in values
        if (match := _likely_meant(key)) is not None
    ]
    return warnings


def _likely_meant(key: str) -> str | None:
    if key in _KNOWN or key in _REMOVED_FROM_TORCH:
        return None
    if key in _MISNAMED_FILENAME:
        return "DEFAULT_MODEL_FILENAME"
    return nearest(key, _KNOWN, closeness=0.85)
