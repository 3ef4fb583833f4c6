"""Assemble the directory in which a tritonserver looks for backends, with this tree as its PyTorch backend."""

import shutil
from pathlib import Path

from triton_pytorch.local_server.installation import Installation

# `pytorch` is the name of the stock backend; cores before release 26.03 take `platform: "torch_aoti"` only under
# a name that they do not know.
PYTORCH_NAMES = ("pytorch", "pytorch_python")

_TREE = Path(__file__).resolve().parents[1]


def assemble_backends(installation: Installation, directory: Path, tree: Path = _TREE) -> None:
    """Fill the new directory `directory` with Triton's Python backend, `tree` as PyTorch backend, and all others."""
    directory.mkdir()
    _copy_python_backend(installation, directory / "python")
    for name in PYTORCH_NAMES:
        # The entry alone: it finds its tree through the link, and Python's cache of it stays out of the tree.
        (directory / name).mkdir()
        (directory / name / "model.py").symlink_to(tree / "model.py")
    for backend in installation.backends.iterdir():
        if not (directory / backend.name).exists():
            (directory / backend.name).symlink_to(backend)


def _copy_python_backend(installation: Installation, directory: Path) -> None:
    # Copies, because core refuses a library that is a link out of its directory, and because the stub for this
    # interpreter lies elsewhere in the wheel.
    directory.mkdir()
    for path in installation.python_backend_files:
        shutil.copy2(path, directory)
    shutil.copy2(installation.stub, directory / "triton_python_backend_stub")
