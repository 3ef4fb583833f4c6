"""Find a tritonserver on this machine, and the parts of it that fit the interpreter in use."""

import os
import re
import shutil
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from triton_pytorch.local_server import interpreter
from triton_pytorch.model_config.errors import LaunchError
from triton_pytorch.model_config.suggestions import listed

INSTALL_COMMAND = "pip install --no-deps nvidia-pytriton==0.7.0"

_CONTAINER_ROOT = Path("/opt/tritonserver")
_WHEEL = "nvidia-pytriton"
# The wheel does not state it: this is what the running server answers to GET /v2.
_WHEEL_CORES = {"0.7.0": (2, 51, 0)}
_STUB = "triton_python_backend_stub"


@dataclass(frozen=True, slots=True)
class Installation:
    """A tritonserver that the interpreter in use can be served with."""

    executable: Path
    backends: Path  # one directory for each backend that it brings
    caches: Path  # likewise for response caches; need not exist
    python_backend_files: tuple[Path, Path]  # libtriton_python.so and the Python module beside it
    stub: Path  # the Python backend's program, built for the version of this interpreter
    library_directories: tuple[Path, ...]  # for LD_LIBRARY_PATH
    core_version: tuple[int, ...] | None  # (2, 51, 0); None where it is not stated


def find_installation() -> Installation:
    """Return the tritonserver on PATH, else the one in /opt/tritonserver, else that of the nvidia-pytriton wheel.

    Raises LaunchError, with the remedy, where there is none or where the one found does not fit this interpreter.
    """
    root = _installed_root()
    if root is not None:
        return _installed(root)
    try:
        wheel = metadata.distribution(_WHEEL)  # not imported: that needs packages which we do not use
    except metadata.PackageNotFoundError as error:
        raise LaunchError(
            f"no tritonserver on PATH, in {_CONTAINER_ROOT}/bin or among the packages of {sys.executable}: "
            f"run '{sys.executable} -m {INSTALL_COMMAND}'"
        ) from error
    interpreter.check_glibc()
    return _of_wheel(Path(str(wheel.locate_file(""))), wheel.version)


def _installed_root() -> Path | None:
    on_path = shutil.which("tritonserver")
    if on_path is not None:
        return Path(on_path).resolve().parents[1]
    usual = _CONTAINER_ROOT / "bin" / "tritonserver"
    return _CONTAINER_ROOT if os.access(usual, os.X_OK) else None


def _installed(root: Path) -> Installation:
    version_file = root / "TRITON_VERSION"
    version = version_file.read_text(encoding="utf-8") if version_file.exists() else ""
    return _described(
        root,
        stub=root / "backends" / "python" / _STUB,
        library_directories=(root / "lib",),
        core_version=tuple(int(number) for number in re.findall(r"\d+", version)[:3]) or None,
    )


def _of_wheel(site_packages: Path, version: str) -> Installation:
    root = site_packages / "pytriton" / "tritonserver"
    stubs = root / "python_backend_stubs"
    stub = stubs / interpreter.python_version() / _STUB
    if not stub.exists():
        present = sorted((path.name for path in stubs.glob("3.*")), key=lambda name: int(name.split(".")[1]))
        raise LaunchError(
            f"{_WHEEL} {version} has no Python stub for Python {interpreter.python_version()} ({sys.executable}): "
            f"use one of Python {listed(present)}"
        )
    return _described(
        root,
        stub=stub,
        library_directories=(site_packages / "nvidia_pytriton.libs",),
        core_version=_WHEEL_CORES.get(version),
    )


def _described(
    root: Path, *, stub: Path, library_directories: tuple[Path, ...], core_version: tuple[int, ...] | None
) -> Installation:
    python_backend = root / "backends" / "python"
    files = (python_backend / "libtriton_python.so", python_backend / "triton_python_backend_utils.py")
    for path in (*files, stub):
        if not path.exists():
            raise LaunchError(
                f"the tritonserver in {root} has no Python backend: {path} is missing; install Triton with its Python "
                f"backend, or take that server off PATH and run '{sys.executable} -m {INSTALL_COMMAND}'"
            )
    return Installation(
        executable=root / "bin" / "tritonserver",
        backends=root / "backends",
        caches=root / "caches",
        python_backend_files=files,
        stub=stub,
        library_directories=(*library_directories, *_libpython_directories(stub, library_directories)),
        core_version=core_version,
    )


def _libpython_directories(stub: Path, beside_server: tuple[Path, ...]) -> tuple[Path, ...]:
    """Return where the stub's libpython lies, if LD_LIBRARY_PATH has to name that directory as well."""
    linked = interpreter.linked_libpython(stub)
    if linked is None:
        return ()
    libpython, version = linked
    if version != interpreter.python_version():
        raise LaunchError(
            f"the Python stub {stub} is built for Python {version}, and this is Python "
            f"{interpreter.python_version()} ({sys.executable}): run this with python{version}"
        )
    directory = interpreter.find_libpython_directory(libpython, beside_server)
    # System directories are searched anyway; in LD_LIBRARY_PATH they would come before the libraries of torch's wheel.
    known = (*beside_server, *interpreter.system_library_directories())
    return () if directory in known else (directory,)
