"""An opened TorchScript model: flat leaves in, the declared outputs out."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from triton_pytorch.io_naming.argument_names import Argument, InputPlace, PlacedInputs, can_be_left_out, place_inputs
from triton_pytorch.contract.declared_inputs import DeclaredInput, declared_inputs
from triton_pytorch.contract.value_checks import input_type_faults, output_type_faults
from triton_pytorch.contract.leaves import Leaf
from triton_pytorch.io_naming.names import LeafPath
from triton_pytorch.io_naming.result_names import OutputPlace, PlacedOutputs, output_labels, place_outputs
from triton_pytorch.model_config.configuration import ModelConfig
from triton_pytorch.model_config.errors import ConfigError, ModelRunError, NamingError
from triton_pytorch.model_config.suggestions import joined, listed
from triton_pytorch.torch_runtime.placement import CPU
from triton_pytorch.torchscript_loader.archive import find_method, load_archive
from triton_pytorch.torchscript_loader.calls import Call
from triton_pytorch.torchscript_loader.devices import baked_device_warnings, own_device
from triton_pytorch.torchscript_loader.failures import reason
from triton_pytorch.torchscript_loader.results import Output, ResultReader
from triton_pytorch.torchscript_loader.signatures import Signature, read_signature


class ScriptModel:
    """One method of a TorchScript module, with a leaf for each tensor of the config; runs one call at a time.

    `inputs` stand in the order of the method's arguments, `outputs` in that of the config; each bears its name from
    the config. `warnings` say what the config leaves to chance.
    """

    def __init__(
        self,
        call: Call,
        reader: ResultReader,
        *,
        inputs: Sequence[Leaf],
        outputs: Sequence[Leaf],
        device: torch.device,
        warnings: Sequence[str],
    ) -> None:
        self.inputs = inputs
        self.outputs = outputs
        self.device = device
        self.warnings = warnings
        self._call = call
        self._read = reader.read

    def run(self, leaves: list[Any]) -> list[Output]:
        """Call the method with a tensor or a list of strings for each of `inputs`, or None where one was not sent.

        Returns a tensor, a list of strings or None for each of `outputs`, or a ModelRunError where the answer has no
        such part; the others are right.

        Raises:
            ModelRunError: the model failed; the text is torch's, without tracebacks.
        """
        try:
            result = self._call(leaves)
        except (RuntimeError, torch.jit.Error) as error:
            raise ModelRunError(reason(error)) from error
        except UnicodeDecodeError as error:  # TorchScript cuts strings between bytes
            raise ModelRunError("the model returned a string that is not UTF-8") from error
        return self._read(result)

    def close(self) -> None:
        """Let go of the module and its weights."""
        del self._call


def open_script(
    archive: Path, config: ModelConfig, device: torch.device | None, method: str = "forward"
) -> ScriptModel:
    """Open a TorchScript archive as a config asks for it.

    Args:
        archive: the `.pt` file.
        config: what declares the inputs and outputs.
        device: where the instance runs; None leaves the weights where they were saved from (KIND_MODEL).
        method: which method of the module to call.

    Raises:
        ArtifactError: the archive is damaged, or torch cannot load it.
        ConfigError: the module has no such method, or data types contradict it; all such faults in one text.
        NamingError: declared names and the method do not fit together; all such faults in one text.
        PlacementError: there is no room for the model on its device.
    """
    is_free = device is None and torch.cuda.is_available()
    module = load_archive(archive, None if is_free else device or CPU)
    called = find_method(module, method)
    signature = read_signature(called)
    declared = declared_inputs(config)
    inputs, outputs = _place(declared, config, signature)
    _check_types(declared, inputs, outputs, config, signature)
    own = own_device(module, signature.constants_device) if device is None else device
    order = sorted(range(len(declared)), key=lambda index: inputs.places[index].argument)
    places = [inputs.places[index] for index in order]
    # A module that nobody moves may spread over several devices, and names them.
    baked = () if is_free else baked_device_warnings(signature.baked_devices, own)
    return ScriptModel(
        Call(called, signature.arguments, places),
        ResultReader(config.outputs, outputs.places, signature.result),
        inputs=[_input_leaf(declared[index].name, inputs.places[index], signature.arguments) for index in order],
        outputs=[
            _output_leaf(tensor.name, place) for tensor, place in zip(config.outputs, outputs.places, strict=True)
        ],
        device=own,
        warnings=(*inputs.warnings, *outputs.warnings, *baked),
    )


def _place(
    declared: Sequence[DeclaredInput], config: ModelConfig, signature: Signature
) -> tuple[PlacedInputs, PlacedOutputs]:
    faults = []
    try:
        inputs = place_inputs([tensor.name for tensor in declared], signature.arguments)
    except NamingError as error:
        faults.append(str(error))
    try:
        outputs = place_outputs([tensor.name for tensor in config.outputs], signature.result)
    except NamingError as error:
        faults.append(str(error))
    if faults:
        raise NamingError(" ".join(faults))
    return inputs, outputs


def _check_types(
    declared: Sequence[DeclaredInput],
    inputs: PlacedInputs,
    outputs: PlacedOutputs,
    config: ModelConfig,
    signature: Signature,
) -> None:
    faults = [
        fault
        for tensor, place in zip(declared, inputs.places, strict=True)
        for fault in input_type_faults(tensor, signature.arguments[place.argument])
    ]
    faults += [
        fault
        for output, result in zip(config.outputs, outputs.types, strict=True)
        for fault in output_type_faults(output, result, is_batched=config.max_batch_size > 0)
    ]
    if not config.outputs:
        names = listed(output_labels(signature.result))
        faults.append(f"the config declares no output, so that nothing would be answered: the model has {names}")
    if faults:
        raise ConfigError(joined(faults))


def _input_leaf(name: str, place: InputPlace, arguments: Sequence[Argument]) -> Leaf:
    keys = () if place.key is None else (place.key,)
    path = LeafPath("KWARGS", (arguments[place.argument].name, *keys))
    return Leaf(path, has_default=can_be_left_out(place, arguments), names=(name,))


def _output_leaf(name: str, place: OutputPlace) -> Leaf:
    return Leaf(place if isinstance(place, LeafPath) else LeafPath("RESULT"), names=(name,))
