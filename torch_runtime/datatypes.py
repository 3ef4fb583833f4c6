"""Triton's data types as torch's, for every type that both have."""

import torch

from triton_pytorch.model_config.datatypes import DataType

TORCH_DTYPES: dict[DataType, torch.dtype] = {
    DataType.BOOL: torch.bool,
    DataType.UINT8: torch.uint8,
    DataType.UINT16: torch.uint16,
    DataType.UINT32: torch.uint32,
    DataType.UINT64: torch.uint64,
    DataType.INT8: torch.int8,
    DataType.INT16: torch.int16,
    DataType.INT32: torch.int32,
    DataType.INT64: torch.int64,
    DataType.FP16: torch.float16,
    DataType.BF16: torch.bfloat16,
    DataType.FP32: torch.float32,
    DataType.FP64: torch.float64,
}

DATA_TYPES: dict[torch.dtype, DataType] = {dtype: data_type for data_type, dtype in TORCH_DTYPES.items()}
