"""Real tritonservers for tests: one for each module, with all its models started at once, and its log on failure."""

import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch
import tritonclient.grpc
import tritonclient.http
from tritonclient.utils import InferenceServerException, np_to_triton_dtype

from triton_pytorch.local_server.server import Server
from triton_pytorch.tests.assets.configs import as_pbtxt, model_config, tensor_config

ROOT = Path(__file__).resolve().parents[2]
LOG_TAIL_CHARACTERS = 20_000
PATIENCE_S = 30.0
RUNNING: list[Server] = []


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Any:
    """Put the log of every running server into the report of a failed test."""
    report = yield
    if report.failed:
        report.sections += [("tritonserver's log", server.log[-LOG_TAIL_CHARACTERS:]) for server in RUNNING]
    return report


StartServer = Callable[..., Server]


@pytest.fixture(scope="module")
def start_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StartServer]:
    """A function that starts a server on a repository, with a store of its own, and waits until it is ready."""
    started: list[Server] = []

    def start(repository: Path, *options: str, environment: Mapping[str, str] | None = None) -> Server:
        store = {"TRITON_PYTORCH_STORE": str(tmp_path_factory.mktemp("store"))}
        server = Server(
            repository, options=["--exit-on-error=false", *options], environment={**store, **(environment or {})}
        )
        started.append(server)
        RUNNING.append(server)
        server.wait_until_ready()
        return server

    yield start
    for server in started:
        RUNNING.remove(server)
        server.stop()


def write_model(
    repository: Path, name: str, package: Path, inputs: list[Any], outputs: list[Any], **config: Any
) -> Path:
    """Write a model into a repository and return its version directory; the package is linked, as `file_name`."""
    file_name = config.pop("file_name", None) or config.get("default_model_filename", "model.pt2")
    version_directory = repository / name / "1"
    version_directory.mkdir(parents=True)
    (repository / name / "config.pbtxt").write_text(as_pbtxt(model_config(inputs, outputs, **config)), encoding="utf-8")
    (version_directory / file_name).symlink_to(package)
    return version_directory


def write_script(
    repository: Path, name: str, archive: Path, inputs: list[Any], outputs: list[Any], **config: Any
) -> Path:
    """Write a TorchScript model as `write_model` does; a mere name is a tensor of FP32 in one dynamic dimension."""
    named = [[tensor_config(it) if isinstance(it, str) else it for it in tensors] for tensors in (inputs, outputs)]
    usual = {"platform": "pytorch_libtorch", "file_name": "model.pt"}
    return write_model(repository, name, archive, *named, **{**usual, **config})


def merging(rows: int) -> dict[str, Any]:
    """Make a config under which Triton waits for so many rows, and for no more of them."""
    delayed = {"preferred_batch_size": [rows], "max_queue_delay_microseconds": 20_000_000}
    return {"max_batch_size": 4 * rows, "dynamic_batching": delayed}


@dataclass(frozen=True, slots=True)
class Client:
    """A client of one protocol that takes and gives torch tensors, and strings as arrays of bytes."""

    library: Any
    connection: Any

    def infer(self, model: str, inputs: Mapping[str, Any], outputs: list[str] | None = None) -> dict[str, Any]:
        """Ask a model for some of its outputs, or all; raises InferenceServerException with the server's text."""
        requested = None if outputs is None else [self.library.InferRequestedOutput(name) for name in outputs]
        answer = self.connection.infer(model, [self._input(*item) for item in inputs.items()], outputs=requested)
        return {name: _as_value(answer.as_numpy(name)) for name in _output_names(answer)}

    def failure(self, model: str, inputs: Mapping[str, Any], outputs: list[str] | None = None) -> str:
        """Ask a model that must not answer; returns the error's text."""
        with pytest.raises(InferenceServerException) as caught:
            self.infer(model, inputs, outputs)
        return str(caught.value.message())

    def is_ready(self, model: str) -> bool:
        """Return whether the server calls a model ready."""
        return bool(self.connection.is_model_ready(model))

    def _input(self, name: str, value: Any) -> Any:
        array = _as_array(value) if isinstance(value, torch.Tensor) else value
        infer_input = self.library.InferInput(name, list(value.shape), np_to_triton_dtype(array.dtype))
        return infer_input.set_data_from_numpy(array)


