"""What a TorchScript archive holds: methods with their arguments and results, weights, and the devices it names."""

import io
import pickle
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from triton_pytorch.artifact_store.archive import open_archive
from triton_pytorch.io_naming.argument_names import input_labels
from triton_pytorch.io_naming.result_names import output_labels
from triton_pytorch.torch_runtime.placement import CPU
from triton_pytorch.torchscript_loader.archive import find_method, load_archive, method_names
from triton_pytorch.torchscript_loader.signatures import read_signature

_WITH_WEIGHTS = ("data.pkl", "constants.pkl")


@dataclass(frozen=True, slots=True)
class ScriptArgument:
    """An argument of a method, other than `self`; the default as Python prints it, None where there is none."""

    name: str
    type: str
    default: str | None


@dataclass(frozen=True, slots=True)
class ScriptMethod:
    """A method; `inputs` and `outputs` are what a config can declare, such as `x (INPUT__0)` or `RESULT[<key>]`.

    `baked_devices` are devices that its code names, wherever it runs.
    """

    name: str
    arguments: tuple[ScriptArgument, ...]
    result: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    baked_devices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Tensors:
    """How many tensors there are of a kind, and their bytes."""

    count: int
    bytes: int


@dataclass(frozen=True, slots=True)
class ScriptDescription:
    """A TorchScript archive; `saved_from` are the devices that its weights were on."""

    path: Path
    methods: tuple[ScriptMethod, ...]
    parameters: Tensors
    buffers: Tensors
    saved_from: tuple[str, ...]


def describe_script(archive: Path) -> ScriptDescription:
    """Describe an archive by loading it on the CPU; raises ArtifactError where that is not possible."""
    module = load_archive(archive, CPU)
    return ScriptDescription(
        path=archive,
        methods=tuple(_method(name, find_method(module, name)) for name in method_names(module)),
        parameters=_tensors(module.parameters()),
        buffers=_tensors(module.buffers()),
        saved_from=_saved_from(archive),
    )


def _method(name: str, method: Any) -> ScriptMethod:
    signature = read_signature(method)
    return ScriptMethod(
        name=name,
        arguments=tuple(
            ScriptArgument(argument.name, argument.type.annotation_str, _default(argument))
            for argument in method.schema.arguments[1:]
        ),
        result=signature.result.text,
        inputs=tuple(input_labels(signature.arguments)),
        outputs=tuple(output_labels(signature.result)),
        baked_devices=signature.baked_devices,
    )


def _default(argument: Any) -> str | None:
    if not argument.has_default_value():
        return None
    value = argument.default_value
    return "a tensor" if isinstance(value, torch.Tensor) else repr(value)


def _tensors(tensors: Iterable[torch.Tensor]) -> Tensors:
    sizes = [tensor.numel() * tensor.element_size() for tensor in tensors]
    return Tensors(len(sizes), sum(sizes))


def _saved_from(archive: Path) -> tuple[str, ...]:
    """Return the devices of the weights, which loading on the CPU hides."""
    devices: dict[str, None] = {}
    with open_archive(archive) as opened:
        for file in opened.files:
            if file.filename.split("/", 1)[-1] in _WITH_WEIGHTS:
                # For display only, and of a file that torch has read: what cannot be read here stays unknown.
                with suppress(Exception):
                    _StorageDevices(b"".join(opened.chunks(file)), devices).load()
    return tuple(devices)


class _Anything:
    """Stands for every class and function that a pickle names, and does nothing."""

    def __init__(self, *arguments: Any) -> None: ...

    def __setstate__(self, state: Any) -> None: ...


class _StorageDevices(pickle.Unpickler):
    """Collects the devices of the storages in a pickle; imports and calls nothing that the pickle names."""

    def __init__(self, content: bytes, devices: dict[str, None]) -> None:
        super().__init__(io.BytesIO(content))
        self._devices = devices

    def find_class(self, module: str, name: str) -> Any:  # noqa: ARG002  # named by pickle
        return _Anything

    def persistent_load(self, pid: Any) -> Any:
        _, _, _, device, _ = pid  # "storage", its type, its key, its device, its size
        self._devices[device] = None
        return _Anything()
