"""Strings between Triton and a model: bytes there, text of one dimension here."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from triton_pytorch.execution.interfaces import Triton, TritonTensor
from triton_pytorch.model_config.errors import RequestError, UnsupportedError
from triton_pytorch.torch_runtime.tensors import from_dlpack


class Strings(list[str]):
    """The strings of a request, with the shape that request rules and grouping ask every input for."""

    @property
    def shape(self) -> tuple[int]:
        """How many there are."""
        return (len(self),)


def read_strings(tensor: TritonTensor) -> Strings:
    """Return the strings of a request.

    Raises:
        RequestError: they have several dimensions, or one of them is not valid UTF-8.
    """
    array = tensor.as_numpy()
    if array.ndim != 1:
        raise RequestError(
            f"input '{tensor.name()}' has shape {list(array.shape)}, but the model takes strings in one dimension"
        )
    return Strings([_text(content, index, tensor) for index, content in enumerate(array.tolist())])


def _text(content: bytes, index: int, tensor: TritonTensor) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise RequestError(f"string {index} of input '{tensor.name()}' is not valid UTF-8 ({error.reason})") from error


def as_triton_array(strings: Iterable[str]) -> Any:
    """Return the strings as Triton's Python backend takes them."""
    contents = [text.encode() for text in strings]
    array = np.empty(len(contents), dtype=np.object_)
    array[:] = contents
    return array


def check_strings_arrive(triton: Triton) -> None:
    """Raise UnsupportedError where Triton's Python backend misreads arrays.

    Python backends that were built before numpy 2 read its arrays with a stride of 0 (seen with Triton 24.10), and
    lose all strings but their first byte.
    """
    sent = np.array([1, 2], dtype=np.int32)
    if from_dlpack(triton.tensor("probe", sent).to_dlpack()).tolist() != [1, 2]:
        raise UnsupportedError(
            f"the Python backend of this Triton cannot exchange strings with numpy {np.__version__}: install numpy < 2 "
            "in its environment, or use a newer Triton"
        )
