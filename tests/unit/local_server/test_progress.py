"""How a long step is reported."""

import io
import threading

import pytest

from triton_pytorch.local_server import progress as progress_module
from triton_pytorch.local_server.progress import progress


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class _Ticking(io.StringIO):
    """A log file that signals its third line."""

    def __init__(self) -> None:
        super().__init__()
        self.has_ticked = threading.Event()

    def write(self, text: str) -> int:
        written = super().write(text)
        if self.getvalue().count("\n") >= 3:
            self.has_ticked.set()
        return written


def test_progress_log_start_and_end() -> None:
    stream = io.StringIO()
    with progress("compiling", stream):
        pass
    assert stream.getvalue() == "compiling ...\ncompiling: done after 0 s\n"


def test_progress_log_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress_module, "_LOG_INTERVAL_S", 0.001)
    stream = _Ticking()
    with progress("compiling", stream):
        assert stream.has_ticked.wait(timeout=60)
    assert stream.getvalue().splitlines()[1] == "compiling ... 0 s"


def test_progress_terminal_one_line() -> None:
    stream = _Terminal()
    with progress("compiling", stream):
        pass
    assert stream.getvalue().count("\n") == 1
    assert stream.getvalue().endswith("\rcompiling: done after 0 s\x1b[K\n")


def test_progress_failed_step() -> None:
    stream = io.StringIO()
    with pytest.raises(ValueError, match="no"), progress("compiling", stream):
        raise ValueError("no")
    assert stream.getvalue().splitlines()[-1] == "compiling: failed after 0 s"
