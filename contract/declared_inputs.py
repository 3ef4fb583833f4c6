"""Every input leaf that a config declares, with the shape in which the model gets it in a call."""

from dataclasses import dataclass

from triton_pytorch.model_config.batch_tensors import BatchInput, BatchInputKind
from triton_pytorch.model_config.configuration import ModelConfig
from triton_pytorch.model_config.datatypes import DataType
from triton_pytorch.model_config.tensors import DYNAMIC, TensorConfig


@dataclass(frozen=True, slots=True)
class DeclaredInput:
    """An entry of `input`, or a target of `batch_input`, whose `kind` it has.

    `shape` is that of the tensor in a call, after `reshape` and with the batch dimension; DYNAMIC where a size is left
    to the request. `rank` is the number of dimensions in one request. `is_batched` says that dimension 0 is the number
    of rows of all requests in the call. `source` is the input that a batch input is made of, with its number of dims.
    """

    name: str
    data_type: DataType
    shape: tuple[int, ...]
    is_batched: bool
    is_ragged: bool = False
    optional: bool = False
    kind: BatchInputKind | None = None
    rank: int = 0
    source: str | None = None
    source_dims: int = 0

    @property
    def depends_on_merge(self) -> bool:
        """True where no request alone has this tensor: ragged inputs arrive flat, batch inputs are made of all."""
        return self.is_ragged or self.kind is not None


def declared_inputs(config: ModelConfig) -> tuple[DeclaredInput, ...]:
    """Return what a config declares of the model's inputs: `input` in its order, then the targets of `batch_input`."""
    sources = {tensor.name: tensor for tensor in config.inputs}
    return (
        *(_sent(tensor, is_batched=config.max_batch_size > 0) for tensor in config.inputs),
        *(_made(batch_input, sources[batch_input.source]) for batch_input in config.batch_inputs),
    )


def _sent(tensor: TensorConfig, *, is_batched: bool) -> DeclaredInput:
    shape = (DYNAMIC, *tensor.model_dims) if is_batched else tensor.model_dims
    return DeclaredInput(
        tensor.name,
        tensor.data_type,
        (DYNAMIC,) if tensor.is_ragged else shape,
        is_batched and not tensor.is_ragged,
        is_ragged=tensor.is_ragged,
        optional=tensor.optional,
        rank=len(shape),
    )


def _made(batch_input: BatchInput, source: TensorConfig) -> DeclaredInput:
    has_row_each = batch_input.kind is BatchInputKind.ITEM_SHAPE
    source_dims = len(source.model_dims)
    return DeclaredInput(
        batch_input.name,
        batch_input.data_type,
        (DYNAMIC, source_dims) if has_row_each else (DYNAMIC,),
        has_row_each,
        kind=batch_input.kind,
        source=source.name,
        source_dims=source_dims,
    )
