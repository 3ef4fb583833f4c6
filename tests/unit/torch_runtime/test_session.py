"""A session sets the grad mode, and on CUDA the device and the stream, and waits for the device at its end."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest
import torch

from triton_pytorch.model_config.parameters import read_parameters
from triton_pytorch.torch_runtime.session import RunMode, device_scope, run_mode

CPU = torch.device("cpu")
GPU = torch.device("cuda", 3)


@pytest.mark.parametrize(
    ("parameters", "mode"),
    [
        ({}, RunMode(inference_mode=True, cleans_cache=False)),
        ({"INFERENCE_MODE": "false"}, RunMode(inference_mode=False, cleans_cache=False)),
        ({"ENABLE_CACHE_CLEANING": "true"}, RunMode(inference_mode=True, cleans_cache=True)),
    ],
)
def test_run_mode_from_parameters(parameters: dict[str, str], mode: RunMode) -> None:
    assert run_mode(read_parameters(parameters)) == mode


@pytest.mark.parametrize("cleans_cache", [False, True])
def test_session_on_the_cpu(cleans_cache: bool) -> None:
    assert RunMode(True, cleans_cache).session_on(CPU) is torch.inference_mode
    assert RunMode(False, cleans_cache).session_on(CPU) is torch.no_grad


class FakeStream:
    """A stream that records what is waited for."""

    def __init__(self, device: torch.device, events: list[Any]) -> None:
        self._events = events
        events.append(("made for", device))

    def synchronize(self) -> None:
        self._events.append("synchronised")


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What is done with CUDA, on a machine that need not have it."""
    recorded: list[Any] = []

    @contextmanager
    def entered(what: str, value: Any) -> Iterator[None]:
        recorded.append((what, value))
        yield
        recorded.append(f"{what} left")

    def current(what: str) -> Any:
        return lambda value: entered(what, value if isinstance(value, torch.device) else type(value))

    monkeypatch.setattr(torch.cuda, "Stream", lambda device: FakeStream(device, recorded))
    monkeypatch.setattr(torch.cuda, "device", current("device"))
    monkeypatch.setattr(torch.cuda, "stream", current("stream"))
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: recorded.append("emptied"))
    return recorded


@pytest.mark.parametrize("cleans_cache", [False, True])
@pytest.mark.parametrize("inference_mode", [False, True])
def test_session_on_cuda(events: list[Any], inference_mode: bool, cleans_cache: bool) -> None:
    session = RunMode(inference_mode, cleans_cache).session_on(GPU)
    assert events == [("made for", GPU)]
    for _ in range(2):  # on one stream
        events.clear()
        with session():
            events.append("run")
            assert torch.is_inference_mode_enabled() is inference_mode
            assert not torch.is_grad_enabled()
        assert events == [
            ("device", GPU),
            ("stream", FakeStream),
            "run",
            "synchronised",
            "stream left",
            "device left",
            *["emptied"] * cleans_cache,
        ]


def test_session_device_error(events: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: FakeStream) -> None:
        raise RuntimeError("CUDA error")

    session = RunMode().session_on(GPU)
    monkeypatch.setattr(FakeStream, "synchronize", fail)
    with pytest.raises(RuntimeError, match="CUDA error"), session():
        pass
    assert not torch.is_inference_mode_enabled()


@pytest.mark.parametrize(("device", "entered"), [(None, []), (CPU, []), (GPU, [("device", GPU), "device left"])])
def test_device_while_a_model_is_loaded(events: list[Any], device: torch.device | None, entered: list[Any]) -> None:
    scope: AbstractContextManager[Any] = device_scope(device)
    with scope:
        pass
    assert events == entered
