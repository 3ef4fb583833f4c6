"""What a file is, what its model takes and returns, and what it needs to run; only TorchScript needs torch for that."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from triton_pytorch.formats.files import DEFAULT_FILE_NAMES
from triton_pytorch.formats.kinds import HOW_TO_MAKE_A_PACKAGE, WHAT_IS_SERVED, Kind, identify
from triton_pytorch.io_naming.call_spec import check_leaf_count, read_call_spec
from triton_pytorch.contract.leaves import Dimension, Leaf
from triton_pytorch.contract.sizes import Size, dynamic_size
from triton_pytorch.model_config.datatypes import DataType
from triton_pytorch.model_config.errors import ArtifactError, ArtifactMissingError, ConfigError
from triton_pytorch.model_config.suggestions import listed
from triton_pytorch.pt2_loader.archive import read_model
from triton_pytorch.pt2_loader.description import Description, describe
from triton_pytorch.pt2_loader.host import host_faults, read_cpu_flags
from triton_pytorch.pt2_loader.wrapper import read_size_names

if TYPE_CHECKING:
    from triton_pytorch.torchscript_loader.description import ScriptDescription

_BATCH = "batch"
_REMEDIES = {
    Kind.EXPORTED_PROGRAM: "compile it into an AOTInductor package with torch._inductor.aoti_compile_and_package",
    Kind.PYTHON_SOURCE: f"not served by this version, so make a package of its module with {HOW_TO_MAKE_A_PACKAGE}",
    Kind.CHECKPOINT: f"load it into its module, and make a package of that with {HOW_TO_MAKE_A_PACKAGE}",
}
# Not what somebody wrote, but what a copy has left of it: there is nothing to describe.
_DAMAGED = {
    Kind.EMPTY: "empty: copy it again",
    Kind.TRUNCATED_ARCHIVE: Kind.TRUNCATED_ARCHIVE.value,
    Kind.LFS_POINTER: Kind.LFS_POINTER.value,
}
WeightsPlace = Literal["none", "library", "beside", "missing", "unknown"]


@dataclass(frozen=True, slots=True)
class DescribedPackage:
    """A packaged model as its user looks at it, on this machine.

    The open size that is dimension 0 of every input is called `batch`. `faults` are reasons why the package itself
    cannot be served, `host_faults` why this machine cannot run it.
    """

    description: Description
    weights: WeightsPlace
    faults: tuple[str, ...]
    host_faults: tuple[str, ...]

    @property
    def runs_here(self) -> bool | None:
        """Whether this machine has what the model was built for; None where that cannot be told (a GPU, for one)."""
        if self.host_faults:
            return False
        return True if self.description.built_for.device == "cpu" else None


@dataclass(frozen=True, slots=True)
class DescribedFile:
    """A file of any kind; `summary` completes the sentence "this file is ...", with how to make it one to serve."""

    path: Path
    kind: Kind
    summary: str
    package: DescribedPackage | None = None
    script: "ScriptDescription | None" = None


def describe_file(path: Path, model_name: str | None = None) -> DescribedFile:
    """Describe a file, or the model's file in a version directory or a model's directory.

    Args:
        path: the file or directory.
        model_name: which model of a package; None takes the only one, or the one named "model".

    Raises:
        ArtifactError: there is no such file, or it is damaged.
        ConfigError: the package does not hold that model, or several and none was chosen.
        NamingError, UnsupportedError: the package takes or returns what has no name here.
    """
    file = _find_file(path)
    kind = identify(file)
    if kind is Kind.PACKAGE:
        return DescribedFile(file, kind, kind.value, _describe_package(file, model_name))
    if kind is Kind.TORCHSCRIPT:
        from triton_pytorch.torchscript_loader.description import describe_script  # needs torch, which packages do not

        return DescribedFile(file, kind, kind.value, script=describe_script(file))
    if kind in _DAMAGED:
        raise ArtifactError(f"'{file}' is {_DAMAGED[kind]}")
    remedy = _REMEDIES.get(kind, f"expected {WHAT_IS_SERVED}")
    return DescribedFile(file, kind, f"{kind.value}: {remedy}")


def _find_file(path: Path) -> Path:
    if path.is_dir():
        return _find_in_directory(path)
    if not path.exists():
        raise ArtifactMissingError(f"'{path}' does not exist")
    if not path.is_file():  # opening a pipe would wait for a writer
        raise ArtifactError(f"'{path}' is not a file: expected an AOTInductor package (.pt2)")
    return path


def _find_in_directory(path: Path) -> Path:
    """Return the model's file by its default name; of several versions the highest, which Triton serves unasked."""
    versions = [entry for entry in path.iterdir() if entry.is_dir() and entry.name.isdecimal()]
    directory = max(versions, key=lambda version: int(version.name), default=path)
    for name in DEFAULT_FILE_NAMES:
        if (directory / name).is_file():
            return directory / name
    present = sorted(entry.name for entry in directory.iterdir())
    holds = f"it holds {listed(present)}" if present else "it is empty"
    raise ArtifactMissingError(f"no {' or '.join(DEFAULT_FILE_NAMES)} in '{directory}': {holds}; give a file instead")


