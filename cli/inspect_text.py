"""The description of a file as text for a terminal of 80 columns."""

from collections.abc import Iterator

from triton_pytorch.cli.inspect_script import script_parts
from triton_pytorch.cli.layout import fact, size_text, table
from triton_pytorch.formats.describe import DescribedFile, DescribedPackage, data_type_of, open_sizes
from triton_pytorch.contract.input_checks import bounds_text
from triton_pytorch.contract.leaves import Leaf, shape_text
from triton_pytorch.io_naming.names import Direction, OrdinalName

_LAYOUTS = {(0, 2, 3, 1): "channels_last", (0, 2, 3, 4, 1): "channels_last_3d"}


def as_text(file: DescribedFile) -> str:
    """Return what `inspect` prints; a file that is no package gets one line."""
    lines = [f"{file.path} is {file.summary}"]
    for part in _parts(file):
        lines += ["", *part] if part else []
    return "\n".join(map(_printable, lines))


def _parts(file: DescribedFile) -> Iterator[list[str]]:
    if file.package is not None:
        yield from (_facts(file.package), _inputs(file.package), _sizes(file.package), _outputs(file.package))
    if file.script is not None:
        yield from script_parts(file.script)


def _printable(line: str) -> str:
    """Show what a terminal would obey or could not print: names in an archive are anybody's."""
    return "".join(character if character.isprintable() else repr(character)[1:-1] for character in line)


def _facts(package: DescribedPackage) -> list[str]:
    facts = [
        ("built for", _built_for(package)),
        ("runs here", _runs_here(package)),
        ("weights", _weights(package)),
        ("model", _model(package)),
        *(("fault", fault) for fault in package.faults),
        *(("warning", warning) for warning in package.description.warnings),
    ]
    return [line for label, text in facts for line in fact(label, text)]


def _built_for(package: DescribedPackage) -> str:
    built_for = package.description.built_for
    known = [built_for.device, built_for.platform, built_for.machine, " ".join(built_for.cpu_features)]
    return ", ".join(filter(None, known)) or "unknown"


def _runs_here(package: DescribedPackage) -> str:
    if package.host_faults:
        return f"no: {'; '.join(package.host_faults)}"
    return "yes, as far as the package says" if package.runs_here else "unknown before the model is loaded"


def _weights(package: DescribedPackage) -> str:
    counts, model = package.description.counts, package.description.model
    count = counts.constants if counts is not None else 0
    texts = {
        "none": "none",
        "unknown": "unknown",
        "missing": f"{count}, missing",
        "library": f"{count} in the library of {size_text(model.library_size)}: every instance copies them",
        "beside": f"{count} beside the library, {size_text(model.weights_size or 0)}: mapped, shared by all instances",
    }
    return texts[package.weights]


def _model(package: DescribedPackage) -> str:
    model = package.description.model
    if len(model.siblings) == 1:
        return model.name
    return f"{model.name}, one of {', '.join(model.siblings)} (--model NAME shows another)"


def _inputs(package: DescribedPackage) -> list[str]:
    leaves = package.description.inputs
    if leaves is None:
        return ["inputs and outputs are unknown before the model is loaded"]
    if not leaves:
        return ["no inputs"]
    rows = [(*_names(Direction.INPUT, index, leaf), _type(leaf), _shape(leaf)) for index, leaf in enumerate(leaves)]
    return table(("input", "name", "type", "shape"), rows)


def _outputs(package: DescribedPackage) -> list[str]:
    leaves = package.description.outputs
    if leaves is None:
        return []
    rows = [_names(Direction.OUTPUT, index, leaf) for index, leaf in enumerate(leaves)]
    return table(("output", "name (type and shape are known after the first run)"), rows)


def _names(direction: Direction, index: int, leaf: Leaf) -> tuple[str, str]:
    return str(OrdinalName(direction, index)), str(leaf.path)


def _type(leaf: Leaf) -> str:
    return str(data_type_of(leaf) or leaf.dtype or "unknown")


def _shape(leaf: Leaf) -> str:
    if leaf.shape is None:
        return "unknown"
    if leaf.layout is None:
        return shape_text(leaf.shape)
    order = ", ".join(map(str, leaf.layout))
    return f"{shape_text(leaf.shape)} {_LAYOUTS.get(leaf.layout, f'in memory by dimensions {order}')}"


def _sizes(package: DescribedPackage) -> list[str]:
    sizes = open_sizes(package.description.inputs or ())
    return table(("size", "bounds"), [(str(size), bounds_text(size)) for size in sizes]) if sizes else []
