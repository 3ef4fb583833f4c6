"""The table of formats: every kind of file that is served, or recognised, so that its user learns what to do with it.

A new format is a package and its record here: nothing else depends on the format.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from triton_pytorch.artifact_store.model_file import ModelFile
from triton_pytorch.contract.description import Description
from triton_pytorch.contract.plan import PlannedLeaves
from triton_pytorch.model_config.errors import ArtifactError, BackendError, UnsupportedError
from triton_pytorch.model_config.parameters import Parameters

if TYPE_CHECKING:  # a package is described without torch
    import torch

    from triton_pytorch.method_calls.model import MethodModel
    from triton_pytorch.pt2_loader.package import Package
    from triton_pytorch.torch_runtime.session import RunMode

    Describe = Callable[[ModelFile, Parameters, torch.device | str | None], Description]
    Open = Callable[[Any, PlannedLeaves, RunMode], Package | MethodModel]

_HOW_TO_MAKE_A_PACKAGE = "torch.export.export and torch._inductor.aoti_compile_and_package"
_LOAD_INTO_MODULE = f"load it into its module, and make a package of that with {_HOW_TO_MAKE_A_PACKAGE}"
_WHAT_IS_SERVED = (
    f"an AOTInductor package, made by {_HOW_TO_MAKE_A_PACKAGE}, or a TorchScript archive, made by torch.jit.script or "
    "torch.jit.trace, and .save"
)
_LARGEST_SAFETENSORS_HEADER = 100_000_000  # bytes; the format's own limit


@dataclass(frozen=True, slots=True)
class Content:
    """What the format of a file is told from: its first bytes, and of an archive the entries below its top folder."""

    suffix: str
    head: bytes
    entries: frozenset[str] | None

    def has(self, prefix: str) -> bool:
        """Return whether it is an archive with an entry whose name begins so."""
        return any(entry.startswith(prefix) for entry in self.entries or ())

    @property
    def is_onnx(self) -> bool:
        """Whether it begins as a serialised ModelProto of onnx.proto, which has no magic number.

        That is `ir_version` (field 1), then `producer_name` (field 2), which may be missing: then the suffix says so.
        """
        version_and_name = re.match(rb"\x08[\x01-\x20]\x12(.)([ -~]+)", self.head, re.DOTALL)
        if self.entries is not None:
            return False
        if version_and_name is None:
            return self.suffix == ".onnx" and re.match(rb"\x08[\x01-\x20]", self.head) is not None
        return 0 < version_and_name[1][0] <= len(version_and_name[2])

    @property
    def is_safetensors(self) -> bool:
        """Whether it begins with the size of a JSON header (8 bytes, little-endian), and that header."""
        size = int.from_bytes(self.head[:8], "little")
        is_listing = re.match(rb'\{\s*"', self.head[8:]) and re.search(rb'"(dtype|__metadata__)"', self.head)
        return self.entries is None and size <= _LARGEST_SAFETENSORS_HEADER and is_listing is not None

    def begins(self, head: bytes) -> bool:
        """Return whether it is a plain file that begins with these bytes."""
        return self.entries is None and self.head.startswith(head)


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A kind of file: `key` is its name in JSON, and `noun` completes the sentence "this file is ...".

    `matches` tells it from the formats that follow in the table. Where it is not served, `remedy` says how to make of
    it what is, and `error` is raised. `is_damaged`: it is what a copy has left of some file, so that there is nothing
    to describe. `is_weights_of_source`: it holds the weights of the module in the Python source beside it.
    """

    key: str
    noun: str
    matches: Callable[[Content], bool]
    remedy: str = f"expected {_WHAT_IS_SERVED}"
    error: type[BackendError] = ArtifactError
    is_damaged: bool = False
    is_weights_of_source: bool = False

    @property
    def summary(self) -> str:
        """What completes the sentence "this file is ..." as a whole."""
        return f"{self.noun}: {self.remedy}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedFormat(Format):
    """A format that is served: on its platforms, the usual one first, with parameters beyond those for all formats.

    `file_name` is that of the model where a config names its platform and no file. `describe` takes the device of the
    instance, None where the model decides (KIND_MODEL), and `open` what `describe` has returned.
    """

    platforms: tuple[str, ...]
    file_name: str
    parameters: frozenset[str]
    describe: "Describe"
    open: "Open"

    @property
    def summary(self) -> str:
        """What completes the sentence "this file is ..." as a whole."""
        return self.noun


