"""What comes out of a model held against what config.pbtxt declares, before anything is sent."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from triton_pytorch.model_config.configuration import ModelConfig
from triton_pytorch.model_config.errors import ModelRunError
from triton_pytorch.model_config.tensors import OPEN
from triton_pytorch.torch_runtime.datatypes import DATA_TYPES, TORCH_DTYPES


@dataclass(frozen=True, slots=True)
class DeclaredOutput:
    """A declared output: the leaf of the result that it is, and its dtype and dims behind the batch dimension."""

    name: str
    leaf: int
    dtype: torch.dtype
    dims: tuple[int, ...]
    is_batched: bool

    def checked(self, results: Sequence[torch.Tensor | None], rows: int | None) -> torch.Tensor:
        """Return this output of a result; `rows` went in, None without batching.

        Raises:
            ModelRunError: it is not what the config declares.
        """
        result = results[self.leaf]
        if result is None:
            raise ModelRunError(f"output '{self.name}' is None in this model's result: remove it from config.pbtxt")
        if rows is not None:
            self._check_rows(result, rows)
        elif result.dim() == 0 and self.dims in ((1,), (OPEN,)):
            result = result.reshape(1)  # Triton has no way to declare an output without dimensions here
        if result.dtype is not self.dtype:
            raise ModelRunError(self._wrong_type(result.dtype))
        if not self._has_declared_dims(result):
            raise ModelRunError(self._wrong_dims(result))
        return result

    def _check_rows(self, result: torch.Tensor, rows: int) -> None:
        got = result.shape[0] if result.dim() else None
        if got != rows:
            returned = "a single number" if got is None else f"{got} rows"
            raise ModelRunError(
                f"output '{self.name}' is not batched: {rows} rows went in and {returned} came out; "
                "if that is how the model works, set max_batch_size: 0"
            )

    def _has_declared_dims(self, result: torch.Tensor) -> bool:
        got = result.shape[1:] if self.is_batched else result.shape
        return len(got) == len(self.dims) and all(
            declared in (OPEN, size) for declared, size in zip(self.dims, got, strict=True)
        )

    def _wrong_type(self, dtype: torch.dtype) -> str:
        declared = f"output '{self.name}' is declared {DATA_TYPES[self.dtype]}"
        data_type = DATA_TYPES.get(dtype)
        if data_type is None:
            return f"{declared}, but the model returned {dtype}, which Triton lacks: remove it from config.pbtxt"
        return f"{declared}, but the model returned {data_type}: write data_type: {data_type} in config.pbtxt"

    def _wrong_dims(self, result: torch.Tensor) -> str:
        behind = " behind the batch dimension" if self.is_batched else ""
        return (
            f"output '{self.name}' is declared with dims {list(self.dims)}{behind}, but the model returned "
            f"{list(result.shape)}: change its dims in config.pbtxt"
        )


def declare_outputs(config: ModelConfig, order: Sequence[int]) -> dict[str, DeclaredOutput]:
    """Return the declared outputs by name; output i of the config is leaf `order[i]` of the result."""
    return {
        tensor.name: DeclaredOutput(
            tensor.name, leaf, TORCH_DTYPES[tensor.data_type], tensor.model_dims, config.max_batch_size > 0
        )
        for tensor, leaf in zip(config.outputs, order, strict=True)
    }
