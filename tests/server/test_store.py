"""The store on a real server: one copy for all processes, and no remains of those that were killed."""

import os
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path

import torch

from triton_pytorch.local_server.server import Server
from triton_pytorch.tests.assets.configs import tensor_config
from triton_pytorch.tests.assets.packages import package_path
from triton_pytorch.tests.server.conftest import StartServer, connect, write_model

INSTANCES = 2
PATIENCE_S = 30.0


def repository(directory: Path, package: str, input_dtype: torch.dtype, instances: int = 1) -> Path:
    entries = [tensor_config("INPUT__0", input_dtype)], [tensor_config("OUTPUT__0")]
    group = [{"kind": "KIND_CPU", "count": instances}]
    write_model(directory, package, package_path(package), *entries, instance_group=group)
    return directory


def stubs(server: Server) -> list[int]:
    """The processes of all instances of a server."""
    commands = {path.parent: path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline")}
    marker = str(server._directory).encode()
    return [
        int(process.name)
        for process, command in commands.items()
        if b"triton_python_backend_stub" in command.split(b"\0")[0] and marker in command
    ]


def wait_until(is_so: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def test_store_of_instances_and_killed_server(start_server: StartServer, tmp_path: Path) -> None:
    store, temporary = tmp_path / "store", tmp_path / "temporary"
    temporary.mkdir()
    environment = {"TRITON_PYTORCH_STORE": str(store), "TMPDIR": str(temporary)}

    def entries() -> set[str]:
        return {path.name for path in store.iterdir()}

    first = start_server(repository(tmp_path / "first", "looks_up", torch.int64, INSTANCES), environment=environment)
    assert len(stubs(first)) == INSTANCES
    answer = connect(first, "grpc").infer("looks_up", {"INPUT__0": torch.tensor([3, 4])})
    assert torch.equal(answer["OUTPUT__0"], torch.tensor([3.0, 4.0]))
    (left_by_killed_server,) = entries()
    assert re.fullmatch("[0-9a-f]{64}", left_by_killed_server)
    for process in stubs(first):
        os.kill(process, signal.SIGKILL)
    first.kill()
    wait_until(lambda: not stubs(first), "the killed processes are still there")
    assert entries() == {left_by_killed_server}

    second = start_server(repository(tmp_path / "second", "scalars", torch.float32), environment=environment)
    assert len(entries()) == 1
    assert left_by_killed_server not in entries()

    second.stop()
    assert [*store.iterdir(), *temporary.iterdir()] == []
