"""What the assembled directory of backends contains."""

from pathlib import Path

import pytest

from triton_pytorch.local_server.backend_directory import assemble_backends
from triton_pytorch.local_server.installation import find_installation
from triton_pytorch.tests.unit.local_server.conftest import make_server


@pytest.fixture
def assembled(bare_machine: Path) -> Path:
    """The directory made from a container's server that brings a C++ PyTorch backend and an ONNX one."""
    root = make_server(bare_machine / "opt" / "tritonserver").parents[1]
    for name in ("pytorch", "onnxruntime"):
        (root / "backends" / name).mkdir()
        (root / "backends" / name / f"libtriton_{name}.so").touch()
    tree = bare_machine / "tree with spaces"
    tree.mkdir()
    (tree / "model.py").touch()
    assemble_backends(find_installation(), bare_machine / "backends", tree)
    return bare_machine / "backends"


def test_backends_python_is_copied(assembled: Path) -> None:
    contents = {path.name: path.read_text(encoding="latin-1") for path in (assembled / "python").iterdir()}
    assert contents["libtriton_python.so"] == "the library"
    assert contents["triton_python_backend_utils.py"] == "the module"
    assert "ELF" in contents["triton_python_backend_stub"]
    assert not any(path.is_symlink() for path in (assembled / "python").iterdir())


def test_backends_pytorch_is_this_tree(assembled: Path) -> None:
    for name in ("pytorch", "pytorch_python"):
        assert (assembled / name / "model.py").exists()
        assert not list((assembled / name).glob("*.so"))


def test_backends_others_are_kept(assembled: Path) -> None:
    assert (assembled / "onnxruntime" / "libtriton_onnxruntime.so").exists()
