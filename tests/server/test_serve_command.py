"""`serve` with a real tritonserver: it answers, stops cleanly, and leaves nothing behind."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

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
STRAY = "raise RuntimeError('a stray file')"
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
def serving(
    directory: Path, models: Mapping[str, str], tree: Path = TREE, options: Sequence[str] = ()
) -> Iterator[Serve]:
    """Run `serve` in a directory with a stray model.py, on Python models: name and code of each."""
    for name, code in models.items():
        version = directory / "models" / name / "1"
        version.mkdir(parents=True)
        (version / "model.py").write_text(code, encoding="utf-8")
        (version.parent / "config.pbtxt").write_text(CONFIG, encoding="utf-8")
    (directory / "model.py").write_text(STRAY, encoding="utf-8")
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


def test_serve_leaves_the_checkout_unchanged(tmp_path: Path) -> None:
    checkout, directory = tmp_path / "a checkout", tmp_path / "the user's own"
    shutil.copytree(TREE, checkout, ignore=shutil.ignore_patterns(".*", "__pycache__", "tests"))
    before = _files_of(checkout)
    directory.mkdir()
    for package in ("triton_pytorch", *(path.name for path in checkout.iterdir() if path.is_dir())):
        (directory / f"{package}.py").write_text(STRAY, encoding="utf-8")  # modules are not looked for here
    tensors = [tensor_config("INPUT__0", torch.int64, (2,))], [tensor_config("OUTPUT__0")]
    named: dict[str, Any] = {
        "file_name": "it's (a & b).pt2",
        "parameters": {"DEFAULT_MODEL_FILENAME": "it's (a & b).pt2"},
    }
    write_model(directory / "models", "package", package_path("looks_up"), *tensors, **named)
    with serving(directory, {"model": IDENTITY, "broken": BROKEN}, checkout) as serve:
        serve.wait_for("\nready: HTTP http://")
        (line,) = [line for line in serve.log.splitlines() if line.startswith("not loaded: ")]
        assert line.startswith("not loaded: broken: ")
        assert "broken on purpose" in line
        assert serve.infer([1.5, -2.0]) == [1.5, -2.0]
        with tritonclient.http.InferenceServerClient(serve.http.url) as connection:
            answer = Client(tritonclient.http, connection).infer("package", {"INPUT__0": torch.tensor([3, 4])})
        assert torch.equal(answer["OUTPUT__0"], torch.tensor([3.0, 4.0]))
        assert len(serve.files()) > 1
        serve.process.send_signal(signal.SIGINT)
        assert serve.wait() == 0
    assert _files_of(checkout) == before


def test_serve_names_the_models_that_core_refuses(tmp_path: Path) -> None:
    configs = {
        "unknown_field": 'backend: "pytorch"\ndefault_model_name: "a.pt2"\n',
        "syntax": 'backend: "pytorch"\ninput [ { name: "x" data_type: TYPE_FP32 dims: [ 1 }',
        "platform": 'platform: "torch"\n',
        "pair": 'backend: "pytorch"\nplatform: "libtorch"\n',
        "other_name": 'backend: "pytorch"\nname: "another"\n',
        "no_version": 'backend: "pytorch"\n',
        "no_backend": "max_batch_size: 1\n",
    }
    for name, config in configs.items():
        (tmp_path / "models" / name).mkdir(parents=True)
        (tmp_path / "models" / name / "config.pbtxt").write_text(config, encoding="utf-8")
    unknown = "no field named \"default_model_name\"; did you mean 'default_model_filename'?"
    expected = {
        "unknown_field": f'line 2 of CONFIG: Message type "inference.ModelConfig" has {unknown}',
        "syntax": 'line 2 of CONFIG: Expected ",", found "}"',
        "platform": "line 1 of CONFIG: unexpected platform type 'torch' for platform: the platforms",
        "pair": "line 2 of CONFIG: unexpected 'platform' and 'backend' pair, got:libtorch, pytorch: change line",
        "other_name": "line 2 of CONFIG: unexpected directory name 'other_name' for model 'another', directory",
        "no_version": "at least one version must be available under the version policy of model 'no_version': put",
        "no_backend": 'CONFIG: it names no backend: add backend: "pytorch_python"',
        "broken": "Internal: RuntimeError: broken on purpose",
    }
    with serving(tmp_path, {"model": IDENTITY, "broken": BROKEN}) as serve:
        serve.wait_for("\nready: HTTP http://")
        assert serve.infer([1.5, -2.0]) == [1.5, -2.0]
        said = dict(re.findall(r"^not loaded: (\w+): (.*)$", serve.log, re.MULTILINE))
        assert said.keys() == expected.keys()
        for name, sentence in expected.items():
            path = str(tmp_path / "models" / name / "config.pbtxt")
            assert said[name].replace(path, "CONFIG").startswith(sentence)
        assert "; 1 model ready, 8 refused; Ctrl-C stops" in serve.log
        serve.process.send_signal(signal.SIGTERM)
        assert serve.wait() == 0


@pytest.mark.parametrize("name", ["my model.pt2", "a&b$c.pt2"])
def test_serve_refuses_a_file_name_that_a_shell_changes(tmp_path: Path, name: str) -> None:
    (tmp_path / "models").mkdir()
    write_model(tmp_path / "models", "m", package_path("looks_up"), [], [], default_model_filename=name)
    with serving(tmp_path, {"model": IDENTITY}) as serve:
        assert serve.process.wait(PATIENCE_S) == 2
        (line,) = serve.log.splitlines()
    assert line.startswith("error: Triton's Python backend cannot start a model with default_model_filename: ")
    assert f'parameters {{ key: "DEFAULT_MODEL_FILENAME" value {{ string_value: "{name}" }} }}' in line


def test_serve_side_by_side(tmp_path: Path) -> None:
    directories = [tmp_path / "first", tmp_path / "second"]
    for directory in directories:
        directory.mkdir()
    with (
        serving(directories[0], {"model": UNWILLING}) as first,
        serving(directories[1], {"model": IDENTITY}) as second,
    ):
        for serve in (first, second):
            serve.wait_for("\nready: ")
        first.process.send_signal(signal.SIGTERM)
        first.wait_for("Found 1 live models")
        first.process.send_signal(signal.SIGINT)  # asked twice, a server that takes its time is ended
        assert first.wait() == 0
        assert "Exit timeout expired" not in first.log
        assert second.infer([2.0]) == [2.0]
        second.process.kill()  # no chance to clean up: the kernel has to end the server
        second.wait_for_the_end_of_processes()


def test_serve_a_server_that_ends_by_itself(tmp_path: Path) -> None:
    with serving(tmp_path, {"model": BROKEN}, options=["--exit-on-error=true"]) as serve:
        assert serve.wait() == 1
        assert "broken on purpose" in serve.log
        assert serve.log.splitlines()[-1].startswith("error: tritonserver ended by itself with code 1")
