"""What `inspect` prints of a TorchScript archive, as text and as JSON."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from triton_pytorch.artifact_store.model_file import ModelFile
from triton_pytorch.contract.leaves import ValueKind
from triton_pytorch.contract.sections import Fact, Json, Line, Section, Table, bytes_text
from triton_pytorch.contract.value_checks import is_answerable, number_type, unsendable_argument
from triton_pytorch.model_config.datatypes import data_type_of
from triton_pytorch.torchscript_loader.archive import hook_error, stored_sizes
from triton_pytorch.torchscript_loader.methods import ScriptMethod


def sections(file: ModelFile, module: Any, methods: Sequence[ScriptMethod]) -> list[Section]:
    """Return the sections on a loaded archive: its weights, then each method with what it takes and returns."""
    constants = stored_sizes(file, "constants")
    tensors = {
        "parameters": _total(module.parameters()),
        "buffers": _total(module.buffers()),
        "constants": _Total(len(constants), sum(constants)),
        "others": _others(module, stored_sizes(file, "data")),
    }
    words = {"constants": "constants of the code", "others": "other attributes, such as packed weights"}
    texts = [
        f"{it.count} of {bytes_text(it.bytes)} in {words.get(kind, kind)}" for kind, it in tensors.items() if it.count
    ]
    summary: Section = (
        Fact("weights", (", ".join(texts) or "none",)),
        Fact(key="methods", value=[_method_json(module, method) for method in methods]),
        *(Fact(key=kind, value={"count": it.count, "bytes": it.bytes}) for kind, it in tensors.items()),
    )
    return [summary, *(tuple(_method_items(module, method)) for method in methods)]


def _method_items(module: Any, method: ScriptMethod) -> Iterator[Fact | Table | Line]:
    yield Fact("method", (method.name,))
    arguments = tuple(
        (argument.name, argument.type, "none" if default is None else default)
        for argument, default in zip(method.arguments, method.defaults, strict=True)
    )
    yield Table(("argument", "type", "default"), arguments) if arguments else Line("no arguments")
    yield Fact("returns", (method.result.text,))
    errors = tuple(_errors(module, method))
    yield Fact("error", errors)
    if not errors:
        numbers = [leaf for leaf in method.signature.inputs if leaf.kind is ValueKind.NUMBER]
        yield Fact("inputs", (", ".join(_inputs(method)) or "none",))
        yield Fact("declare", tuple(f"{leaf} as {number_type(leaf)}, dims: [ 1 ]" for leaf in numbers))
        yield Fact("outputs", (", ".join(_outputs(method)),))
    yield Fact("names", tuple(f"device {device} in its code" for device in method.baked_devices))
    yield Fact("keeps", (", ".join(method.kept_state),) if method.kept_state else ())


def _method_json(module: Any, method: ScriptMethod) -> Json:
    errors = list(_errors(module, method))
    return {
        "name": method.name,
        "arguments": [
            {
                "name": argument.name,
                "type": argument.type,
                "default": default,
                "data_type": data_type_of(argument.dtype),
            }
            for argument, default in zip(method.arguments, method.defaults, strict=True)
        ],
        "result": method.result.text,
        "faults": errors,
        "inputs": [] if errors else _inputs(method),
        "outputs": [] if errors else _outputs(method),
        "baked_devices": list(method.baked_devices),
        "kept_state": list(method.kept_state),
    }


def _errors(module: Any, method: ScriptMethod) -> Iterator[str]:
    """Yield why a method cannot be served, whatever a config says."""
    if (error := hook_error(module, method.name)) is not None:
        yield error
    for leaf in method.signature.inputs:
        if leaf.kind is ValueKind.OTHER and not leaf.has_default:
            yield unsendable_argument(leaf)
    if not any(map(is_answerable, method.signature.outputs)):
        yield (
            f"the result is of type {method.result.text}, but responses can hold only tensors, numbers and strings: "
            "serve a module around this one that returns them"
        )


def _inputs(method: ScriptMethod) -> list[str]:
    """Return what a config can declare as inputs, such as `x (INPUT__0)`."""
    return [leaf.names.label for leaf in method.signature.inputs if leaf.kind is not ValueKind.OTHER]


def _outputs(method: ScriptMethod) -> list[str]:
    """Return what a config can declare as outputs, such as `RESULT[<key>]`."""
    return [leaf.names.label for leaf in method.signature.outputs if is_answerable(leaf)]


@dataclass(frozen=True, slots=True)
class _Total:
    """How many tensors there are, and how many bytes they have in all."""

    count: int
    bytes: int


def _total(tensors: Iterable[torch.Tensor]) -> _Total:
    sizes = [tensor.numel() * tensor.element_size() for tensor in tensors]
    return _Total(len(sizes), sum(sizes))


def _others(module: Any, attributes: Sequence[int]) -> _Total:
    """Return what the archive stores for attributes that are neither parameters nor buffers."""
    storages = [tensor.untyped_storage() for tensor in (*module.parameters(), *module.buffers())]
    sizes = {storage.data_ptr(): storage.nbytes() for storage in storages if storage.nbytes()}
    count = len(attributes) - len(sizes)
    return _Total(count, sum(attributes) - sum(sizes.values())) if count > 0 else _Total(0, 0)
