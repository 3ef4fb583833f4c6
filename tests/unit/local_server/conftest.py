"""Server installations made of empty files: they can be found, but not run."""

import sys
from pathlib import Path

import pytest

from triton_pytorch.local_server import installation

# Not the plain name: our own interpreter would load that empty file.
LIBPYTHON = f"libpython3-419a3a08.{sys.version_info.minor}.so.1.0"


def make_server(root: Path, *, libpython: str = LIBPYTHON, program: str = "") -> Path:
    """Make an installation as in Triton's containers, with the libpython beside it, and return its program."""
    files = {
        "bin/tritonserver": f"#!/bin/sh\n{program}\n",
        "lib/libtritonserver.so": "",
        f"lib/{libpython}": "",
        "backends/python/libtriton_python.so": "the library",
        "backends/python/triton_python_backend_utils.py": "the module",
        "backends/python/triton_python_backend_stub": f"\x7fELF needs {libpython}\0",
    }
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="latin-1")
    executable = root / "bin" / "tritonserver"
    executable.chmod(0o755)
    return executable


def make_wheel(site_packages: Path, *, stubs: tuple[str, ...], version: str = "0.7.0") -> Path:
    """Make the files of an installed nvidia-pytriton wheel, with stubs for the Python versions `stubs`."""
    metadata = site_packages / f"nvidia_pytriton-{version}.dist-info" / "METADATA"
    metadata.parent.mkdir(parents=True)
    metadata.write_text(f"Metadata-Version: 2.1\nName: nvidia-pytriton\nVersion: {version}\n")
    root = site_packages / "pytriton" / "tritonserver"
    make_server(root)
    (root.parent / "__init__.py").write_text("raise ImportError('it must not be imported')\n")
    (root / "backends" / "python" / "triton_python_backend_stub").unlink()
    libraries = site_packages / "nvidia_pytriton.libs"
    libraries.mkdir()
    for stub in stubs:
        minor = stub.removeprefix("3.")
        path = root / "python_backend_stubs" / stub / "triton_python_backend_stub"
        path.parent.mkdir(parents=True)
        path.write_text(f"libpython{stub}.so.1.0\0 libpython3-419a3a08.{minor}.so.1.0\0")
        (libraries / f"libpython3-419a3a08.{minor}.so.1.0").touch()
    return root / "bin" / "tritonserver"


@pytest.fixture
def bare_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without any tritonserver; the test fills its `site-packages` and `opt`."""
    for name in ("site-packages", "opt"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setattr(installation, "_CONTAINER_ROOT", tmp_path / "opt" / "tritonserver")
    standard_library = [entry for entry in sys.path if not any(Path(entry).glob("*.dist-info"))]
    monkeypatch.setattr(sys, "path", [str(tmp_path / "site-packages"), *standard_library])
    return tmp_path
