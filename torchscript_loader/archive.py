"""The loading of a TorchScript archive, and the one sentence on why that is not possible."""

import re
import warnings
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from triton_pytorch.artifact_store.archive import Archive
from triton_pytorch.artifact_store.model_file import ModelFile
from triton_pytorch.model_config.errors import ArtifactError, ConfigError, PlacementError, UnsupportedError
from triton_pytorch.model_config.suggestions import did_you_mean, listed
from triton_pytorch.torch_runtime.failures import reason

_UNKNOWN_OPERATOR = re.compile(r"Unknown builtin op: ([\w.]+)::(\w+)")
_UNKNOWN_CLASS = re.compile(r"__torch__\.torch\.classes\.(\w+)\.(\w+)")
_UNSAVED_WEIGHT = b"ops.prim.ConstantMKLDNNTensor()"
# Which package registers the operators of a namespace, for those that everybody has heard of.
_LIBRARIES = {
    "torchvision": "torchvision",
    "image": "torchvision",
    "video_reader": "torchvision",
    "torchaudio": "torchaudio",
    "torchtext": "torchtext",
}


def load_archive(file: ModelFile, location: torch.device | None) -> Any:
    """Load an archive and return its module, in evaluation mode.

    Weights go to `location`; None leaves them on the devices that they were saved from. A library whose operators are
    missing is imported where it is known and installed.

    Raises:
        ArtifactError: the archive is damaged, or torch cannot load it.
        PlacementError: the weights do not fit into the memory of their device.
    """
    if file.archive is None:
        raise ArtifactError(f"'{file.path}' is not a zip archive: expected a TorchScript archive")
    _check_contents(file.archive)
    imported: set[str] = set()
    while True:
        try:
            module = _load(file.archive, location)
        except torch.OutOfMemoryError as error:
            raise PlacementError(
                f"'{file.path}' does not fit into the memory of its device: {reason(error)}"
            ) from error
        except (RuntimeError, UnicodeDecodeError, torch.jit.Error) as error:
            _check_saved_whole(file.archive, error)
            imported.add(_import_missing_library(file.path, error, imported))
        else:
            # The C++ backend runs an archive in the mode that it was saved in, which is forgotten easily: then
            # dropout makes answers random, and batch normalisation makes those of one client depend on another's.
            return module.eval()


def _check_contents(archive: Archive) -> None:
    """Read all of it once, since torch verifies no checksums and would load damaged weights."""
    for file in archive.files:
        for _ in archive.chunks(file):
            pass


def _check_saved_whole(archive: Archive, error: Exception) -> None:
    """Raise ArtifactError where weights were lost at saving; torch says "attribute 'value' is undefined" then."""
    code = [file for file in archive.files if file.filename.endswith(".py")]
    if any(_UNSAVED_WEIGHT in b"".join(archive.chunks(file)) for file in code):
        raise ArtifactError(
            f"'{archive.path}' was saved after torch.jit.optimize_for_inference, which converts weights to a layout of "
            "oneDNN that archives do not hold: save the module before that call (after torch.jit.freeze is fine)"
        ) from error


def _load(archive: Archive, location: torch.device | None) -> Any:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=DeprecationWarning, module=r"torch\.jit|triton_pytorch")
        # torch takes names that are UTF-8 only, in a process whose locale says so; a descriptor has no name.
        return torch.jit.load(f"/proc/self/fd/{archive.descriptor}", map_location=location)  # type: ignore[no-untyped-call]


def _import_missing_library(archive: Path, error: Exception, imported: set[str]) -> str:
    """Import the library whose operator torch did not find, and return its name; or say what is wrong."""
    missing = _UNKNOWN_OPERATOR.search(str(error)) or _UNKNOWN_CLASS.search(str(error))
    if missing is None:
        raise ArtifactError(
            f"'{archive}' cannot be loaded by torch {torch.__version__} ({reason(error)}): save it again with "
            "torch.jit.save, with this torch or an older one"
        ) from error
    namespace, name = missing.groups()
    uses = f"'{archive}' uses {namespace}::{name}, which torch {torch.__version__} lacks"
    library = _LIBRARIES.get(namespace)
    if library is None:
        raise ArtifactError(
            f"{uses}: this version finds the operators of {listed(sorted(set(_LIBRARIES.values())))} only"
        ) from error
    if library in imported:
        raise ArtifactError(
            f"{uses}, and the {library} that is installed too: install the one it was made with"
        ) from error
    if find_spec(library) is None:
        raise ArtifactError(f"{uses} without {library}: install the {library} of this torch") from error
    try:
        import_module(library)
    except (ImportError, OSError, RuntimeError, AttributeError) as failure:  # of libraries built for another torch
        raise ArtifactError(
            f"{uses} without {library}, which is installed but cannot be imported ({reason(failure)}): install the "
            f"{library} of this torch"
        ) from failure
    return library


def stored_sizes(file: ModelFile, folder: str) -> list[int]:
    """Return the size in bytes of each tensor that an archive stores in a folder, without empty ones.

    `data` has the parameters, buffers and other attributes of the module, `constants` those of its code: there freezing
    puts the weights.
    """
    entries = file.archive.files if file.archive is not None else ()
    return [entry.file_size for entry in entries if entry.file_size and entry.filename.split("/")[1:-1] == [folder]]


def all_methods(module: Any) -> list[Any]:
    """Return the methods of a module that can be called, in the order of their names."""
    return [_method(module, name) for name in _method_names(module)]


def find_method(module: Any, name: str) -> Any:
    """Return a method, which is called faster than the module.

    Raises:
        ConfigError: the module has no method of that name.
        UnsupportedError: the module has forward hooks, which the method does not run.
    """
    names = _method_names(module)
    if name not in names:
        raise ConfigError(
            f"the model has no method '{name}': name one of {listed(names)} in the parameter MODULE_METHOD_NAME"
            f"{did_you_mean(name, names)}"
        )
    if (error := hook_error(module, name)) is not None:
        raise UnsupportedError(error)
    return _method(module, name)


def hook_error(module: Any, method_name: str) -> str | None:
    """Say why a method cannot be served whose module has hooks; None if it can."""
    if method_name == "forward" and (module._c._get_forward_hooks() or module._c._get_forward_pre_hooks()):
        return (
            "the module has forward hooks of its own, which a call of its method leaves out: script a module that "
            "calls this one"
        )
    return None


def _method_names(module: Any) -> list[str]:
    return sorted(name for name in module._c._method_names() if not name.startswith("__"))


def _method(module: Any, name: str) -> Any:
    return module._c._get_method(name)  # by getattr, some names are those of the module's own attributes
