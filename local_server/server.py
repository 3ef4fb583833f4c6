"""Run one tritonserver with this tree as its PyTorch backend, and leave nothing of it behind."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from triton_pytorch.local_server.backend_directory import assemble_backends
from triton_pytorch.local_server.core_refusals import core_refusals, with_remedy
from triton_pytorch.local_server.endpoints import Endpoint, accepts_connections, free_endpoints
from triton_pytorch.local_server.environment import (
    make_private_directory,
    own_options,
    repository_options,
    server_environment,
)
from triton_pytorch.local_server.installation import find_installation
from triton_pytorch.model_config.errors import LaunchError

_SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - where Triton's Python backend keeps its regions
_LOG_TAIL_LINES = 200
_LOG_OF_START_LINES = 10_000
_POLL_S = 0.05
_INDEX_TIMEOUT_S = 10.0
_LOG_TIMEOUT_S = 1.0  # for the rest of a log: what a server that has ended leaves running may keep it open
_DEATH_TIMEOUT_S = 5.0  # a killed process keeps its files and ports until the kernel has removed it

# Becomes tritonserver, after it has asked the kernel (prctl's 1 is PR_SET_PDEATHSIG) to kill it when the thread that
# started it is gone. The stubs end by themselves when their server does.
_DIE_WITH_PARENT = f"""
import ctypes, os, sys
ctypes.CDLL(None).prctl(1, {signal.SIGKILL.value})
os.execv(sys.argv[1], sys.argv[1:])
"""


@dataclass(frozen=True, slots=True)
class Models:
    """The models of a server: those that are ready, and those that it refused, each with the reason in one line."""

    ready: tuple[str, ...]
    refused: Mapping[str, str]


class Server:
    """A tritonserver that runs from construction until `stop`, or until the end of a `with` block.

    `model_repositories` are absolute directories or URLs, `options` further options of tritonserver, `endpoints` its
    services (without those that `options` switch off), by default at free ports of this machine. `environment` adds
    to the variables that the server inherits. It logs to a file, and with `log_to_terminal` to stderr instead.

    Construct it in a thread that lives as long as the server is to live. Raises LaunchError, with the remedy, where
    no server can be found or assembled.
    """

    def __init__(
        self,
        *model_repositories: Path | str,
        options: Sequence[str] = (),
        endpoints: Sequence[Endpoint] = (),
        environment: Mapping[str, str] | None = None,
        log_to_terminal: bool = False,
    ) -> None:
        installation = find_installation()
        self.endpoints = tuple(endpoints) or free_endpoints()
        self._log_at_stop = ""
        self._repositories = [Path(repository) for repository in model_repositories if "://" not in str(repository)]
        self._loads_all = "--model-control-mode=explicit" not in options
        self._forwarder: threading.Thread | None = None
        self._log_of_start: list[bytes] = []
        self._directory = make_private_directory()
        try:
            assemble_backends(installation, self._directory / "backends")
            self._process = self._launch(
                str(installation.executable),
                *own_options(installation, self._directory),
                *repository_options(model_repositories, self._directory),
                *(option for endpoint in self.endpoints for option in endpoint.options),
                *options,
                environment=server_environment(installation) | dict(environment or {}),
                log_to_terminal=log_to_terminal,
            )
        except BaseException:
            shutil.rmtree(self._directory)
            raise

    def __enter__(self) -> "Server":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def http_url(self) -> str:
        """`127.0.0.1:PORT` of the HTTP service, as tritonclient.http takes it."""
        return self._url("http")

    @property
    def grpc_url(self) -> str:
        """`127.0.0.1:PORT` of the gRPC service, as tritonclient.grpc takes it."""
        return self._url("grpc")

    def _url(self, name: str) -> str:
        return next(endpoint.url for endpoint in self.endpoints if endpoint.name == name)

    @property
    def log(self) -> str:
        """All that the server has logged so far, also after `stop`; the log of the start where it goes to stderr."""
        if self._forwarder is not None:
            return b"".join(self._log_of_start).decode(errors="replace")
        path = self._directory / "server.log"
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else self._log_at_stop

    def is_ready(self) -> bool:
        """Return whether the server answers; it opens its ports once each model of the start is loaded or refused.

        The readiness that tritonserver itself reports stays false where one of many models is refused.
        """
        return all(accepts_connections(endpoint) for endpoint in self.endpoints)

    def wait_until_ready(self, timeout_s: float = 120.0) -> None:
        """Return when the server answers. Raises LaunchError, with the end of the log, if it ends or takes longer."""
        deadline = time.monotonic() + timeout_s
        while not self.is_ready():
            code = self.exit_code()
            if code is not None:
                raise LaunchError(f"tritonserver ended with code {code} before it was ready{self._log_tail()}")
            if time.monotonic() > deadline:
                raise LaunchError(f"tritonserver was not ready after {timeout_s:.0f} s{self._log_tail()}")
            time.sleep(_POLL_S)

    def _log_tail(self) -> str:
        lines = self.log.splitlines()[-_LOG_TAIL_LINES:]
        return "\n".join(["; the end of its log:", *lines]) if lines else ""

    def models(self) -> Models:
        """Return which models are ready and which are refused, once the server answers; what is not told is left out.

        The repository index has no reason for what core refused while it read the repository: its log does.
        """
        index = self._index()
        ready = dict.fromkeys(model["name"] for model in index if model.get("state") == "READY")
        stateless = [model["name"] for model in index if "state" not in model and self._loads_all]
        unready = [model for model in index if model.get("state") != "READY"]
        reasons = {
            model["name"]: with_remedy(model["name"], model["reason"].splitlines()[0], self._repositories)
            for model in unready
            if model.get("reason")
        }
        refused = {
            **dict.fromkeys(stateless, "Triton refused it while it read the repository; the server's log says why"),
            **core_refusals(self.log, self._repositories),
            **reasons,
        }
        return Models(tuple(ready), dict(sorted(refused.items())))

    def _index(self) -> list[dict[str, str]]:
        if not any(endpoint.name == "http" for endpoint in self.endpoints):
            return []
        request = urllib.request.Request(f"http://{self.http_url}/v2/repository/index", method="POST")
        try:
            with urllib.request.urlopen(request, timeout=_INDEX_TIMEOUT_S) as response:  # noqa: S310 - our own server
                index: list[dict[str, str]] = json.load(response)
        except (OSError, ValueError):  # the index can be switched off
            return []
        return index

    def exit_code(self) -> int | None:
        """Return None while the server runs, else its exit code, or the negative number of the signal that ended it.

        By then stderr has its whole log.
        """
        if self._process.returncode is not None:
            return self._process.returncode
        # WNOWAIT leaves the dead process in the table: as long as it is there, its number still means its group.
        ended = os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if ended is None:
            return None
        if self._forwarder is not None:
            self._forwarder.join(_LOG_TIMEOUT_S)
        return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status

    def stop(self, timeout_s: float = 10.0) -> None:
        """End the server and its stubs, by force after `timeout_s`, and remove its files; harmless when repeated."""
        if self._process.returncode is not None:
            return
        os.kill(self._process.pid, signal.SIGTERM)
        deadline = time.monotonic() + timeout_s
        while self.exit_code() is None and time.monotonic() < deadline:
            time.sleep(_POLL_S)
        self.kill()
        self._process.wait()
        deadline = time.monotonic() + _DEATH_TIMEOUT_S
        while _is_group_alive(self._process.pid) and time.monotonic() < deadline:
            time.sleep(_POLL_S)
        if self._forwarder is not None:
            self._forwarder.join(_LOG_TIMEOUT_S)
        self._remove_files()

    def kill(self) -> None:
        """End the server and its stubs at once; a `stop` must still follow, or be under way."""
        # By group: a server whose model hangs in auto-complete ignores SIGTERM, and its stubs may outlive it.
        if self._process.returncode is None:
            os.killpg(self._process.pid, signal.SIGKILL)

    def _remove_files(self) -> None:
        self._log_at_stop = self.log
        for region in _SHARED_MEMORY.glob(f"{self._directory.name}*"):
            region.unlink(missing_ok=True)
        shutil.rmtree(self._directory)

    def _launch(self, *command: str, environment: Mapping[str, str], log_to_terminal: bool) -> subprocess.Popen[bytes]:
        # The stub looks for modules in the server's working directory before ours: it has to be empty.
        working_directory = self._directory / "empty"
        working_directory.mkdir()
        with contextlib.ExitStack() as opened:
            log = None if log_to_terminal else opened.enter_context((self._directory / "server.log").open("wb"))
            process = subprocess.Popen(
                [sys.executable, "-I", "-c", _DIE_WITH_PARENT, *command],
                cwd=working_directory,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT if log else subprocess.PIPE,
                start_new_session=True,  # a terminal's Ctrl-C reaches us alone, and `kill` the whole group
            )
        if process.stderr is not None:
            self._forwarder = threading.Thread(target=self._forward, args=(process.stderr,), daemon=True)
            self._forwarder.start()
        return process

    def _forward(self, log: BinaryIO) -> None:
        """Pass the server's log on to our stderr, and keep its beginning, which says what core refused."""
        with log:
            for line in log:
                if len(self._log_of_start) < _LOG_OF_START_LINES:
                    self._log_of_start.append(line)
                with contextlib.suppress(OSError):  # a terminal that is gone must not stop the server
                    sys.stderr.buffer.write(line)
                    sys.stderr.buffer.flush()


def _is_group_alive(group: int) -> bool:
    """Return whether a process of a group still runs; zombies do not count."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has just ended
            # proc(5): PID (NAME) STATE PARENT GROUP ..., where the name may contain anything
            state, _, member_of = path.read_bytes().rpartition(b")")[2].split()[:3]
            if int(member_of) == group and state not in (b"Z", b"X"):
                return True
    return False
