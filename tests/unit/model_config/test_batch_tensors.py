"""Ragged inputs, `batch_input` and `batch_output` are read as a tritonserver 2.51 hands them over, or refused."""

import json
from typing import Any

import pytest

from triton_pytorch.model_config.batch_tensors import BatchInput, BatchInputKind, BatchOutput
from triton_pytorch.model_config.configuration import ModelConfig, read_config
from triton_pytorch.model_config.datatypes import DataType
from triton_pytorch.model_config.errors import ConfigError, UnsupportedError
from triton_pytorch.tests.assets.configs import model_config, tensor_config

VALUES = tensor_config("values", allow_ragged_batch=True)
SCALE = tensor_config("scale", dims=(1,))
OUTPUT = tensor_config("doubled")
SHAPE = "BATCH_ITEM_SHAPE"
SCATTER = "BATCH_SCATTER_WITH_INPUT_SHAPE"

# Parts of the sentences below.
NO_MERGING = (
    "max_batch_size: 0, so that no requests are merged: set max_batch_size, or remove what is for merged requests"
)
KINDS = (
    "BATCH_ELEMENT_COUNT, BATCH_ACCUMULATED_ELEMENT_COUNT, BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO, "
    "BATCH_MAX_ELEMENT_COUNT_AS_SHAPE, BATCH_ITEM_SHAPE, BATCH_ITEM_SHAPE_FLATTEN"
)
TYPES = "TYPE_INT32, TYPE_INT64, TYPE_FP32, TYPE_FP64"
NO_INPUT = "expected a declared input, one of values, scale"
NO_OUTPUT = "expected a declared output, one of doubled"
OPTIONAL = (
    "which is optional, so that a request may have no shape for it: remove `optional: true`, or take another input"
)
NO_STRINGS = "are tensors, and torch has none of strings"
NOT_RAGGED = "remove `allow_ragged_batch: true`"


def made(*targets: str, **more: Any) -> Any:
    names = {"target_name": list(targets), "source_input": ["values"]}
    return {"kind": "BATCH_ELEMENT_COUNT", "data_type": "TYPE_INT32", **names, **more}


def cut(*targets: str, **more: Any) -> Any:
    return {"target_name": list(targets), "kind": SCATTER, "source_input": ["values"], **more}


def read(
    *batch_entries: Any, inputs: list[Any] | None = None, outputs: list[Any] | None = None, **more: Any
) -> ModelConfig:
    """Read a config with these entries of `batch_input` and `batch_output`."""
    more = {"name": "m", "max_batch_size": 8, **more}
    more["batch_input"] = [entry for entry in batch_entries if "data_type" in entry]
    more["batch_output"] = [entry for entry in batch_entries if "data_type" not in entry]
    return read_config(json.dumps(model_config(inputs or [VALUES, SCALE], outputs or [OUTPUT], **more)))


