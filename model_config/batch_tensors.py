"""What belongs to a merged call and not to one request: `batch_input`, `batch_output`, and where they cannot be.

The rules are those of BatchInput, BatchOutput and ModelInput.allow_ragged_batch in Triton's model_config.proto.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from triton_pytorch.model_config.datatypes import DataType
from triton_pytorch.model_config.errors import ConfigError
from triton_pytorch.model_config.suggestions import did_you_mean, joined, listed
from triton_pytorch.model_config.tensors import DYNAMIC, TensorConfig

# The proto names TYPE_INT32 and TYPE_FP32, and Triton's core refuses others so far; these hold counts just as well.
_COUNTING_TYPES = (DataType.INT32, DataType.INT64, DataType.FP32, DataType.FP64)
_SCATTER = "BATCH_SCATTER_WITH_INPUT_SHAPE"

Entry = Mapping[str, Any]


class BatchInputKind(str, Enum):
    """What a batch input says of its source, which has the shape [rows, *dims] in each of n merged requests.

    The values are Triton's own spelling. An element count is that of the whole source in a request, rows included.
    """

    ELEMENT_COUNT = "BATCH_ELEMENT_COUNT"  # [n]
    ACCUMULATED_ELEMENT_COUNT = "BATCH_ACCUMULATED_ELEMENT_COUNT"  # [n]: of this request and all before it
    ACCUMULATED_ELEMENT_COUNT_WITH_ZERO = "BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO"  # [n + 1]: the same after a 0
    MAX_ELEMENT_COUNT_AS_SHAPE = "BATCH_MAX_ELEMENT_COUNT_AS_SHAPE"  # [largest count]: only the shape says something
    ITEM_SHAPE = "BATCH_ITEM_SHAPE"  # [rows of all requests, number of dims]: the dims, once for each row
    ITEM_SHAPE_FLATTEN = "BATCH_ITEM_SHAPE_FLATTEN"  # [rows of all requests * number of dims]: the same, flat

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class BatchInput:
    """An input of the model that no request sends: it is made for each call from the shapes of `source`."""

    name: str
    kind: BatchInputKind
    data_type: DataType
    source: str


@dataclass(frozen=True, slots=True)
class BatchOutput:
    """An output that is cut into pieces, one for each request, with the shapes that `source` has in the requests."""

    target: str
    source: str


def read_batch_tensors(
    document: Mapping[str, Any], inputs: Sequence[TensorConfig], outputs: Sequence[TensorConfig]
) -> tuple[tuple[BatchInput, ...], tuple[BatchOutput, ...]]:
    """Read `batch_input` and `batch_output` of Triton's JSON, one record for each target.

    Raises:
        ConfigError: they, or ragged inputs, cannot work as they are declared; all such errors in one text.
    """
    batch_inputs, batch_outputs = document.get("batch_input", []), document.get("batch_output", [])
    errors = [
        *_batching_errors(document, inputs),
        *_ragged_errors(inputs),
        *_batch_input_errors(batch_inputs, inputs),
        *_batch_output_errors(batch_outputs, inputs, outputs),
    ]
    if errors:
        raise ConfigError(joined(errors))
    return (
        tuple(batch_input for entry in batch_inputs for batch_input in _batch_inputs(entry)),
        tuple(batch_output for entry in batch_outputs for batch_output in _batch_outputs(entry)),
    )


def _batch_inputs(entry: Entry) -> Iterator[BatchInput]:
    (source,) = entry["source_input"]
    for target in entry["target_name"]:
        yield BatchInput(target, BatchInputKind(entry["kind"]), DataType(entry["data_type"]), source)


def _batch_outputs(entry: Entry) -> Iterator[BatchOutput]:
    (source,) = entry["source_input"]
    for target in entry["target_name"]:
        yield BatchOutput(target, source)


def _batching_errors(document: Mapping[str, Any], inputs: Sequence[TensorConfig]) -> Iterator[str]:
    ragged = [tensor.name for tensor in inputs if tensor.is_ragged]
    declared = [f"allow_ragged_batch (input {listed(ragged)})"] * bool(ragged)
    declared += [field for field in ("batch_input", "batch_output") if document.get(field)]
    if declared and not document.get("max_batch_size"):
        yield (
            f"the config has {' and '.join(declared)}, but max_batch_size: 0, so that no requests are merged: "
            "set max_batch_size, or remove what is for merged requests"
        )


def _ragged_errors(inputs: Sequence[TensorConfig]) -> Iterator[str]:
    for tensor in inputs:
        if tensor.is_ragged and tensor.data_type is DataType.STRING:
            yield (
                f"input '{tensor.name}' is ragged and TYPE_STRING, but ragged inputs are tensors, and torch has none "
                "of strings: remove `allow_ragged_batch: true`"
            )


def _batch_input_errors(entries: Sequence[Entry], inputs: Sequence[TensorConfig]) -> Iterator[str]:
    for entry in entries:
        label = _label("batch_input", entry)
        yield from _kind_errors(label, entry, [kind.value for kind in BatchInputKind])
        yield from _data_type_errors(label, entry)
        yield from _source_errors(label, entry, inputs)
        yield from _target_errors(label, entry, "input")
    targets = _targets(entries)
    yield from _repeated("batch_input", targets)
    for tensor in inputs:
        if tensor.name in targets:
            yield f"'{tensor.name}' is declared as an input and made by batch_input: expected one of both"


def _batch_output_errors(
    entries: Sequence[Entry], inputs: Sequence[TensorConfig], outputs: Sequence[TensorConfig]
) -> Iterator[str]:
    declared = {tensor.name: tensor for tensor in outputs}
    sources = {tensor.name: tensor for tensor in inputs}
    for entry in entries:
        label = _label("batch_output", entry)
        yield from _kind_errors(label, entry, [_SCATTER])
        yield from _source_errors(label, entry, inputs)
        yield from _target_errors(label, entry, "output")
        for target in entry["target_name"]:
            if target not in declared:
                yield (
                    f"{label} names '{target}' as its target: expected a declared output, one of "
                    f"{listed(list(declared))}{did_you_mean(target, declared)}"
                )
            for source in entry["source_input"]:
                if target in declared and source in sources:
                    yield from _scatter_errors(declared[target], sources[source])
    yield from _repeated("batch_output", _targets(entries))


def _label(field: str, entry: Entry) -> str:
    """Return what messages call an entry: by its targets, else by its kind."""
    targets = listed([f"'{name}'" for name in entry["target_name"]])
    return f"{field} for {targets}" if targets else f"{field} of kind {entry['kind']}"


def _targets(entries: Sequence[Entry]) -> Counter[str]:
    return Counter(target for entry in entries for target in entry["target_name"])


def _kind_errors(label: str, entry: Entry, kinds: Sequence[str]) -> Iterator[str]:
    if entry["kind"] not in kinds:
        yield f"{label} has kind {entry['kind']}: expected one of {listed(kinds)}{did_you_mean(entry['kind'], kinds)}"


def _data_type_errors(label: str, entry: Entry) -> Iterator[str]:
    is_empty = entry["kind"] == BatchInputKind.MAX_ELEMENT_COUNT_AS_SHAPE.value  # no number has to fit into it
    types = [data_type for data_type in DataType if data_type.torch_name] if is_empty else _COUNTING_TYPES
    allowed = [data_type.value for data_type in types]
    data_type = entry["data_type"]
    if data_type not in allowed:
        yield f"{label} has data_type {data_type}: expected one of {listed(allowed)}{did_you_mean(data_type, allowed)}"


def _source_errors(label: str, entry: Entry, inputs: Sequence[TensorConfig]) -> Iterator[str]:
    declared = {tensor.name: tensor for tensor in inputs}
    if len(entry["source_input"]) != 1:
        yield f"{label} has {len(entry['source_input'])} names in source_input: expected the name of one input"
    for source in entry["source_input"]:
        if source not in declared:
            yield (
                f"{label} has source_input '{source}': expected a declared input, one of {listed(list(declared))}"
                f"{did_you_mean(source, declared)}"
            )
        elif declared[source].optional:
            yield (
                f"{label} has source_input '{source}', which is optional, so that a request may have no shape for it: "
                "remove `optional: true`, or take another input"
            )


def _target_errors(label: str, entry: Entry, direction: str) -> Iterator[str]:
    if not entry["target_name"]:
        yield f"{label} has no target_name: expected the name of an {direction} of the model"


def _repeated(field: str, targets: Counter[str]) -> Iterator[str]:
    for target, count in targets.items():
        if count > 1:
            yield f"'{target}' is named {count} times as a target of {field}: expected once"


def _scatter_errors(output: TensorConfig, source: TensorConfig) -> Iterator[str]:
    if output.data_type is DataType.STRING:
        yield (
            f"output '{output.name}' is TYPE_STRING, but batch outputs are tensors, and torch has none of strings: "
            "remove it from batch_output"
        )
    dims, known = output.model_dims, source.model_dims
    unknown = [number for number, size in enumerate(dims) if size == DYNAMIC and number >= len(known)]
    if unknown:
        yield (
            f"output '{output.name}' has dims {list(dims)}, of which batch_output takes the dynamic ones from input "
            f"'{source.name}', which has dims {list(known)}: give dimension {unknown[0]} a size"
        )
