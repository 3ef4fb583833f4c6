"""Triton's JSON of one model's configuration, read once into frozen values; nobody reads the JSON after that."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from triton_pytorch.model_config.batch_tensors import BatchInput, BatchOutput, read_batch_tensors
from triton_pytorch.model_config.errors import UnsupportedError
from triton_pytorch.model_config.file_names import file_system_name
from triton_pytorch.model_config.parameters import Parameters, check_inside_version_directory, read_parameters
from triton_pytorch.model_config.tensors import TensorConfig, read_tensor


class InstanceKind(str, Enum):
    """Where an instance runs, in the words of `args["model_instance_kind"]`."""

    CPU = "CPU"
    GPU = "GPU"
    MODEL = "MODEL"


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """What config.pbtxt says of one model, with the defaults that Triton's core filled in."""

    name: str
    backend: str
    platform: str
    max_batch_size: int
    inputs: tuple[TensorConfig, ...]
    outputs: tuple[TensorConfig, ...]
    batch_inputs: tuple[BatchInput, ...]
    batch_outputs: tuple[BatchOutput, ...]
    default_model_filename: str
    instance_counts: Mapping[InstanceKind, int]
    parameters: Parameters

    @property
    def is_python_mode(self) -> bool:
        """True where the version directory holds our model.py (`backend: "python"`)."""
        return self.backend == "python"

    @property
    def written_platform(self) -> str:
        """The platform if it is the user's word.

        Core fills in pytorch_libtorch for `backend: "pytorch"`, so that there it may not be.
        """
        is_filled_in = self.backend == "pytorch" and self.platform == "pytorch_libtorch"
        return "" if is_filled_in else self.platform


@dataclass(frozen=True, slots=True)
class Instance:
    """One instance of a model: its configuration, its files and its device."""

    config: ModelConfig
    version_directory: Path
    kind: InstanceKind
    device_id: int


def read_instance(arguments: Mapping[str, str]) -> Instance:
    """Read the `args` that Triton's Python backend hands to `initialize`.

    Raises:
        ConfigError: the configuration says something that cannot be.
        UnsupportedError: it asks for what this version does not do.
    """
    return Instance(
        config=read_config(arguments["model_config"]),
        version_directory=Path(file_system_name(arguments["model_repository"]), arguments["model_version"]),
        kind=InstanceKind(arguments["model_instance_kind"]),
        device_id=int(arguments["model_instance_device_id"]),
    )


def read_config(text: str) -> ModelConfig:
    """Read Triton's JSON of a model configuration; raises as `read_instance` does."""
    document = json.loads(text)
    _refuse_what_is_not_built(document)
    file_name = document.get("default_model_filename", "")
    check_inside_version_directory(file_name, "default_model_filename")
    inputs = tuple(read_tensor(entry, "input") for entry in document.get("input", []))
    outputs = tuple(read_tensor(entry, "output") for entry in document.get("output", []))
    batch_inputs, batch_outputs = read_batch_tensors(document, inputs, outputs)
    return ModelConfig(
        name=document["name"],
        backend=document.get("backend", ""),
        platform=document.get("platform", ""),
        max_batch_size=int(document.get("max_batch_size", 0)),
        inputs=inputs,
        outputs=outputs,
        batch_inputs=batch_inputs,
        batch_outputs=batch_outputs,
        default_model_filename=file_name,
        instance_counts={kind: _instance_count(document, kind) for kind in InstanceKind},
        parameters=read_parameters(
            {key: entry.get("string_value", "") for key, entry in document.get("parameters", {}).items()}
        ),
    )


def _instance_count(document: Mapping[str, Any], kind: InstanceKind) -> int:
    """Return how many instances of a kind the instance groups ask for, on each of their GPUs."""
    groups = [group for group in document.get("instance_group", []) if group.get("kind") == f"KIND_{kind.value}"]
    return sum(int(group.get("count", 1)) for group in groups)


def _refuse_what_is_not_built(document: Mapping[str, Any]) -> None:
    asked_for = {
        "sequence_batching": "sequence_batching" in document,
        "model_transaction_policy { decoupled: true }": document.get("model_transaction_policy", {}).get("decoupled"),
        "model_operations { op_library_filename }": document.get("model_operations", {}).get("op_library_filename"),
    }
    refused = [feature for feature, is_asked_for in asked_for.items() if is_asked_for]
    if refused:
        raise UnsupportedError(f"{', '.join(refused)}: not supported by this version of the backend")
