"""Make .venv, in which demo, tests and benchmarks run: `make setup`, and the first step of the other targets.

It is made again when the requirements or the interpreter have changed, or when the last attempt failed.
"""

import sys

if not (3, 10) <= sys.version_info[:2] <= (3, 13):  # first: older ones cannot compile what follows
    sys.stderr.write("error: Python 3.10 to 3.13 is needed, and " + sys.executable + " is " + sys.version.split()[0])
    sys.stderr.write("; name another, as in 'PYTHON=python3.12 make demo'\n")
    sys.exit(2)

import hashlib
import importlib.util
import os
import shutil
import subprocess
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path

_TREE = Path(__file__).resolve().parents[1]
ENVIRONMENT = _TREE / ".venv"
REQUIREMENTS = _TREE / "requirements-dev.txt"
SERVER_REQUIREMENTS = _TREE / "requirements-server.txt"

_STAMP = ENVIRONMENT / "prepared"  # written last: a digest of what .venv was made from
_LOG = ENVIRONMENT / "install.log"
_LOG_TAIL_LINES = 30


class _Tree:
    """Finds the package `triton_pytorch` in this checkout, before anything of that name elsewhere."""

    @staticmethod
    def find_spec(name: str, *_: object) -> ModuleSpec | None:
        return spec_from_file_location(name, _TREE / "__init__.py") if name == "triton_pytorch" else None


def main() -> int:
    """Make .venv where needed. Return 0, or 2 after saying what is missing or has failed."""
    problems = list(_missing())
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    if problems:
        return 2
    if _STAMP.exists() and _STAMP.read_text(encoding="ascii") == _origin():
        return 0
    try:
        _make()
    except subprocess.CalledProcessError:
        tail = _LOG.read_text(encoding="utf-8", errors="replace").splitlines()[-_LOG_TAIL_LINES:]
        print("\n".join([*tail, f"error: the last step failed; all its output is in {_LOG}"]), file=sys.stderr)
        return 2
    return 0


def _missing() -> Iterator[str]:
    """Yield a sentence for each thing that this machine lacks, with the remedy."""
    from triton_pytorch.local_server import interpreter
    from triton_pytorch.model_config.errors import LaunchError

    version = interpreter.python_version()
    # Debian leaves the second one out of its python3 package.
    if not all(map(importlib.util.find_spec, ("venv", "ensurepip"))):
        yield f"{sys.executable} cannot make virtual environments: run 'apt-get install python{version}-venv'"
    # As torch chooses it: torch._inductor.config.cpp.cxx.
    compiler = os.environ.get("CXX", "g++")
    if shutil.which(compiler) is None:
        yield (
            f"no C++ compiler '{compiler}', which torch needs to compile models: run 'apt-get install g++', or name an "
            "installed one, as in 'CXX=clang++ make demo'"
        )
    try:
        interpreter.check_glibc()
        if version != "3.13":  # the server's wheel brings the library of 3.13
            interpreter.find_libpython_directory(f"libpython{version}.so.1.0")
    except LaunchError as error:
        yield str(error)


def _origin() -> str:
    """Return a digest of all that .venv is made from: the requirements and the base interpreter."""
    interpreter = f"{sys.base_prefix} {sys.version}"
    parts = (REQUIREMENTS.read_bytes(), SERVER_REQUIREMENTS.read_bytes(), interpreter.encode())
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def _make() -> None:
    shutil.rmtree(ENVIRONMENT, ignore_errors=True)
    ENVIRONMENT.mkdir()
    # Not sys.executable: where that is .venv's own, it has just been removed.
    base_interpreter = getattr(sys, "_base_executable", sys.executable)
    _run("making .venv", base_interpreter, "-m", "venv", ENVIRONMENT)
    _install(f"installing {REQUIREMENTS.name} (torch among them, 1 to 10 minutes)", "-r", REQUIREMENTS)
    _install(f"installing {SERVER_REQUIREMENTS.name} (a tritonserver)", "--no-deps", "-r", SERVER_REQUIREMENTS)
    # Where tests, mypy, pyright and editors find the package triton_pytorch (pyproject.toml names it).
    (ENVIRONMENT / "source").mkdir()
    (ENVIRONMENT / "source" / "triton_pytorch").symlink_to("../..")
    _STAMP.write_text(_origin(), encoding="ascii")


def _install(step: str, *arguments: str | Path) -> None:
    pip = (ENVIRONMENT / "bin" / "python", "-m", "pip", "--disable-pip-version-check", "install", "--progress-bar=off")
    _run(step, *pip, *arguments)


def _run(step: str, *command: str | Path) -> None:
    from triton_pytorch.local_server.progress import progress

    with progress(step), _LOG.open("ab") as log:
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)


if __name__ == "__main__":
    sys.meta_path.insert(0, _Tree)
    sys.dont_write_bytecode = True
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("\nerror: interrupted; the next run starts again")
