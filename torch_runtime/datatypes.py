"""Triton's data types as torch's, for every type that both have."""

import torch

from triton_pytorch.model_config.datatypes import DataType

TORCH_DTYPES: dict[DataType, torch.dtype] = {
    data_type: getattr(torch, data_type.torch_name) for data_type in DataType if data_type.torch_name is not None
}

DATA_TYPES: dict[torch.dtype, DataType] = {dtype: data_type for data_type, dtype in TORCH_DTYPES.items()}
