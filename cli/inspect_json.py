"""The description of a file as a JSON object; docs/packages.md describes its fields, which stay as they are."""

from triton_pytorch.cli.inspect_script import JsonObject, script_as_json
from triton_pytorch.formats.describe import DescribedFile, DescribedPackage, data_type_of, open_sizes
from triton_pytorch.contract.leaves import Dimension, Leaf
from triton_pytorch.io_naming.names import Direction, OrdinalName


def as_json(file: DescribedFile) -> JsonObject:
    """Return the object that `inspect --json` prints."""
    common: JsonObject = {"file": str(file.path), "kind": file.kind.name.lower(), "summary": file.summary}
    package = _package(file.package) if file.package is not None else {}
    script = script_as_json(file.script) if file.script is not None else {}
    return common | package | script


def _package(package: DescribedPackage) -> JsonObject:
    description = package.description
    built_for = description.built_for
    return {
        "model": description.model.name,
        "models": list(description.model.siblings),
        "built_for": {
            "device": built_for.device,
            "platform": built_for.platform,
            "machine": built_for.machine,
            "cpu_features": list(built_for.cpu_features),
        },
        "runs_here": package.runs_here,
        "weights": _weights(package),
        "inputs": _leaves(description.inputs, Direction.INPUT),
        "outputs": _leaves(description.outputs, Direction.OUTPUT),
        "bounds": _bounds(description.inputs),
        "faults": [*package.faults, *package.host_faults],
        "warnings": list(description.warnings),
    }


def _weights(package: DescribedPackage) -> JsonObject:
    description = package.description
    return {
        "place": package.weights,
        "count": description.counts.constants if description.counts is not None else None,
        "bytes_beside": description.model.weights_size if package.weights == "beside" else None,
        "bytes_of_library": description.model.library_size,
    }


def _leaves(leaves: tuple[Leaf, ...] | None, direction: Direction) -> list[JsonObject] | None:
    if leaves is None:
        return None
    return [{"ordinal": str(OrdinalName(direction, index))} | _leaf(leaf) for index, leaf in enumerate(leaves)]


def _leaf(leaf: Leaf) -> JsonObject:
    return {
        "path": str(leaf.path),
        "dtype": leaf.dtype,
        "data_type": data_type_of(leaf),
        "shape": [_size(dimension) for dimension in leaf.shape] if leaf.shape is not None else None,
        "layout": list(leaf.layout) if leaf.layout is not None else None,
    }


def _size(dimension: Dimension) -> int | str:
    constant = dimension.size.constant
    return str(dimension.size) if constant is None else constant


def _bounds(inputs: tuple[Leaf, ...] | None) -> JsonObject:
    return {
        str(dimension.size): {"min": dimension.lower, "max": dimension.upper} for dimension in open_sizes(inputs or ())
    }
