"""What `inspect` prints of a TorchScript archive, as text and as JSON."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch

from triton_pytorch.contract.leaves import Leaf, ValueKind
from triton_pytorch.contract.sections import Fact, Json, Line, Section, Table, bytes_text
from triton_pytorch.torchscript_loader.methods import ScriptMethod


def sections(module: Any, methods: Sequence[ScriptMethod]) -> list[Section]:
    """Return the sections on a module: its weights, then each method with what it takes and returns."""
    parameters, buffers = _sizes(module.parameters()), _sizes(module.buffers())
    weights = f"{_sizes_text(parameters)} in parameters, {_sizes_text(buffers)} in buffers"
    summary: Section = (
        Fact("weights", (weights,)),
        Fact(key="methods", value=[_method_json(method) for method in methods]),
        Fact(key="parameters", value=_sizes_json(parameters)),
        Fact(key="buffers", value=_sizes_json(buffers)),
    )
    return [summary, *(tuple(_method_items(method)) for method in methods)]


def _method_items(method: ScriptMethod) -> Iterator[Fact | Table | Line]:
    yield Fact("method", (method.name,))
    arguments = tuple(
        (argument.name, argument.type, "none" if default is None else default)
        for argument, default in zip(method.arguments, method.defaults, strict=True)
    )
    yield Table(("argument", "type", "default"), arguments) if arguments else Line("no arguments")
    yield Fact("returns", (method.result.text,))
    yield Fact("inputs", (", ".join(_labels(method.signature.inputs)) or "none",))
    yield Fact("outputs", (", ".join(_labels(method.signature.outputs)) or "none",))
    yield Fact("names", tuple(f"device {device} in its code" for device in method.baked_devices))
    yield Fact("keeps", (", ".join(method.kept_state),) if method.kept_state else ())


def _method_json(method: ScriptMethod) -> Json:
    return {
        "name": method.name,
        "arguments": [
            {"name": argument.name, "type": argument.type, "default": default}
            for argument, default in zip(method.arguments, method.defaults, strict=True)
        ],
        "result": method.result.text,
        "inputs": _labels(method.signature.inputs),
        "outputs": _labels(method.signature.outputs),
        "baked_devices": list(method.baked_devices),
        "kept_state": list(method.kept_state),
    }


def _labels(leaves: Iterable[Leaf]) -> list[str]:
    """Return what a config can declare, such as `x (INPUT__0)` or `RESULT[<key>]`."""
    return [leaf.names.label for leaf in leaves if leaf.kind is not ValueKind.OTHER]


def _sizes(tensors: Iterable[torch.Tensor]) -> list[int]:
    return [tensor.numel() * tensor.element_size() for tensor in tensors]


def _sizes_text(sizes: Sequence[int]) -> str:
    return f"{len(sizes)} of {bytes_text(sum(sizes))}" if sizes else "none"


def _sizes_json(sizes: Sequence[int]) -> Json:
    return {"count": len(sizes), "bytes": sum(sizes)}
