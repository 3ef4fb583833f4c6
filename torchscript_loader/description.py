"""A TorchScript archive, loaded and described: the method that is served, the device, and what `inspect` prints."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import torch

from triton_pytorch.artifact_store.model_file import ModelFile
from triton_pytorch.contract.sections import Section
from triton_pytorch.contract.signature import Signature
from triton_pytorch.model_config.parameters import Parameters
from triton_pytorch.torch_runtime.placement import CPU
from triton_pytorch.torch_runtime.session import device_scope
from triton_pytorch.torchscript_loader.archive import all_methods, find_method, load_archive
from triton_pytorch.torchscript_loader.devices import baked_device_warnings, own_device
from triton_pytorch.torchscript_loader.methods import ScriptMethod, read_method
from triton_pytorch.torchscript_loader.sections import sections
from triton_pytorch.torchscript_loader.state import state_warnings


class ScriptDescription:
    """A loaded archive, and the one of its methods that is served."""

    def __init__(self, file: ModelFile, module: Any, method_name: str, device: torch.device | None) -> None:
        self._file = file
        self._module = module
        self._method_name = method_name
        self._device = device

    @cached_property
    def method(self) -> ScriptMethod:
        """The method that is served.

        Raises:
            ConfigError: the module has no method of that name.
            UnsupportedError: a call of the method would leave out hooks of the module.
        """
        return read_method(find_method(self._module, self._method_name))

    @cached_property
    def signature(self) -> Signature:
        """What the method takes and returns; raises what `method` does."""
        return self.method.signature

    @cached_property
    def device(self) -> torch.device:
        """Where the method takes its inputs."""
        if self._device is not None:
            return self._device
        return own_device(self._module, self.method.constants_device)

    @property
    def warnings(self) -> tuple[str, ...]:
        """A sentence on state that the method keeps, and one on devices in its code that it does not run on."""
        state = state_warnings(self.method.kept_state)
        # A module that stays where it was saved may use several devices, and name them.
        if _stays_where_it_was_saved(self._device):
            return tuple(state)
        return (*state, *baked_device_warnings(self.method.baked_devices, self.device))

    def sections(self) -> Sequence[Section]:
        """Return what `inspect` prints: the weights, and every method with what a config can declare of it."""
        methods = [read_method(method) for method in all_methods(self._module)]
        return sections(self._file, self._module, methods)


def describe(file: ModelFile, parameters: Parameters, device: torch.device | str | None) -> ScriptDescription:
    """Load an archive, and describe it.

    Args:
        file: the open `.pt` file.
        parameters: MODULE_METHOD_NAME says which method is served.
        device: where the instance runs; None leaves the weights where they were saved from (KIND_MODEL).

    Raises:
        ArtifactError: the archive is damaged, or torch cannot load it.
        PlacementError: the weights do not fit into the memory of the device.
    """
    device = None if device is None else torch.device(device)
    location = None if _stays_where_it_was_saved(device) else device or CPU
    with device_scope(device):
        module = load_archive(file, location)
    return ScriptDescription(file, module, parameters.module_method_name, device)


def _stays_where_it_was_saved(device: torch.device | None) -> bool:
    return device is None and torch.cuda.is_available()
