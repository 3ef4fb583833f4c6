"""`serve` with a real tritonserver: it answers, stops cleanly, and leaves nothing behind."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
import tritonclient.http

from triton_pytorch.local_server.endpoints import free_endpoints
from triton_pytorch.tests.assets.configs import tensor_config
from triton_pytorch.tests.assets.packages import package_path
from triton_pytorch.tests.server.conftest import Client, write_model

TREE = Path(__file__).resolve().parents[2]
SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - where Triton's Python backend keeps its regions
PATIENCE_S = 60.0

CONFIG = """
backend: "python"
input { name: "IN" data_type: TYPE_FP32 dims: [ -1 ] }
output { name: "OUT" data_type: TYPE_FP32 dims: [ -1 ] }
instance_group { kind: KIND_CPU }
"""
# Through DLPack: the stubs of this wheel were built for numpy 1, and with numpy 2 their arrays hold wrong values.
IDENTITY = """
from pathlib import Path
import triton_python_backend_utils as pb_utils

if any(Path().iterdir()):
    raise RuntimeError("the server's directory holds files that can hide modules")

class TritonPythonModel:
    def execute(self, requests):
        inputs = [pb_utils.get_input_tensor_by_name(request, "IN").to_dlpack() for request in requests]
        return [pb_utils.InferenceResponse([pb_utils.Tensor.from_dlpack("OUT", each)]) for each in inputs]
"""
BROKEN = "raise RuntimeError('broken on purpose')"
UNWILLING = """
import time

class TritonPythonModel:
    def execute(self, requests):
        return []

    def finalize(self):
        while True:
            time.sleep(1)
