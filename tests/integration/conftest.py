"""Drives model.py as Triton's stub does, with a fake of Triton's module and a repository in a temporary folder."""

import importlib.util
import json
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch

from triton_pytorch.tests.assets.configs import model_config
from triton_pytorch.tests.assets.packages import package_path
from triton_pytorch.tests.integration import fake_triton

ROOT = Path(__file__).resolve().parents[2]


@dataclass
class ServedModel:
    """One instance of a model behind the fake."""

    entry: Any
    logger: fake_triton.Logger
    output_names: list[str] = field(default_factory=list)

    def request(self, inputs: Mapping[str, torch.Tensor], outputs: list[str] | None = None) -> Any:
        """Make a request whose tensors lie in unaligned memory."""
        tensors = [fake_triton.Tensor(name, fake_triton.unaligned(data)) for name, data in inputs.items()]
        return fake_triton.InferenceRequest(tensors, self.output_names if outputs is None else outputs)

    def execute(self, *requests: Any) -> list[Any]:
        """Run one `execute` with these requests."""
        responses: list[Any] = self.entry.execute(list(requests))
        return responses

    def infer(self, inputs: Mapping[str, torch.Tensor], outputs: list[str] | None = None) -> dict[str, torch.Tensor]:
        """Answer one request; fails where the answer is an error."""
        (response,) = self.execute(self.request(inputs, outputs))
        assert response.error() is None, response.error().message()
        return {tensor.name(): tensor.data for tensor in response.output_tensors()}

    def failure(self, inputs: Mapping[str, torch.Tensor]) -> str:
        """Answer one request that must fail; returns the sentence with its code before it."""
        (response,) = self.execute(self.request(inputs))
        assert response.error() is not None
        return f"{response.error().code()}: {response.error().message()}"


Serve = Callable[..., ServedModel]


@pytest.fixture
def triton(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The fake in place of Triton's module, empty as at import."""
    module = fake_triton.fake_module()
    monkeypatch.setitem(sys.modules, "triton_python_backend_utils", module)
    return module


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store of its own for each test."""
    path = tmp_path / "store"
    monkeypatch.setenv("TRITON_PYTORCH_STORE", str(path))
    return path


@pytest.fixture
def serve(triton: Any, store: Path, tmp_path: Path) -> Iterator[Serve]:
    """A function that serves a package (by its builder's name) or any file, under a config."""
    opened: list[Any] = []

    def serve_model(
        package: str | Path,
        inputs: list[Any],
        outputs: list[Any],
        *,
        kind: str = "CPU",
        file_name: str = "model.pt2",
        **config: Any,
    ) -> ServedModel:
        version_directory = tmp_path / "model" / "1"
        version_directory.mkdir(parents=True, exist_ok=True)
        source = package_path(package) if isinstance(package, str) else package
        shutil.copy(source, version_directory / file_name)
        entry = load_entry(triton)
        logger = fake_triton.fill(triton)
        entry.initialize(arguments(tmp_path / "model", kind, inputs, outputs, config))
        opened.append(entry)
        return ServedModel(entry, logger, [output["name"] for output in outputs])

    yield serve_model
    for entry in opened:
        entry.finalize()


def load_entry(triton: Any, path: Path = ROOT / "model.py") -> Any:
    """Import model.py as the stub does and make its class."""
    spec = importlib.util.spec_from_file_location("1.model", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.TritonPythonModel()


def arguments(
    model_directory: Path, kind: str, inputs: list[Any], outputs: list[Any], config: Mapping[str, Any]
) -> dict[str, str]:
    """Make the `args` of `initialize`."""
    document = {"name": "m", **model_config(inputs, outputs, **config)}
    return {
        "model_config": json.dumps(document),
        "model_name": "m",
        "model_instance_name": "m_0_0",
        "model_instance_kind": kind,
        "model_instance_device_id": "0",
        "model_repository": str(model_directory),
        "model_version": "1",
    }
