"""How a server process is started and ended, with shell scripts instead of tritonserver."""

import json
import os
import shlex
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from triton_pytorch.local_server.endpoints import Endpoint, free_endpoints
from triton_pytorch.local_server.server import Models, Server
from triton_pytorch.model_config.errors import LaunchError
from triton_pytorch.tests.unit.local_server.conftest import make_server

Install = Callable[[str], None]

SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - where Triton's Python backend keeps its regions
LEAVE_A_REGION = (
    'for option; do case "$option" in *shm-region-prefix-name=*) touch "/dev/shm/${option#*name=}x";; esac; done'
)

INDEX = """
import http.server, sys

class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(INDEX.encode())

http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The temporary directory of servers."""
    directory = tmp_path / "temporary"
    directory.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(directory))
    return directory


@pytest.fixture
def install(bare_machine: Path, temporary: Path) -> Install:
    """Make a shell script the tritonserver of this machine."""

    def install(program: str) -> None:
        make_server(bare_machine / "opt" / "tritonserver", program=program)

    return install


def test_start_directory_and_environment(install: Install) -> None:
    install('ls -A | wc -l; command -v python3; echo "$LD_LIBRARY_PATH"; echo "$PYTHONDONTWRITEBYTECODE$MINE"')
    with Server("models", environment={"MINE": "!"}) as server, pytest.raises(LaunchError):
        server.wait_until_ready()
    entries, python3, libraries, variables = server.log.splitlines()
    assert int(entries) == 0
    assert Path(python3) == Path(sys.executable).parent / "python3"
    assert libraries.split(":")[0].endswith("tritonserver/lib")
    assert variables == "1!"


def test_start_options(install: Install) -> None:
    install("printf '%s\\n' \"$@\"")
    endpoints = (Endpoint("grpc", 5), Endpoint("http", 7, "::1"))
    with Server("/models", "s3://b/c d", options=["--log-verbose", "1"], endpoints=endpoints) as server:
        with pytest.raises(LaunchError):
            server.wait_until_ready()
        assert (server.http_url, server.grpc_url) == ("[::1]:7", "127.0.0.1:5")
    options = server.log.splitlines()
    assert options[-2:] == ["--log-verbose", "1"]
    assert {"--model-repository=/models", "--model-repository=s3://b/c d", "--grpc-port=5", "--http-address=::1"} < set(
        options
    )


@pytest.mark.parametrize("name", ["with spaces", "it's", "$HOME", "caf\u00e9"])
def test_start_repository_path_with_special_characters(install: Install, tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "the model").touch()
    install(
        'for option; do case "$option" in --model-repository=*) echo "${option#*=}"; ls "${option#*=}";; esac; done'
    )
    with Server(tmp_path / name) as server, pytest.raises(LaunchError):
        server.wait_until_ready()
    path, content = server.log.splitlines()
    assert shlex.split(path) == [path]
    assert content == "the model"


def test_ready_when_ports_answer(install: Install) -> None:
    install(f'exec "{sys.executable}" -m http.server --bind 127.0.0.1 "$PORT"')
    endpoint = free_endpoints()[0]
    with Server("models", endpoints=(endpoint,), environment={"PORT": str(endpoint.port)}) as server:
        server.wait_until_ready()
        assert server.is_ready()
        assert server.exit_code() is None
    assert not server.is_ready()


def test_wait_server_ends_early(install: Install) -> None:
    install("echo the reason >&2; exit 3")
    with Server("models") as server, pytest.raises(LaunchError, match=r"ended with code 3 before(?s:.*)the reason"):
        server.wait_until_ready()


def test_wait_timeout(install: Install) -> None:
    install("exec sleep 1000")
    with Server("models") as server, pytest.raises(LaunchError, match="not ready after 0 s"):
        server.wait_until_ready(timeout_s=0.1)


def test_exit_code_of_signal(install: Install) -> None:
    install("kill -9 $$")
    with Server("models") as server, pytest.raises(LaunchError, match="code -9"):
        server.wait_until_ready()
    assert server.exit_code() == -9


