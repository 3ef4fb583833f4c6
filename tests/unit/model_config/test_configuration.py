"""Reading of model configurations, from what a tritonserver 2.51 really hands to `initialize`."""

import json
from pathlib import Path
from typing import Any

import pytest

from triton_pytorch.model_config.configuration import InstanceKind, read_config, read_instance
from triton_pytorch.model_config.datatypes import DataType
from triton_pytorch.model_config.errors import ConfigError, UnsupportedError
from triton_pytorch.model_config.tensors import TensorConfig

RECORDED = Path(__file__).resolve().parents[2] / "assets" / "recorded_arguments.json"


@pytest.fixture
def arguments() -> dict[str, str]:
    recorded: dict[str, str] = json.loads(RECORDED.read_text(encoding="utf-8"))
    return recorded


def changed(arguments: dict[str, str], **changes: Any) -> str:
    return json.dumps({**json.loads(arguments["model_config"]), **changes})


def test_a_recorded_configuration(arguments: dict[str, str]) -> None:
    instance = read_instance(arguments)
    assert instance.version_directory == Path("/models/recorded/1")
    assert (instance.kind, instance.device_id) == (InstanceKind.CPU, 0)
    config = instance.config
    assert (config.name, config.backend, config.platform) == ("recorded", "python", "torch_aoti")
    assert config.is_python_mode
    assert config.max_batch_size == 8
    assert config.inputs == (
        TensorConfig("ARGS[0]", DataType.FP32, (3, -1)),
        TensorConfig("ARGS[1]", DataType.INT64, (1,), reshape=(), optional=True),
    )
    assert config.outputs == (TensorConfig("RESULT", DataType.BF16, (-1,), reshape=(-1, 1)),)
    assert (config.batch_inputs, config.batch_outputs) == ((), ())
    assert config.instance_counts == {InstanceKind.CPU: 1, InstanceKind.GPU: 0, InstanceKind.MODEL: 0}
    assert config.parameters.default_model_filename == "other.pt2"
    assert config.parameters.warnings == ()


def test_instances_of_one_kind_are_counted_over_all_groups(arguments: dict[str, str]) -> None:
    groups = [("KIND_CPU", 2), ("KIND_MODEL", 4), ("KIND_CPU", 3)]
    text = changed(arguments, instance_group=[{"kind": kind, "count": count} for kind, count in groups])
    assert read_config(text).instance_counts == {InstanceKind.CPU: 5, InstanceKind.GPU: 0, InstanceKind.MODEL: 4}


@pytest.mark.parametrize("spelling", ["TYPE_INVALID", "TYPE_FP8", "FP32"])
def test_an_unknown_data_type_names_its_tensor(arguments: dict[str, str], spelling: str) -> None:
    text = changed(arguments, output=[{"name": "RESULT", "data_type": spelling, "dims": [1]}])
    with pytest.raises(ConfigError, match=f"output 'RESULT' has data_type {spelling}: expected one of TYPE_BOOL"):
        read_config(text)


@pytest.mark.parametrize(
    ("changes", "feature"),
    [
        ({"sequence_batching": {"max_sequence_idle_microseconds": 1000}}, "sequence_batching"),
        ({"model_transaction_policy": {"decoupled": True}}, "model_transaction_policy { decoupled: true }"),
    ],
)
def test_what_is_not_built_is_refused(arguments: dict[str, str], changes: dict[str, Any], feature: str) -> None:
    with pytest.raises(UnsupportedError, match=f"{feature}: not supported by this version"):
        read_config(changed(arguments, **changes))