"""


class Serve:
    """A running `python TREE serve --model-repository=models`, begun in `directory`."""

    def __init__(self, directory: Path, tree: Path, options: Sequence[str] = ()) -> None:
        self.http, *_ = endpoints = free_endpoints()
        self.directory = directory
        self._log = directory / "serve.log"
        self._temporary = directory.parent / f"temporary{self.http.port}"
        self._temporary.mkdir()
        self._store = directory / "store"
        environment = {**os.environ, "TMPDIR": str(self._temporary), "TRITON_PYTORCH_STORE": str(self._store)}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        ports = [f"--{endpoint.name}-port={endpoint.port}" for endpoint in endpoints]
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, str(tree), "serve", "--model-repository=models", *ports, *options],
                cwd=directory,
                env=environment,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    @property
    def log(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")

    def wait_for(self, text: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while text not in self.log:
            assert self.process.poll() is None, f"serve ended without saying '{text}':\n{self.log}"
            assert time.monotonic() < deadline, f"serve does not say '{text}':\n{self.log}"
            time.sleep(0.1)

    def wait(self) -> int:
        """Return the exit code, once nothing is left of the server."""
        try:
            code = self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            pytest.fail(f"serve does not end:\n{self.log}")
        self.wait_for_the_end_of_processes()
        assert not self.files()
        assert not self._store.exists() or list(self._store.iterdir()) == []
        return code

    def wait_for_the_end_of_processes(self) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while running := self._processes():
            assert time.monotonic() < deadline, f"still running: {running}\n{self.log}"
            time.sleep(0.1)

    def _processes(self) -> list[str]:
        """The command lines of all processes that name our directory; what is dead has none."""
        commands = [_command_line(path) for path in Path("/proc").glob("[0-9]*")]
        return [command for command in commands if str(self.directory) in command]

    def files(self) -> list[Path]:
        """All temporary files and shared memory."""
        private = list(self._temporary.iterdir())
        return private + [region for path in private for region in SHARED_MEMORY.glob(f"{path.name}*")]

    def infer(self, values: list[float]) -> list[float]:
        tensor = {"name": "IN", "shape": [len(values)], "datatype": "FP32", "data": values}
        request = urllib.request.Request(
            f"http://{self.http.url}/v2/models/model/infer", data=json.dumps({"inputs": [tensor]}).encode()
        )
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as response:  # noqa: S310 - our own server
            (output,) = json.load(response)["outputs"]
        data: list[float] = output["data"]
        return data


@contextmanager
def serving(directory: Path, model: str, tree: Path = TREE, options: Sequence[str] = ()) -> Iterator[Serve]:
    """Run `serve` on one Python model whose code is `model`."""
    version = directory / "models" / "model" / "1"
    version.mkdir(parents=True)
    (version / "model.py").write_text(model, encoding="utf-8")
    (version.parent / "config.pbtxt").write_text(CONFIG, encoding="utf-8")
    with started(directory, tree, options) as serve:
        yield serve


@contextmanager
def started(directory: Path, tree: Path, options: Sequence[str] = ()) -> Iterator[Serve]:
    """Run `serve` in a directory with a stray model.py."""
    (directory / "model.py").write_text("raise RuntimeError('a stray file')", encoding="utf-8")
    serve = Serve(directory, tree, options)
    try:
        yield serve
    finally:
        serve.process.kill()
        serve.process.wait()
        serve.wait_for_the_end_of_processes()


def _command_line(process: Path) -> str:
    try:
        return (process / "cmdline").read_text(encoding="utf-8", errors="replace")
    except OSError:  # it has just ended
        return ""


def _files_of(tree: Path) -> set[Path]:
    """All files, but for the one that Python caches before our first line runs (and cannot where it may not write)."""
    return {path for path in tree.rglob("*") if path.is_file() and not path.name.startswith("__main__.cpython")}


def test_it_serves_from_a_checkout_with_spaces_and_leaves_no_trace_there(tmp_path: Path) -> None:
    checkout = tmp_path / "a checkout"
    shutil.copytree(TREE, checkout, ignore=shutil.ignore_patterns(".*", "__pycache__", "tests"))
    before = _files_of(checkout)
    directory = tmp_path / "the user's own"
    directory.mkdir()
    with serving(directory, IDENTITY, tree=checkout) as serve:
        serve.wait_for("\nready: HTTP http://")
        assert serve.infer([1.5, -2.0]) == [1.5, -2.0]
        assert len(serve.files()) > 1
        serve.process.send_signal(signal.SIGTERM)
        assert serve.wait() == 0
    # Python itself caches the entry that it is given, before the entry can forbid it.
    assert {path.name.split(".")[0] for path in _files_of(checkout) - before} <= {"__pycache__", "__main__"}


def test_it_serves_packages_from_a_read_only_checkout_among_files_that_bear_the_names_of_its_rooms(
    tmp_path: Path,
) -> None:
    checkout, directory = tmp_path / "a checkout", tmp_path / "here"
    shutil.copytree(TREE, checkout, ignore=shutil.ignore_patterns(".*", "__pycache__", "tests"))
    rooms = [path.name for path in checkout.iterdir() if path.is_dir()]
    subprocess.run(["chmod", "-R", "a-w", str(checkout)], check=True)
    before = _files_of(checkout)
    directory.mkdir()
    for name in ("triton_pytorch", *rooms):  # the current directory is no place to find modules in
        (directory / f"{name}.py").write_text("raise RuntimeError('a stray file')", encoding="utf-8")
    index, result = [tensor_config("INPUT__0", torch.int64, (2,))], [tensor_config("OUTPUT__0")]
    write_model(directory / "models", "model", package_path("looks_up"), index, result)
    with started(directory, checkout) as serve:
        serve.wait_for("\nready: HTTP http://")
        with tritonclient.http.InferenceServerClient(serve.http.url) as connection:
            answer = Client(tritonclient.http, connection).infer("model", {"INPUT__0": torch.tensor([3, 4])})
        assert torch.equal(answer["OUTPUT__0"], torch.tensor([3.0, 4.0]))
        serve.process.send_signal(signal.SIGINT)
        assert serve.wait() == 0
    assert _files_of(checkout) == before


def test_two_servers_run_side_by_side_and_one_outlives_the_other(tmp_path: Path) -> None:
    directories = [tmp_path / "first", tmp_path / "second"]
    for directory in directories:
        directory.mkdir()
    with serving(directories[0], IDENTITY) as first, serving(directories[1], IDENTITY) as second:
        for serve in (first, second):
            serve.wait_for("\nready: ")
        assert first.infer([1.0]) == [1.0]
        first.process.send_signal(signal.SIGINT)
        assert first.wait() == 0
        assert second.infer([2.0]) == [2.0]
        second.process.kill()  # no chance to clean up: the kernel has to end the server
        second.wait_for_the_end_of_processes()


def test_a_server_that_fails_is_reported_and_cleared_away(tmp_path: Path) -> None:
    with serving(tmp_path, BROKEN, options=["--exit-on-error=true"]) as serve:
        assert serve.wait() == 1
        assert "broken on purpose" in serve.log
        assert serve.log.splitlines()[-1].startswith("error: tritonserver ended by itself with code 1")


def test_a_model_that_does_not_load_is_named_when_the_others_are_ready(tmp_path: Path) -> None:
    with serving(tmp_path, BROKEN) as serve:
        serve.wait_for("\nready: ")
        (line,) = [line for line in serve.log.splitlines() if line.startswith("not loaded: ")]
        assert line.startswith("not loaded: model: ")
        assert "broken on purpose" in line
        serve.process.send_signal(signal.SIGTERM)
        assert serve.wait() == 0


def test_asking_twice_ends_a_server_that_takes_its_time(tmp_path: Path) -> None:
    with serving(tmp_path, UNWILLING) as serve:
        serve.wait_for("\nready: ")
        serve.process.send_signal(signal.SIGINT)
        serve.wait_for("Found 1 live models")
        serve.process.send_signal(signal.SIGINT)
        assert serve.wait() == 0
        assert "Exit timeout expired" not in serve.log