def test_stop_server_that_ignores_sigterm(install: Install, temporary: Path) -> None:
    endpoint = free_endpoints()[0]
    listen = f'"{sys.executable}" -m http.server --bind 127.0.0.1 {endpoint.port}'
    install(f"trap '' TERM; {LEAVE_A_REGION}; {listen} & wait")
    server = Server("models", endpoints=(endpoint,))
    server.wait_until_ready()
    (directory,) = temporary.iterdir()
    region = SHARED_MEMORY / f"{directory.name}x"
    assert region.exists()
    server.stop(timeout_s=0.1)
    assert server.exit_code() == -9
    assert not server.is_ready()  # the child that listened
    assert not region.exists()
    assert not list(temporary.iterdir())


def test_stop_twice(install: Install) -> None:
    install("echo hello")
    server = Server("models")
    with pytest.raises(LaunchError):
        server.wait_until_ready()
    server.stop()
    server.stop()
    server.kill()
    assert server.exit_code() == 0
    assert server.log == "hello\n"


def test_start_failure_leaves_no_files(
    install: Install, temporary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install("exec sleep 1000")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(LaunchError, match="python3"):
        Server("models")
    assert not list(temporary.iterdir())


def test_temporary_directory_noexec(install: Install, temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install("exec sleep 1000")
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_flag=os.ST_NOEXEC))
    with pytest.raises(LaunchError, match=r"noexec.*TMPDIR"):
        Server("models")
    assert not list(temporary.iterdir())


def test_temporary_directory_missing(install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install("exec sleep 1000")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    with pytest.raises(LaunchError, match=r"none can be made \(No such file or directory\): set TMPDIR to"):
        Server("models")

    def refuse() -> str:
        raise FileNotFoundError(2, "No usable temporary directory found in ['/tmp', '/var/tmp']")

    monkeypatch.setattr(tempfile, "gettempdir", refuse)
    with pytest.raises(
        LaunchError, match=r"\(No usable temporary directory found in \['/tmp', '/var/tmp'\]\): set TMPDIR"
    ):
        Server("models")


def test_log_to_terminal(install: Install, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    line = "Poll failed for model directory 'm': a reason"
    install(f'echo out; echo "{line}" >&2; exit 3')
    server = Server("/models", log_to_terminal=True)
    with server, pytest.raises(LaunchError, match="ended with code 3"):
        server.wait_until_ready()
    assert server.models() == Models((), {"m": "/models/m/config.pbtxt: a reason"})
    assert capfdbinary.readouterr() == (b"out\n", f"{line}\n".encode())


@pytest.mark.parametrize("options", [[], ["--model-control-mode=explicit"]])
def test_models_of_the_index(install: Install, tmp_path: Path, options: list[str]) -> None:
    index = [
        {"name": "ready", "version": "1", "state": "READY"},
        {"name": "broken", "version": "1", "state": "UNAVAILABLE", "reason": "the first line\nthe second"},
        {"name": "unknown"},
    ]
    (tmp_path / "server.py").write_text(INDEX.replace("INDEX", repr(json.dumps(index))), encoding="utf-8")
    install(f'exec "{sys.executable}" {tmp_path}/server.py "$PORT"')
    endpoint = free_endpoints()[0]
    with Server("models", endpoints=(endpoint,), options=options, environment={"PORT": str(endpoint.port)}) as server:
        server.wait_until_ready()
        models = server.models()
    assert models.ready == ("ready",)
    refused = {"broken": "the first line"}
    if not options:  # else it may be loaded later
        refused["unknown"] = "Triton refused it while it read the repository; the server's log says why"
    assert models.refused == refused


def test_temporary_directory_with_spaces(install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install("exec sleep 1000")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "with spaces"))
    with pytest.raises(LaunchError, match=r"with spaces.*TMPDIR"):
        Server("models")
