"""The entries of `input` and `output` of a config.pbtxt, as frozen values."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from triton_pytorch.model_config.datatypes import DataType
from triton_pytorch.model_config.errors import ConfigError
from triton_pytorch.model_config.suggestions import did_you_mean, listed

DYNAMIC = -1  # a size that is left to the request
# How to declare what has the batch dimension and no other: Triton demands dims, and `reshape` takes them away again.
ONE_IN_EACH_ROW = "dims: [ 1 ] and reshape: { shape: [ ] }"


@dataclass(frozen=True, slots=True)
class TensorConfig:
    """One entry of `input` or `output`; dims without the batch dimension, -1 where dynamic.

    `is_ragged` is `allow_ragged_batch: true`: requests are merged whatever shape this input has in each, and the model
    gets all of it flat, in one dimension.
    """

    name: str
    data_type: DataType
    dims: tuple[int, ...]
    reshape: tuple[int, ...] | None = None
    optional: bool = False
    is_ragged: bool = False

    @property
    def model_dims(self) -> tuple[int, ...]:
        """The dims as the model has them: after `reshape`, which Triton's core does both ways."""
        return self.dims if self.reshape is None else self.reshape


def read_tensor(entry: Mapping[str, Any], direction: str) -> TensorConfig:
    """Read one entry of Triton's JSON; raises ConfigError where its data type is none."""
    reshape = entry.get("reshape")
    return TensorConfig(
        name=entry["name"],
        data_type=_data_type(entry, direction),
        dims=_sizes(entry.get("dims", [])),
        reshape=_sizes(reshape.get("shape", [])) if reshape is not None else None,
        optional=bool(entry.get("optional", False)),
        is_ragged=bool(entry.get("allow_ragged_batch", False)),
    )


def _sizes(values: list[Any]) -> tuple[int, ...]:
    return tuple(int(value) for value in values)


def _data_type(entry: Mapping[str, Any], direction: str) -> DataType:
    spelling = entry.get("data_type", "TYPE_INVALID")
    try:
        return DataType(spelling)
    except ValueError as error:
        choices = [data_type.value for data_type in DataType]
        raise ConfigError(
            f"{direction} '{entry['name']}' has data_type {spelling}: expected one of {listed(choices)}"
            f"{did_you_mean(spelling, choices)}"
        ) from error
