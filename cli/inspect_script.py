"""The description of a TorchScript archive, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from triton_pytorch.cli.layout import fact, size_text, table

if TYPE_CHECKING:  # it needs torch, which `inspect` imports for such files only
    from triton_pytorch.torchscript_loader.description import ScriptDescription, ScriptMethod, Tensors

JsonObject = dict[str, object]


def script_parts(script: ScriptDescription) -> Iterator[list[str]]:
    """Yield the parts of the text about an archive: its weights, then each method with what it takes and returns."""
    weights = f"{_tensors_text(script.parameters)} in parameters, {_tensors_text(script.buffers)} in buffers"
    saved_from = ", ".join(script.saved_from) or "unknown"
    yield [*fact("weights", weights), *fact("saved from", saved_from)]
    for method in script.methods:
        yield _method_text(method)


def script_as_json(script: ScriptDescription) -> JsonObject:
    """Return what `inspect --json` adds for an archive."""
    return {
        "methods": [_method_as_json(method) for method in script.methods],
        "parameters": _tensors_as_json(script.parameters),
        "buffers": _tensors_as_json(script.buffers),
        "saved_from": list(script.saved_from),
    }


def _method_text(method: ScriptMethod) -> list[str]:
    arguments = [
        (argument.name, argument.type, "none" if argument.default is None else argument.default)
        for argument in method.arguments
    ]
    lines = fact("method", method.name)
    lines += table(("argument", "type", "default"), arguments) if arguments else ["no arguments"]
    lines += fact("returns", method.result)
    lines += fact("inputs", ", ".join(method.inputs) or "none")
    lines += fact("outputs", ", ".join(method.outputs) or "none")
    return lines + [line for device in method.baked_devices for line in fact("names", f"device {device} in its code")]


def _method_as_json(method: ScriptMethod) -> JsonObject:
    return {
        "name": method.name,
        "arguments": [
            {"name": argument.name, "type": argument.type, "default": argument.default} for argument in method.arguments
        ],
        "result": method.result,
        "inputs": list(method.inputs),
        "outputs": list(method.outputs),
        "baked_devices": list(method.baked_devices),
    }


def _tensors_text(tensors: Tensors) -> str:
    return f"{tensors.count} of {size_text(tensors.bytes)}" if tensors.count else "none"


def _tensors_as_json(tensors: Tensors) -> JsonObject:
    return {"count": tensors.count, "bytes": tensors.bytes}