def _describe_package(file: Path, model_name: str | None) -> DescribedPackage:
    try:
        model = read_model(file, model_name)
    except ConfigError as error:
        raise ConfigError(f"{error} (here: --model NAME)") from error
    description = describe(model)
    if description.specs is not None and description.counts is not None:
        check_leaf_count(read_call_spec(*description.specs), description.counts.inputs)
    return for_display(description, read_cpu_flags())


def for_display(description: Description, cpu_flags: frozenset[str]) -> DescribedPackage:
    """Add what is not the package's own to its description: the batch by name, and this machine (its CPU's flags)."""
    weights = _weights_place(description)
    faults = description.all_faults
    if description.inputs is not None:
        stated = frozenset(read_size_names(description.model.wrapper).values())
        description = replace(description, inputs=name_the_batch(description.inputs, stated))
    return DescribedPackage(description, weights, faults, tuple(host_faults(description.built_for, cpu_flags)))


def _weights_place(description: Description) -> WeightsPlace:
    if description.counts is None:
        return "unknown"
    if description.counts.constants == 0:
        return "none"
    if description.model.weights_size is not None:
        return "beside"
    return "missing" if description.is_without_weights else "library"


def name_the_batch(inputs: Sequence[Leaf], stated: frozenset[str]) -> tuple[Leaf, ...]:
    """Call the open size that is dimension 0 of every input `batch`.

    The package names the sizes that its code reads (`stated`). An input that it only hands through has a size of
    its own name there, which counts as the batch too where its bounds are the same.
    """
    firsts = [leaf.shape[0] for leaf in inputs if leaf.shape]
    names = {_plain_name(dimension.size) for dimension in firsts}
    own_names = names & stated or names
    # 0 and 1 are two readings of the exporter's 2 (description.py), and may differ from input to input.
    bounds = {(max(dimension.lower, 1), dimension.upper) for dimension in firsts}
    if len(firsts) < len(inputs) or None in names or len(own_names) != 1 or len(bounds) != 1:
        return tuple(inputs)
    renamed = {name: _BATCH for name in names if name is not None}
    return tuple(replace(leaf, shape=_renamed(leaf.shape or (), renamed)) for leaf in inputs)


def _plain_name(size: Size) -> str | None:
    """Return the name of a size that is nothing but a name."""
    symbol = next(iter(size.symbols), "")
    return symbol if size == dynamic_size(symbol) else None


def _renamed(shape: tuple[Dimension, ...], names: dict[str, str]) -> tuple[Dimension, ...]:
    return tuple(replace(dimension, size=dimension.size.renamed(names)) for dimension in shape)


def open_sizes(inputs: Iterable[Leaf]) -> list[Dimension]:
    """Return each open size of the inputs once, in order, with the narrowest of the bounds that are stated of it."""
    found: dict[Size, Dimension] = {}
    for leaf in inputs:
        for dimension in leaf.shape or ():
            if dimension.size.constant is None:
                found[dimension.size] = _narrowed(found.get(dimension.size, dimension), dimension)
    return list(found.values())


def _narrowed(one: Dimension, other: Dimension) -> Dimension:
    uppers = [dimension.upper for dimension in (one, other) if dimension.upper is not None]
    return Dimension(one.size, max(one.lower, other.lower), min(uppers, default=None))


def data_type_of(leaf: Leaf) -> DataType | None:
    """Return Triton's name of a leaf's data type; None where it is unknown, or Triton has none (complex numbers)."""
    return next((data_type for data_type in DataType if leaf.dtype and data_type.torch_name == leaf.dtype), None)
