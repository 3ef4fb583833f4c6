"""An opened AOTInductor package: flat leaves in, flat leaves out."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import torch

from triton_pytorch.artifact_store.store import Store
from triton_pytorch.io_naming.call_spec import check_leaf_count, read_call_spec
from triton_pytorch.contract.leaves import Leaf
from triton_pytorch.io_naming.names import LeafPath
from triton_pytorch.model_config.errors import ArtifactError, ModelRunError, PlacementError, first_line
from triton_pytorch.model_config.file_names import file_system_name
from triton_pytorch.model_config.suggestions import joined, listed
from triton_pytorch.pt2_loader.archive import read_model
from triton_pytorch.pt2_loader.description import Description, describe
from triton_pytorch.pt2_loader.host import host_faults, read_cpu_flags
from triton_pytorch.pt2_loader.runner import PackageRunner, open_runner
from triton_pytorch.pt2_loader.weights import map_weights

_KINDS = {"cpu": "KIND_CPU", "cuda": "KIND_GPU"}
_FOLDED = "_FOLDED_CONST_"  # worked out by the model itself at its first call


class Package:
    """A compiled model whose leaves stand in call-spec order; runs one call at a time.

    `warnings` say what is not known of the model, so that nobody can check it.
    """

    def __init__(
        self, runner: PackageRunner, description: Description, device: torch.device, resources: ExitStack
    ) -> None:
        self.inputs: Sequence[Leaf] = description.inputs or ()
        self.outputs: Sequence[Leaf] = description.outputs or ()
        self.warnings = description.warnings
        self.device = device
        self._run = runner.run
        self._resources = resources

    def run(self, leaves: list[torch.Tensor]) -> Sequence[torch.Tensor | None]:
        """Call the model with one tensor for each of `inputs`; returns one, or None, for each of `outputs`.

        The tensors must be contiguous, aligned and on `device`: the runner checks nothing (FACTS.md).

        Raises:
            ModelRunError: the model failed; the text is the first line of torch's.
        """
        try:
            return self._run(leaves)
        except RuntimeError as error:
            raise ModelRunError(first_line(error)) from error

    def close(self) -> None:
        """Let go of the unpacked files; the process keeps the library mapped until it ends (FACTS.md)."""
        self._resources.close()


def open_package(archive: Path, model_name: str | None, device: torch.device | None, store: Store) -> Package:
    """Open one model of an AOTInductor package.

    Args:
        archive: the `.pt2` file.
        model_name: which model of the package; None takes the only one, or the one named "model".
        device: where the instance runs; None leaves it to the package (KIND_MODEL).
        store: where the archive is unpacked.

    Raises:
        ArtifactError: the archive is damaged, or torch cannot load its library.
        ConfigError: the archive holds no model of that name.
        PlacementError: the model was compiled for another device.
        StoreError: the archive cannot be unpacked.
        UnsupportedError: the model takes or returns something else than tensors.
    """
    model = read_model(archive, model_name)
    description = describe(model)
    _check_fitness(description, archive)
    device = _device(device, description.built_for.device, archive)
    with ExitStack() as resources:
        entry = store.unpack(archive)
        resources.callback(entry.release)
        if entry.address != model.address:
            raise ArtifactError(f"'{archive}' was replaced while it was loaded: load the model again")
        runner = _open_runner(entry.path, model.name, device, archive)
        description = _confirmed(description, runner, archive)
        if model.are_weights_listed:
            weights = map_weights(entry.path / file_system_name(str(model.directory)), device)
            _use_weights(runner, weights, archive)
            resources.callback(weights.clear)  # the runner uses them where they lie: they live as long as it does
        return Package(runner, description, device, resources.pop_all())


def _check_fitness(description: Description, archive: Path) -> None:
    """Refuse what torch would load and then kill the process with, or answer wrongly."""
    faults = [*description.all_faults, *host_faults(description.built_for, read_cpu_flags())]
    if faults:
        raise ArtifactError(f"'{archive}' cannot be served: {joined(faults)}")


def _device(wanted: torch.device | None, built_for: str | None, archive: Path) -> torch.device:
    if built_for not in (None, *_KINDS):
        raise PlacementError(f"'{archive}' was compiled for {built_for}: expected one of {listed(list(_KINDS))}")
    if wanted is None:
        wanted = torch.device("cuda", 0) if built_for == "cuda" else torch.device("cpu")
    if built_for is not None and built_for != wanted.type:
        raise PlacementError(
            f"'{archive}' was compiled for {built_for}, but its instance group is {_KINDS[wanted.type]}: "
            f"use {_KINDS[built_for]}, or export and compile the model on {wanted.type}"
        )
    if wanted.type == "cuda" and not torch.cuda.is_available():
        raise PlacementError(f"'{archive}' was compiled for cuda, but torch {torch.__version__} finds no GPU here")
    return wanted


def _open_runner(unpacked: Path, model_name: str, device: torch.device, archive: Path) -> PackageRunner:
    try:
        return open_runner(unpacked, model_name, -1 if device.index is None else device.index)
    except RuntimeError as error:
        raise ArtifactError(
            f"'{archive}' cannot be loaded by torch {torch.__version__} ({first_line(error)}): "
            "build it again with this torch, on a machine like this one"
        ) from error


def _confirmed(description: Description, runner: PackageRunner, archive: Path) -> Description:
    """Return the description if it is of the loaded library; else what the library alone says: names only."""
    specs = runner.get_call_spec()
    if len(specs) != 2 or not all(specs):
        raise ArtifactError(
            f"'{archive}' does not say what its inputs and outputs are: build it from torch.export.export with "
            "torch._inductor.aoti_compile_and_package"
        )
    call_spec = read_call_spec(*specs)
    if description.counts is not None:
        check_leaf_count(call_spec, description.counts.inputs)
    if description.specs == tuple(specs):
        return description
    warning = "the package holds no source that describes its inputs: the config is trusted"
    return replace(
        description, inputs=_leaves(call_spec.inputs), outputs=_leaves(call_spec.outputs), warnings=(warning,)
    )


def _leaves(paths: Sequence[LeafPath]) -> tuple[Leaf, ...]:
    return tuple(Leaf(path) for path in paths)


def _use_weights(runner: PackageRunner, weights: dict[str, torch.Tensor], archive: Path) -> None:
    # The runner does not report missing buffers, and kills the process when it needs one.
    wanted = {name for name in runner.get_constant_fqns() if name and not name.startswith(_FOLDED)}
    missing = sorted(wanted - weights.keys())
    if missing:
        raise ArtifactError(f"'{archive}' lacks the weights {listed(missing)}: build it again")
    try:
        runner.load_constants(weights, False, True, True)
    except RuntimeError as error:
        raise ArtifactError(
            f"the weights in '{archive}' do not fit its library ({first_line(error)}): build it again"
        ) from error