def _output_names(answer: Any) -> list[str]:
    response = answer.get_response()
    if isinstance(response, dict):
        return [output["name"] for output in response["outputs"]]
    return [output.name for output in response.outputs]


def _as_array(tensor: torch.Tensor) -> Any:
    if tensor.dtype is torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return tensor.numpy()


def _as_value(array: Any) -> Any:
    if array.dtype == np.object_:
        return array
    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.view("int16").copy()).view(torch.bfloat16)
    return torch.from_numpy(array.copy())


def texts(*contents: str | bytes) -> Any:
    """Make an array of strings as clients send them, in one dimension."""
    array = np.empty(len(contents), dtype=np.object_)
    array[:] = [text.encode() if isinstance(text, str) else text for text in contents]
    return array


def connect(server: Server, protocol: str) -> Client:
    """Connect to a server over "http" or "grpc"."""
    library = {"http": tritonclient.http, "grpc": tritonclient.grpc}[protocol]
    url = server.http_url if protocol == "http" else server.grpc_url
    return Client(library, library.InferenceServerClient(url))


@pytest.fixture(scope="module", params=["http", "grpc"])
def client(server: Server, request: pytest.FixtureRequest) -> Iterator[Client]:
    """A client of each protocol for the module's server; a stopping tritonserver waits for open HTTP connections."""
    connected = connect(server, request.param)
    with connected.connection:
        yield connected


Answer = dict[str, Any] | str  # the outputs, or the text of the error


def infer_at_once(
    server: Server, model: str, requests: Sequence[Mapping[str, Any]], outputs: list[str] | None = None
) -> list[Answer]:
    """Send requests at the same time, each from a client of its own, over HTTP and gRPC in turn."""

    def infer(number: int, inputs: Mapping[str, Any]) -> Answer:
        client = connect(server, ("http", "grpc")[number % 2])
        with client.connection:
            try:
                return client.infer(model, inputs, outputs)
            except InferenceServerException as error:
                return str(error.message())

    with ThreadPoolExecutor(len(requests)) as pool:
        return list(pool.map(infer, range(len(requests)), requests))


def assert_equal(answer: Answer, expected: Mapping[str, Any]) -> None:
    """Compare an answer with tensors, and with lists of bytes or text for strings."""
    assert isinstance(answer, dict), answer
    assert answer.keys() == expected.keys()
    for name, value in expected.items():
        if isinstance(value, torch.Tensor):
            assert answer[name].dtype is value.dtype, name
            assert torch.equal(answer[name], value), name
        else:
            assert answer[name].ravel().tolist() == texts(*value).tolist(), name


@dataclass(frozen=True, slots=True)
class Statistics:
    """What Triton counted for a model since it was loaded: requests, their rows, and calls of `execute`."""

    successes: int
    failures: int
    rows: int
    executions: int


def statistics(server: Server, model: str, requests: int) -> Statistics:
    """Return the statistics of a model once they hold all its requests, which Triton counts after it has answered."""
    deadline = time.monotonic() + PATIENCE_S
    with tritonclient.http.InferenceServerClient(server.http_url) as client:
        while True:
            (counted,) = client.get_inference_statistics(model)["model_stats"]
            successes, failures = (counted["inference_stats"][outcome]["count"] for outcome in ("success", "fail"))
            if successes + failures >= requests:
                return Statistics(successes, failures, counted["inference_count"], counted["execution_count"])
            assert time.monotonic() < deadline, f"{requests} requests were sent to {model}, but Triton counts {counted}"
            time.sleep(0.02)


def failed_requests(server: Server, model: str) -> int:
    """Return what our counter of failed requests says in Triton's metrics."""
    (url,) = (endpoint.url for endpoint in server.endpoints if endpoint.name == "metrics")
    with urllib.request.urlopen(f"http://{url}/metrics", timeout=PATIENCE_S) as response:
        lines = response.read().decode().splitlines()
    labels = f'{{model="{model}",version="1"}}'
    (value,) = (line.split()[-1] for line in lines if line.startswith(f"triton_pytorch_failed_requests{labels}"))
    return int(float(value))


def load_errors(server: Server) -> dict[str, str]:
    """Return the reason of each model that is not ready, from the repository index."""
    with tritonclient.http.InferenceServerClient(server.http_url) as client:
        index = client.get_model_repository_index()
    return {entry["name"]: entry.get("reason", "") for entry in index if entry.get("state") != "READY"}