def error(*batch_entries: Any, **more: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        read(*batch_entries, **more)
    return str(caught.value)


def test_targets() -> None:
    ends = made("ends", kind="BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO", data_type="TYPE_FP32")
    config = read(made("a", "b"), ends, cut("doubled"))
    assert config.batch_inputs == (
        BatchInput("a", BatchInputKind.ELEMENT_COUNT, DataType.INT32, "values"),
        BatchInput("b", BatchInputKind.ELEMENT_COUNT, DataType.INT32, "values"),
        BatchInput("ends", BatchInputKind.ACCUMULATED_ELEMENT_COUNT_WITH_ZERO, DataType.FP32, "values"),
    )
    assert config.batch_outputs == (BatchOutput("doubled", "values"),)
    assert [tensor.is_ragged for tensor in config.inputs] == [True, False]


@pytest.mark.parametrize("kind", BatchInputKind, ids=str)
def test_data_types(kind: BatchInputKind) -> None:
    for data_type in ("TYPE_INT32", "TYPE_INT64", "TYPE_FP32", "TYPE_FP64"):
        (batch_input,) = read(made("a", kind=kind.value, data_type=data_type)).batch_inputs
        assert (str(batch_input.kind), str(batch_input.data_type)) == (kind.value, data_type)


def test_data_types_of_shape_only() -> None:
    entry = made("a", kind="BATCH_MAX_ELEMENT_COUNT_AS_SHAPE", data_type="TYPE_BOOL")
    assert read(entry).batch_inputs[0].data_type is DataType.BOOL
    assert error({**entry, "data_type": "TYPE_STRING"}).startswith(
        "batch_input for 'a' has data_type TYPE_STRING: expected one of TYPE_BOOL, TYPE_UINT8, "
    )


def test_ragged_without_batch_input() -> None:
    assert read().inputs[0].is_ragged
    assert not read(made("a", source_input=["scale"]), inputs=[SCALE]).inputs[0].is_ragged


@pytest.mark.parametrize(
    ("entries", "more", "sentence"),
    [
        (
            [],
            {"max_batch_size": 0},
            f"the config has allow_ragged_batch (input values), but {NO_MERGING}",
        ),
        (
            [made("a"), cut("doubled")],
            {"max_batch_size": 0},
            f"the config has allow_ragged_batch (input values) and batch_input and batch_output, but {NO_MERGING}",
        ),
        (
            [],
            {"inputs": [{**VALUES, "data_type": "TYPE_STRING"}]},
            f"input 'values' is ragged and TYPE_STRING, but ragged inputs {NO_STRINGS}: {NOT_RAGGED}",
        ),
        (
            [made("a", kind="BATCH_ITEM_SHAPES")],
            {},
            f"batch_input for 'a' has kind BATCH_ITEM_SHAPES: expected one of {KINDS}; did you mean '{SHAPE}'?",
        ),
        (
            [made("a", "b", data_type="TYPE_INT8")],
            {},
            f"batch_input for 'a', 'b' has data_type TYPE_INT8: expected one of {TYPES}; did you mean 'TYPE_INT64'?",
        ),
        (
            [made("a", source_input=[])],
            {},
            "batch_input for 'a' has 0 names in source_input: expected the name of one input",
        ),
        (
            [made("a", source_input=["values", "scale"])],
            {},
            "batch_input for 'a' has 2 names in source_input: expected the name of one input",
        ),
        (
            [made("a", source_input=["value"])],
            {},
            f"batch_input for 'a' has source_input 'value': {NO_INPUT}; did you mean 'values'?",
        ),
        (
            [made("a", "b"), made("c", source_input=["a"])],  # made of one that is made itself
            {},
            f"batch_input for 'c' has source_input 'a': {NO_INPUT}",
        ),
        (
            [made("a")],
            {"inputs": [{**VALUES, "optional": True}]},
            f"batch_input for 'a' has source_input 'values', {OPTIONAL}",
        ),
        (
            [made()],
            {},
            "batch_input of kind BATCH_ELEMENT_COUNT has no target_name: expected the name of an input of the model",
        ),
        (
            [made("scale")],
            {},
            "'scale' is declared as an input and made by batch_input: expected one of both",
        ),
        ([made("a", "a")], {}, "'a' is named 2 times as a target of batch_input: expected once"),
        ([made("a"), made("b"), made("a")], {}, "'a' is named 2 times as a target of batch_input: expected once"),
        (
            [cut("doubled", kind="BATCH_SCATTER")],
            {},
            f"batch_output for 'doubled' has kind BATCH_SCATTER: expected one of {SCATTER}; did you mean '{SCATTER}'?",
        ),
        (
            [cut("doubled", source_input=["value"])],
            {},
            f"batch_output for 'doubled' has source_input 'value': {NO_INPUT}; did you mean 'values'?",
        ),
        (
            [cut("doubled")],
            {"inputs": [{**VALUES, "optional": True}]},
            f"batch_output for 'doubled' has source_input 'values', {OPTIONAL}",
        ),
        (
            [cut()],
            {},
            f"batch_output of kind {SCATTER} has no target_name: expected the name of an output of the model",
        ),
        (
            [cut("double")],
            {},
            f"batch_output for 'double' names 'double' as its target: {NO_OUTPUT}; did you mean 'doubled'?",
        ),
        (
            [cut("doubled"), cut("doubled")],
            {},
            "'doubled' is named 2 times as a target of batch_output: expected once",
        ),
        (
            [cut("doubled")],
            {"outputs": [{**OUTPUT, "data_type": "TYPE_STRING"}]},
            f"output 'doubled' is TYPE_STRING, but batch outputs {NO_STRINGS}: remove it from batch_output",
        ),
    ],
)
def test_error(entries: list[Any], more: dict[str, Any], sentence: str) -> None:
    assert error(*entries, **more) == sentence


@pytest.mark.parametrize(
    ("source", "output"),
    [
        (tensor_config("values", dims=(-1, 3)), tensor_config("doubled", dims=(-1, 3))),
        (tensor_config("values", dims=(4, 3)), tensor_config("doubled", dims=(-1, 3))),  # each -1 is taken from it
        (tensor_config("values", dims=(6,), reshape={"shape": [2, 3]}), tensor_config("doubled", dims=(2, 3))),
        (tensor_config("values", dims=(2, 3)), tensor_config("doubled", dims=(6,), reshape={"shape": [2, 3]})),
        (tensor_config("values", dims=(-1,)), tensor_config("doubled", dims=(-1, 768))),  # an embedding of each value
    ],
)
def test_scattered_dims(source: Any, output: Any) -> None:
    assert read(cut("doubled"), inputs=[source], outputs=[output]).batch_outputs == (BatchOutput("doubled", "values"),)


@pytest.mark.parametrize(("dims", "number"), [((-1, -1, -1), 2), ((4, 3, 2, -1, -1), 3)])
def test_scattered_dims_unknown(dims: tuple[int, ...], number: int) -> None:
    outputs = [tensor_config("doubled", dims=dims)]
    assert error(cut("doubled"), inputs=[tensor_config("values", dims=(-1, 3))], outputs=outputs) == (
        f"output 'doubled' has dims {list(dims)}, of which batch_output takes the dynamic ones from input 'values', "
        f"which has dims [-1, 3]: give dimension {number} a size"
    )


def test_all_errors_in_one() -> None:
    entries = made("a", data_type="TYPE_BOOL"), cut("doubled", source_input=["scale"])
    assert error(*entries, outputs=[tensor_config("doubled", dims=(2, -1))], max_batch_size=0) == (
        "The config has allow_ragged_batch (input values) and batch_input and batch_output, but max_batch_size: 0, so"
        " that no requests are merged: set max_batch_size, or remove what is for merged requests."
        " Batch_input for 'a' has data_type TYPE_BOOL: expected one of TYPE_INT32, TYPE_INT64, TYPE_FP32, TYPE_FP64."
        " Output 'doubled' has dims [2, -1], of which batch_output takes the dynamic ones from input 'scale', which has"
        " dims [1]: give dimension 1 a size."
    )


def test_with_sequences_it_is_one_sentence() -> None:
    with pytest.raises(UnsupportedError, match=r"^sequence_batching: not supported by this version of the backend$"):
        read(made("a"), sequence_batching={"max_sequence_idle_microseconds": 1000})
