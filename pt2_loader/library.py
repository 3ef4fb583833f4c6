"""The compiled library of a packaged model: unpacked into the store, opened by torch, and given its weights."""

import os
import weakref
from collections.abc import Sequence
from contextlib import ExitStack

import torch

from triton_pytorch.artifact_store.archive import Archive
from triton_pytorch.artifact_store.location import locate_store
from triton_pytorch.artifact_store.store import Store
from triton_pytorch.model_config.errors import ArtifactError, PlacementError, first_line
from triton_pytorch.model_config.file_names import file_system_name
from triton_pytorch.model_config.suggestions import listed
from triton_pytorch.pt2_loader.archive import PackagedModel
from triton_pytorch.pt2_loader.host import BuiltFor
from triton_pytorch.pt2_loader.operators import custom_operators, namespace_of
from triton_pytorch.pt2_loader.runner import PackageRunner, open_runner
from triton_pytorch.pt2_loader.weights import map_weights
from triton_pytorch.torch_runtime.session import device_scope

_KINDS = {"cpu": "KIND_CPU", "cuda": "KIND_GPU"}
_FOLDED = "_FOLDED_CONST_"  # worked out by the model itself at its first call


class Library:
    """An opened library on its device; `specs` is its call spec as torch wrote it.

    `close` gives the unpacked files back, as does the end of the object. The process keeps them mapped until it ends.
    """

    def __init__(
        self, runner: PackageRunner, device: torch.device, specs: tuple[str, str], resources: ExitStack
    ) -> None:
        self.runner = runner
        self.device = device
        self.specs = specs
        self.close = weakref.finalize(self, resources.close)


def open_library(
    archive: Archive, model: PackagedModel, built_for: BuiltFor, device: torch.device | str | None
) -> Library:
    """Open the library of one model; a `device` of None leaves it to the package.

    Raises:
        ArtifactError: torch cannot load the library, it needs operators that are not there, or its weights are damaged.
        PlacementError: the model was compiled for another device.
        StoreError: the archive cannot be unpacked.
    """
    device = _device(archive, built_for.device, device)
    _check_operators(archive, model.operators)
    store = Store(locate_store(os.environ))
    store.sweep()
    with device_scope(device), ExitStack() as resources:
        entry = store.unpack(archive)
        resources.callback(entry.release)
        try:
            runner = open_runner(entry.path, model.name, -1 if device.index is None else device.index)
        except RuntimeError as error:
            raise ArtifactError(
                f"'{archive.path}' cannot be loaded by torch {torch.__version__} ({first_line(error)}): "
                "build it again with this torch, on a machine like this one"
            ) from error
        specs = _specs(archive, runner)
        if model.are_weights_listed:
            weights = map_weights(entry.path / file_system_name(str(model.directory)), device)
            _use_weights(archive, runner, weights)
            resources.callback(weights.clear)  # the runner uses them where they lie: they live as long as it does
        return Library(runner, device, specs, resources.pop_all())


def _device(archive: Archive, built_for: str | None, wanted: torch.device | str | None) -> torch.device:
    if built_for not in (None, *_KINDS):
        raise PlacementError(f"'{archive.path}' was compiled for {built_for}: expected one of {listed(list(_KINDS))}")
    if wanted is None:
        wanted = "cuda:0" if built_for == "cuda" else "cpu"
    wanted = torch.device(wanted)
    if built_for is not None and built_for != wanted.type:
        raise PlacementError(
            f"'{archive.path}' was compiled for {built_for}, but its instance group is {_KINDS[wanted.type]}: "
            f"use {_KINDS[built_for]}, or export and compile the model on {wanted.type}"
        )
    if wanted.type == "cuda" and not torch.cuda.is_available():
        raise PlacementError(f"'{archive.path}' was compiled for cuda, but torch {torch.__version__} finds no GPU here")
    return wanted


def _check_operators(archive: Archive, operators: Sequence[str]) -> None:
    missing = [operator for operator in operators if not _is_registered(operator)]
    custom = custom_operators(missing)
    if custom:
        namespaces = dict.fromkeys(f"'{namespace_of(operator)}'" for operator in custom)
        raise ArtifactError(
            f"'{archive.path}' calls {listed(custom)}, not registered in this process: the Python package or shared "
            f"library that defines the operators of {listed(list(namespaces))} brings them, but this version of the "
            "backend loads none: import it in a model.py of your own (docs/packages.md), or build without them"
        )
    if missing:
        raise ArtifactError(
            f"'{archive.path}' calls {listed(missing)}, which torch {torch.__version__} lacks: build it again with "
            "this torch"
        )


def _is_registered(operator: str) -> bool:
    name, _, overload = operator.removeprefix(f"{namespace_of(operator)}::").partition(".")
    overloads = getattr(getattr(torch.ops, namespace_of(operator)), name, None)
    return overloads is not None and (overload or "default") in overloads.overloads()


def _specs(archive: Archive, runner: PackageRunner) -> tuple[str, str]:
    match runner.get_call_spec():
        case [str(in_spec), str(out_spec)] if in_spec and out_spec:
            return in_spec, out_spec
    raise ArtifactError(
        f"'{archive.path}' does not say what its inputs and outputs are: build it from torch.export.export with "
        "torch._inductor.aoti_compile_and_package"
    )


def _use_weights(archive: Archive, runner: PackageRunner, weights: dict[str, torch.Tensor]) -> None:
    # The runner does not report missing buffers, and kills the process when it needs one.
    wanted = {name for name in runner.get_constant_fqns() if name and not name.startswith(_FOLDED)}
    missing = sorted(wanted - weights.keys())
    if missing:
        raise ArtifactError(f"'{archive.path}' lacks the weights {listed(missing)}: build it again")
    try:
        runner.load_constants(weights, False, True, True)
    except RuntimeError as error:
        raise ArtifactError(
            f"the weights in '{archive.path}' do not fit its library ({first_line(error)}): build it again"
        ) from error
