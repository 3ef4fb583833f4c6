"""What `inspect` prints of a package, as text and as JSON."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from triton_pytorch.contract.input_checks import bounds_text
from triton_pytorch.contract.leaves import Dimension, Leaf, shape_text
from triton_pytorch.contract.sections import Fact, Json, Line, Section, Table, bytes_text
from triton_pytorch.contract.sizes import Size
from triton_pytorch.model_config.datatypes import data_type_of
from triton_pytorch.model_config.suggestions import listed
from triton_pytorch.pt2_loader.operators import custom_operators
from triton_pytorch.pt2_loader.wrapper import read_size_names

if TYPE_CHECKING:
    from triton_pytorch.pt2_loader.description import PackageDescription

_BATCH = "batch"
_LAYOUTS = {(0, 2, 3, 1): "channels_last", (0, 2, 3, 4, 1): "channels_last_3d"}


def package_sections(description: "PackageDescription") -> list[Section]:
    """Return the sections on a package: facts, inputs, the bounds of dynamic sizes, outputs."""
    inputs = description.inputs
    if inputs is not None:
        inputs = name_the_batch(inputs, frozenset(read_size_names(description.model.wrapper).values()))
    return [_facts(description), (_inputs(inputs),), (_sizes(inputs or ()),), (_outputs(description.outputs),)]


def _facts(description: "PackageDescription") -> Section:
    model = description.model
    others = f", one of {', '.join(model.siblings)} (--model NAME shows another)" if len(model.siblings) > 1 else ""
    return (
        _built_for(description),
        _runs_here(description),
        _weights(description),
        _operators(model.operators),
        _dropped_errors(description.unchecked_operators),
        Fact("model", (model.name + others,), "model", model.name),
        Fact(key="models", value=model.siblings),
        Fact("error", description.errors, "faults", (*description.errors, *description.host_errors)),
        Fact("warning", description.warnings, "warnings", description.warnings),
    )


def _built_for(description: "PackageDescription") -> Fact:
    it = description.built_for
    text = ", ".join(filter(None, [it.device, it.platform, it.machine, " ".join(it.cpu_features)])) or "unknown"
    value: Json = {
        "device": it.device,
        "platform": it.platform,
        "machine": it.machine,
        "cpu_features": it.cpu_features,
    }
    return Fact("built for", (text,), "built_for", value)


def _runs_here(description: "PackageDescription") -> Fact:
    """Say whether this machine has what the model was built for, which cannot be told of a GPU."""
    if description.host_errors:
        text, value = f"no: {'; '.join(description.host_errors)}", False
    elif description.built_for.device == "cpu":
        text, value = "yes, as far as the package says", True
    else:
        text, value = "unknown before the model is loaded", None
    return Fact("runs here", (text,), "runs_here", value)


def _weights(description: "PackageDescription") -> Fact:
    counts, model = description.counts, description.model
    count = counts.constants if counts is not None else None
    beside = None
    if counts is None:
        place, text = "unknown", "unknown"
    elif counts.constants == 0:
        place, text = "none", "none"
    elif model.weights_size is not None:
        beside = model.weights_size
        place, text = "beside", f"{count} beside the library, {bytes_text(beside)}: mapped, shared by all instances"
    elif counts.are_weights_in_library:
        place = "library"
        text = f"{count} in the library of {bytes_text(model.library_size)}: every instance copies them"
    else:
        place, text = "missing", f"{count}, missing"
    value: Json = {
        "place": place,
        "count": count,
        "bytes_beside": beside,
        "bytes_of_library": model.library_size,
    }
    return Fact("weights", (text,), "weights", value)


def _operators(called: Sequence[str]) -> Fact:
    """Name the operators that have to be registered before the model is loaded."""
    operators = custom_operators(called)
    texts = (
        (f"{listed(operators)}: not torch's own, to be registered before it is loaded (docs/packages.md)",)
        if operators
        else ()
    )
    return Fact("operators", texts, "operators", operators)


def _dropped_errors(operators: Sequence[str]) -> Fact:
    texts = (f"errors of {listed(operators)}, so that requests are not merged",) if operators else ()
    return Fact("drops", texts, "unchecked_operators", operators)


def _inputs(leaves: Sequence[Leaf] | None) -> Table | Line:
    if leaves is None:
        return Line("inputs and outputs are unknown before the model is loaded", "inputs")
    if not leaves:
        return Line("no inputs", "inputs", ())
    rows = tuple((_ordinal(leaf), str(leaf), _type(leaf), _shape(leaf)) for leaf in leaves)
    return Table(("input", "name", "type", "shape"), rows, "inputs", [_leaf_json(leaf) for leaf in leaves])


def _outputs(leaves: Sequence[Leaf] | None) -> Table | Fact:
    if leaves is None:
        return Fact(key="outputs")
    rows = tuple((_ordinal(leaf), str(leaf)) for leaf in leaves)
    header = "output", "name (type and shape are known after the first run)"
    return Table(header, rows, "outputs", [_leaf_json(leaf) for leaf in leaves])


def _sizes(inputs: Sequence[Leaf]) -> Table | Fact:
    sizes = dynamic_sizes(inputs)
    value: Json = {str(size): {"min": size.lower, "max": size.upper} for size in sizes}
    if not sizes:
        return Fact(key="bounds", value=value)
    return Table(("size", "bounds"), tuple((str(size), bounds_text(size)) for size in sizes), "bounds", value)


def _ordinal(leaf: Leaf) -> str:
    return f"{leaf.path.direction.value}__{leaf.names.index}"


def _type(leaf: Leaf) -> str:
    return str(data_type_of(leaf.dtype) or leaf.dtype or "unknown")


def _shape(leaf: Leaf) -> str:
    if leaf.shape is None:
        return "unknown"
    if leaf.layout is None:
        return shape_text(leaf.shape)
    order = ", ".join(map(str, leaf.layout))
    return f"{shape_text(leaf.shape)} {_LAYOUTS.get(leaf.layout, f'in memory by dimensions {order}')}"


def _leaf_json(leaf: Leaf) -> Json:
    shape = None if leaf.shape is None else [_size_json(dimension.size) for dimension in leaf.shape]
    return {
        "ordinal": _ordinal(leaf),
        "path": str(leaf),
        "dtype": leaf.dtype,
        "data_type": data_type_of(leaf.dtype),
        "shape": shape,
        "layout": leaf.layout,
    }


def _size_json(size: Size) -> int | str:
    return str(size) if size.constant is None else size.constant


def name_the_batch(inputs: Sequence[Leaf], stated: frozenset[str]) -> tuple[Leaf, ...]:
    """Call the dynamic size that is dimension 0 of every input that has dimensions `batch`.

    The package names the sizes that its code reads (`stated`). An input that it only hands through has a size of
    its own name there, which counts as the batch too where its bounds are the same.
    """
    with_dimensions = [leaf for leaf in inputs if leaf.shape != ()]
    firsts = [leaf.shape[0] for leaf in with_dimensions if leaf.shape]
    names = {dimension.size.symbol for dimension in firsts}
    own_names = names & stated or names
    bounds = {(dimension.lower, dimension.upper) for dimension in firsts}
    if len(firsts) < len(with_dimensions) or None in names or len(own_names) != 1 or len(bounds) != 1:
        return tuple(inputs)
    renamed = {name: _BATCH for name in names if name is not None}
    return tuple(replace(leaf, shape=_renamed(leaf.shape or (), renamed)) for leaf in inputs)


def _renamed(shape: tuple[Dimension, ...], names: dict[str, str]) -> tuple[Dimension, ...]:
    return tuple(replace(dimension, size=dimension.size.renamed(names)) for dimension in shape)


def dynamic_sizes(inputs: Iterable[Leaf]) -> list[Dimension]:
    """Return each dynamic size of the inputs once, in order, with the narrowest of its bounds."""
    found: dict[Size, Dimension] = {}
    for leaf in inputs:
        for dimension in leaf.shape or ():
            if not dimension.is_fixed:
                found[dimension.size] = _narrowed(found.get(dimension.size, dimension), dimension)
    return list(found.values())


def _narrowed(one: Dimension, other: Dimension) -> Dimension:
    uppers = [dimension.upper for dimension in (one, other) if dimension.upper is not None]
    return Dimension(one.size, max(one.lower, other.lower), min(uppers, default=None))
