"""What is known of a packaged model before it is opened: its leaves, what it was built for, where its weights lie.

The wrapper source in the package says it, without torch. Where that source was stripped, the library has to be opened
to ask it for the call spec.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from triton_pytorch.artifact_store.archive import Archive
from triton_pytorch.artifact_store.model_file import ModelFile
from triton_pytorch.contract.leaves import Leaf
from triton_pytorch.contract.sections import Section
from triton_pytorch.contract.signature import Signature
from triton_pytorch.io_naming.call_spec import CallSpec, leaf_count_errors, read_call_spec
from triton_pytorch.io_naming.leaf_names import LeafNames
from triton_pytorch.model_config.errors import ArtifactError
from triton_pytorch.model_config.parameters import Parameters
from triton_pytorch.model_config.suggestions import joined, listed
from triton_pytorch.pt2_loader.archive import PackagedModel, read_model
from triton_pytorch.pt2_loader.host import BuiltFor, host_errors, read_built_for, read_cpu_flags
from triton_pytorch.pt2_loader.leaves import read_input_leaves
from triton_pytorch.pt2_loader.sections import package_sections
from triton_pytorch.pt2_loader.wrapper import RunnerCounts, read_counts, read_specs, read_unchecked_operators

if TYPE_CHECKING:
    import torch

    from triton_pytorch.pt2_loader.library import Library

_WITHOUT_WEIGHTS = (
    'it was built without its weights: build it with "aot_inductor.package_constants_in_so": True, or with '
    '"aot_inductor.package_constants_on_disk_format": "pickle_weights"'
)


@dataclass(eq=False)
class PackageDescription:
    """A packaged model and the device that it is to run on, None where the package decides.

    `specs` is the call spec as torch wrote it; it and the leaves are None where the source does not say them. `errors`
    are reasons why the package cannot be served at all, `host_errors` why it cannot run on this machine.
    """

    archive: Archive
    device: "torch.device | str | None"
    model: PackagedModel
    built_for: BuiltFor
    counts: RunnerCounts | None
    specs: tuple[str, str] | None
    inputs: tuple[Leaf, ...] | None
    outputs: tuple[Leaf, ...] | None
    errors: tuple[str, ...]
    host_errors: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def unchecked_operators(self) -> tuple[str, ...]:
        """The operators that the model calls without looking at their errors, as far as the source says."""
        return read_unchecked_operators(self.model.wrapper)

    @property
    def signature(self) -> Signature:
        """What the model takes and returns; names alone where the library has to be opened to tell.

        Raises:
            ArtifactError: torch would load the package, and then kill the process or answer wrongly.
            BackendError: the library has to be opened, and cannot be (`library`).
        """
        self._check([*self.errors, *self.host_errors])
        inputs, outputs = self.inputs, self.outputs
        if inputs is None or outputs is None:
            call_spec = read_call_spec(*self.library.specs)
            self._check([*call_spec.errors, *_count_errors(call_spec, self.counts)])
            inputs, outputs = _names_only(call_spec.inputs), _names_only(call_spec.outputs)
        return Signature(inputs, outputs, unchecked_operators=self.unchecked_operators)

    def sections(self) -> Sequence[Section]:
        """Return what `inspect` prints."""
        return package_sections(self)

    @cached_property
    def library(self) -> "Library":
        """The compiled library, unpacked and opened.

        Raises:
            ArtifactError: torch cannot load the library, it needs operators that are not there, or its weights are
                damaged.
            PlacementError: the model was compiled for another device.
            StoreError: the archive cannot be unpacked.
        """
        from triton_pytorch.pt2_loader.library import open_library  # imports torch, which all the rest does without

        return open_library(self.archive, self.model, self.built_for, self.device)

    def _check(self, errors: Sequence[str]) -> None:
        if errors:
            raise ArtifactError(f"'{self.archive.path}' cannot be served: {joined(errors)}")


def describe(file: ModelFile, parameters: Parameters, device: "torch.device | str | None") -> PackageDescription:
    """Describe one model of a package from the texts in it.

    Args:
        file: the `.pt2` file.
        parameters: AOTI_MODEL_NAME says which model of a package that holds several.
        device: where the instance runs; None leaves it to the package (KIND_MODEL).

    Raises:
        ArtifactError: the archive or the call spec in it is damaged.
        ConfigError: the archive holds no model of that name, or several and none was chosen.
    """
    if file.archive is None:
        raise ArtifactError(f"'{file.path}' is not a zip archive: expected an AOTInductor package")
    model = read_model(file.archive, parameters.aoti_model_name)
    counts, specs = read_counts(model.wrapper), read_specs(model.wrapper)
    built_for = read_built_for(model.metadata)
    inputs, outputs = None, None
    warnings = ["the package holds no source that describes its inputs: the config is trusted"]
    errors = [_WITHOUT_WEIGHTS] if _is_without_weights(counts, model) else []
    if specs is not None:
        call_spec = read_call_spec(*specs)
        read = read_input_leaves(model.wrapper, call_spec.inputs, counts)
        inputs, outputs = read.leaves, _names_only(call_spec.outputs)
        errors = [*call_spec.errors, *_count_errors(call_spec, counts), *read.errors, *errors]
        warnings = []
        if read.unknown and not errors:
            warnings = [f"the package does not say {listed(read.unknown)}: the config is trusted there"]
    return PackageDescription(
        archive=file.archive,
        device=device,
        model=model,
        built_for=built_for,
        counts=counts,
        specs=specs,
        inputs=inputs,
        outputs=outputs,
        errors=tuple(errors),
        host_errors=tuple(host_errors(built_for, read_cpu_flags())),
        warnings=tuple(warnings),
    )


def _count_errors(call_spec: CallSpec, counts: RunnerCounts | None) -> Iterator[str]:
    return leaf_count_errors(call_spec, counts.inputs if counts is not None else len(call_spec.inputs))


def _is_without_weights(counts: RunnerCounts | None, model: PackagedModel) -> bool:
    """Return whether weights are neither in the library nor beside it: the first call would kill the process."""
    is_beside = counts is not None and not counts.are_weights_in_library and counts.constants > 0
    return is_beside and model.weights_size is None


def _names_only(names: Sequence[LeafNames]) -> tuple[Leaf, ...]:
    return tuple(Leaf(leaf) for leaf in names)