def _describe_package(file: ModelFile, parameters: Parameters, device: "torch.device | str | None") -> Description:
    from triton_pytorch.pt2_loader.description import describe

    return describe(file, parameters, device)


def _open_package(description: Any, leaves: PlannedLeaves, mode: "RunMode") -> "Package":
    from triton_pytorch.pt2_loader.package import open_package

    return open_package(description, leaves, mode)


def _describe_script(file: ModelFile, parameters: Parameters, device: "torch.device | str | None") -> Description:
    from triton_pytorch.torchscript_loader.description import describe

    return describe(file, parameters, device)


def _open_script(description: Any, leaves: PlannedLeaves, mode: "RunMode") -> "MethodModel":
    from triton_pytorch.torchscript_loader.script import open_script

    return open_script(description, leaves, mode)


# The first that matches is the format of a file.
FORMATS: tuple[Format, ...] = (
    ServedFormat(
        key="package",
        noun="an AOTInductor package",
        matches=lambda content: content.has("data/aotinductor/"),
        platforms=("torch_aoti",),
        file_name="model.pt2",
        parameters=frozenset({"ALLOW_EMPTY_INPUTS", "AOTI_MODEL_NAME", "ENFORCE_UPPER_BOUNDS"}),
        describe=_describe_package,
        open=_open_package,
    ),
    Format(
        key="exported_program",
        noun="an exported program (torch.export.save)",
        matches=lambda content: content.has("models/") and content.has("archive_format"),
        remedy="compile it into an AOTInductor package with torch._inductor.aoti_compile_and_package",
        error=UnsupportedError,
    ),
    ServedFormat(
        key="torchscript",
        noun="a TorchScript archive",
        matches=lambda content: content.has("constants.pkl"),
        platforms=("pytorch_libtorch", "libtorch"),
        file_name="model.pt",
        parameters=frozenset(
            {
                "DISABLE_OPTIMIZED_EXECUTION",
                "ENABLE_JIT_EXECUTOR",
                "ENABLE_JIT_PROFILING",
                "ENABLE_TENSOR_FUSER",
                "MODULE_METHOD_NAME",
                "NUM_INTEROP_THREADS",
                "NUM_THREADS",
            }
        ),
        describe=_describe_script,
        open=_open_script,
    ),
    Format(
        key="checkpoint",
        noun="a checkpoint or pickled module (torch.save), which holds no program",
        matches=lambda content: content.has("data.pkl") or content.begins(b"\x80\x02"),  # pickle protocol 2
        remedy=_LOAD_INTO_MODULE,
        is_weights_of_source=True,
    ),
    Format(
        key="other_archive", noun="a zip archive without a model", matches=lambda content: content.entries is not None
    ),
    Format(
        key="empty", noun="empty", matches=lambda content: not content.head, remedy="copy it again", is_damaged=True
    ),
    Format(
        key="lfs_pointer",
        noun="a Git LFS pointer",
        matches=lambda content: content.begins(b"version https://git-lfs"),
        remedy="run `git lfs pull`",
        is_damaged=True,
    ),
    Format(
        key="truncated_archive",
        noun="the beginning of a zip archive whose end is missing",
        matches=lambda content: content.begins(b"PK\x03\x04"),
        remedy="copy it again",
        is_damaged=True,
    ),
    Format(
        key="onnx",
        noun="an ONNX model",
        matches=lambda content: content.is_onnx,
        remedy=(
            'not served by this backend, but by Triton\'s ONNX Runtime backend (backend: "onnxruntime"); or make a '
            f"package of the module that it was exported from, with {_HOW_TO_MAKE_A_PACKAGE}"
        ),
    ),
    Format(
        key="safetensors",
        noun="a safetensors file, which holds weights and no program",
        matches=lambda content: content.is_safetensors,
        remedy=_LOAD_INTO_MODULE,
    ),
    Format(
        key="gguf",
        noun="a GGUF file, which holds weights and no program",
        matches=lambda content: content.begins(b"GGUF"),
    ),
    Format(
        key="hdf5",
        noun="an HDF5 file, such as Keras writes",
        matches=lambda content: content.begins(b"\x89HDF\r\n"),
    ),
    Format(
        key="python_source",
        noun="Python source",
        matches=lambda content: content.suffix == ".py",
        remedy=f"not served by this version, so make a package of its module with {_HOW_TO_MAKE_A_PACKAGE}",
        error=UnsupportedError,
    ),
    Format(key="text", noun="a text file", matches=lambda content: b"\0" not in content.head),
    Format(key="other", noun="a binary file of an unknown kind", matches=lambda content: True),  # noqa: ARG005
)
