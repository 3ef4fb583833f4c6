"""What a server is started with: a private directory, options and environment variables."""

import os
import shlex
import tempfile
from collections.abc import Sequence
from pathlib import Path

from triton_pytorch.local_server.installation import Installation
from triton_pytorch.local_server.interpreter import find_python3_directory
from triton_pytorch.model_config.errors import LaunchError


def make_private_directory() -> Path:
    """Make a directory for the files of one server; raises LaunchError where that fails or no program can run there."""
    try:
        return Path(tempfile.mkdtemp(prefix="triton_pytorch_", dir=_temporary_directory()))
    except OSError as error:
        raise LaunchError(
            f"a server needs a temporary directory for its own files, and none can be made ({error.strerror}): set "
            "TMPDIR to a directory that you may write to, with 10 MiB free"
        ) from error


def _temporary_directory() -> str:
    parent = tempfile.gettempdir()
    if is_changed_by_shell(parent):
        raise LaunchError(
            f"Triton's Python stub cannot run in '{parent}', because of the special characters in that path: "
            "set TMPDIR to a directory without them"
        )
    if os.statvfs(parent).f_flag & os.ST_NOEXEC:
        raise LaunchError(
            f"Triton's Python stub cannot run in '{parent}', which is mounted noexec: "
            "set TMPDIR to a directory where programs can run"
        )
    return parent


def own_options(installation: Installation, directory: Path) -> list[str]:
    """Return the options that `serve` adds itself, for a server whose files are in `directory`."""
    options = [
        f"--backend-directory={directory / 'backends'}",
        # Two servers side by side must not share regions, and those of a killed one must be recognisable.
        f"--backend-config=python,shm-region-prefix-name={directory.name}",
        # By default tritonserver ends where one of many models does not load: serve the others.
        "--exit-on-error=false",
        # Many models that import torch at once on few cores take longer than the 30 s that a stub is given.
        "--backend-config=python,stub-timeout-seconds=120",
    ]
    if installation.caches.is_dir():
        options.append(f"--cache-directory={installation.caches}")
    if not any(Path("/dev").glob("nvidia[0-9]*")):
        options.append("--allow-gpu-metrics=false")  # else the log complains that there is none
    return options


def repository_options(repositories: Sequence[Path | str], directory: Path) -> list[str]:
    """Return the options for `repositories`; a path that a shell would change becomes a link in `directory`."""
    paths = [str(repository) for repository in repositories]
    for number, path in enumerate(paths):
        if is_changed_by_shell(path) and "://" not in path:
            link = directory / f"repository{number}"
            link.symlink_to(path)
            paths[number] = str(link)
    return [f"--model-repository={path}" for path in paths]


def is_changed_by_shell(path: str) -> bool:
    """Return whether Triton's Python backend fails on a path: it starts its stub through `bash -c`, without quotes."""
    return shlex.quote(path) != path


def server_environment(installation: Installation) -> dict[str, str]:
    """Return the variables under which the server finds its libraries, and its stubs the packages of this interpreter.

    Raises LaunchError where they would find those of another one.
    """
    libraries = [str(directory) for directory in installation.library_directories]
    inherited = os.environ.get("LD_LIBRARY_PATH")
    return {
        **os.environ,
        "LD_LIBRARY_PATH": os.pathsep.join([*libraries, inherited] if inherited else libraries),
        "PATH": os.pathsep.join([str(find_python3_directory()), os.environ.get("PATH", os.defpath)]),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
