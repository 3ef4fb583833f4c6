"""What Triton's Python stub needs of the interpreter in use: its shared library, its name on PATH, a new C library."""

import platform
import re
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

from triton_pytorch.model_config.errors import LaunchError

# The tag of the wheel's file name: manylinux_2_35.
_OLDEST_GLIBC = (2, 35)
# auditwheel renames the copy of a library that it puts into a wheel: libpython3-419a3a08.13.so.1.0.
_LIBPYTHON = re.compile(rb"libpython3(?:-[0-9a-f]+)?\.(?P<minor>\d+)\w*\.so[.\d]*")


def python_version() -> str:
    """Return the version of this interpreter as stubs and Debian packages spell it: `3.11`."""
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def linked_libpython(stub: Path) -> tuple[str, str] | None:
    """Return the file name of the libpython that `stub` is linked to and its Python version, such as `3.11`.

    None where it names none, since its interpreter is built in.
    """
    found = list(_LIBPYTHON.finditer(stub.read_bytes()))
    if not found:
        return None
    # Where auditwheel has renamed the library, the old, shorter name still stands somewhere in the file.
    linked = max(found, key=lambda match: len(match[0]))
    return linked[0].decode("ascii"), f"3.{linked['minor'].decode('ascii')}"


def find_libpython_directory(libpython: str, beside_server: Iterable[Path] = ()) -> Path:
    """Return the directory that contains the shared library `libpython`, looking into `beside_server` first.

    Raises LaunchError, with how to get it, where there is none.
    """
    for directory in (*beside_server, *_interpreter_directories(), *system_library_directories()):
        if (directory / libpython).exists():
            return directory
    raise LaunchError(
        f"Triton's Python stub needs {libpython}, and {sys.executable} was built without it: on Debian and Ubuntu run "
        f"'apt-get install libpython{python_version()}', with pyenv run "
        f"'PYTHON_CONFIGURE_OPTS=--enable-shared pyenv install --force {platform.python_version()}'"
    )


def _interpreter_directories() -> tuple[Path, Path]:
    base = Path(sys.base_prefix, "lib")
    # Relocated interpreters (conda, python-build-standalone) have their library in `base`, whatever LIBDIR says.
    return Path(sysconfig.get_config_var("LIBDIR") or base), base


def system_library_directories() -> tuple[Path, ...]:
    """Return the directories that the loader looks into even where LD_LIBRARY_PATH does not name them."""
    multiarch = f"{platform.machine()}-linux-gnu"
    return tuple(Path(root, name) for root in ("/usr", "/") for name in (f"lib/{multiarch}", "lib64", "lib"))


def find_python3_directory() -> Path:
    """Return the directory to put first on PATH: the stub takes its site-packages from the first `python3` there.

    Raises LaunchError where the directory of this interpreter has no `python3` that is this interpreter.
    """
    # Not resolved: in a virtual environment the link, not its target, leads to the right site-packages.
    directory = Path(sys.executable).parent
    python3 = directory / "python3"
    if python3.exists() and python3.samefile(sys.executable):
        return directory
    state = "is another interpreter" if python3.exists() else "does not exist"
    raise LaunchError(
        f"Triton's Python stub takes its packages from the first 'python3' on PATH, and {python3} {state} "
        f"(this is {sys.executable}): run '{sys.executable} -m venv .venv' and use .venv/bin/python3"
    )


def check_glibc() -> None:
    """Raise LaunchError where this machine's C library is too old for the server of the nvidia-pytriton wheel."""
    library, version = platform.libc_ver()
    numbers = tuple(int(number) for number in re.findall(r"\d+", version)[:2])
    if library == "glibc" and numbers >= _OLDEST_GLIBC:
        return
    got = f"{library} {version}" if library else "another C library"
    raise LaunchError(
        f"the tritonserver of nvidia-pytriton needs glibc 2.35 or newer, and this machine has {got}: "
        "use Debian 12, Ubuntu 22.04 or newer, or a Triton container"
    )
