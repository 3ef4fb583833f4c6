"""The data types of Triton's model configuration, as config.pbtxt spells them."""

from enum import Enum


class DataType(str, Enum):
    """One `data_type` of config.pbtxt; the values are Triton's own spelling."""

    BOOL = "TYPE_BOOL"
    UINT8 = "TYPE_UINT8"
    UINT16 = "TYPE_UINT16"
    UINT32 = "TYPE_UINT32"
    UINT64 = "TYPE_UINT64"
    INT8 = "TYPE_INT8"
    INT16 = "TYPE_INT16"
    INT32 = "TYPE_INT32"
    INT64 = "TYPE_INT64"
    FP16 = "TYPE_FP16"
    BF16 = "TYPE_BF16"
    FP32 = "TYPE_FP32"
    FP64 = "TYPE_FP64"
    STRING = "TYPE_STRING"

    @property
    def torch_name(self) -> str | None:
        """The name of the same type in torch, such as "float32"; None for strings, which torch does not have."""
        if self is DataType.STRING:
            return None
        name = self.name.lower()
        return {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64"}.get(name, name)

    def __str__(self) -> str:
        return self.value


def data_type_of(torch_name: str | None) -> DataType | None:
    """Return Triton's name of a type in torch; None where it is unknown, or Triton has none (complex numbers)."""
    return next((data_type for data_type in DataType if torch_name and data_type.torch_name == torch_name), None)
