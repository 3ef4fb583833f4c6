"""Model configurations for tests, as Triton's JSON and as config.pbtxt."""

from collections.abc import Mapping
from typing import Any

import torch

TYPES = {
    torch.bool: "TYPE_BOOL",
    torch.uint8: "TYPE_UINT8",
    torch.uint16: "TYPE_UINT16",
    torch.uint32: "TYPE_UINT32",
    torch.uint64: "TYPE_UINT64",
    torch.int8: "TYPE_INT8",
    torch.int16: "TYPE_INT16",
    torch.int32: "TYPE_INT32",
    torch.int64: "TYPE_INT64",
    torch.float16: "TYPE_FP16",
    torch.bfloat16: "TYPE_BF16",
    torch.float32: "TYPE_FP32",
    torch.float64: "TYPE_FP64",
}


def tensor_config(name: str, dtype: torch.dtype = torch.float32, dims: tuple[int, ...] = (-1,), **more: Any) -> Any:
    """Make an entry of `input` or `output`, as Triton's JSON has it."""
    return {"name": name, "data_type": TYPES[dtype], "dims": list(dims), **more}


def model_config(inputs: list[Any], outputs: list[Any], **more: Any) -> dict[str, Any]:
    """Make a whole configuration; `parameters` maps keys to their string values."""
    parameters: Mapping[str, str] = more.pop("parameters", {})
    return {
        "backend": "pytorch_python",
        "platform": "torch_aoti",
        "max_batch_size": 0,
        "input": inputs,
        "output": outputs,
        "parameters": {key: {"string_value": value} for key, value in parameters.items()},
        **more,
    }


def as_pbtxt(config: Mapping[str, Any]) -> str:
    """Print a configuration as the text of a config.pbtxt."""
    from google.protobuf import json_format, text_format
    from tritonclient.grpc import model_config_pb2

    text: str = text_format.MessageToString(json_format.ParseDict(config, model_config_pb2.ModelConfig()))
    return text


def from_pbtxt(text: str) -> dict[str, Any]:
    """Read the text of a config.pbtxt as Triton's JSON."""
    from google.protobuf import json_format, text_format
    from tritonclient.grpc import model_config_pb2

    message = text_format.Parse(text, model_config_pb2.ModelConfig())
    config: dict[str, Any] = json_format.MessageToDict(message, preserving_proto_field_name=True)
    return config


def sample(dtype: torch.dtype) -> torch.Tensor:
    """Two rows of four values that every dtype holds exactly."""
    if dtype is torch.bool:
        return torch.tensor([[True, False, False, True], [False, False, True, True]])
    return torch.tensor([[1, 2, 3, 4], [100, 0, 7, 5]]).to(dtype)
