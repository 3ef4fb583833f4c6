"""Report the steps of a long task on the terminal, with the seconds that each takes."""

import contextlib
import sys
import threading
import time
from collections.abc import Iterator
from typing import TextIO

_LOG_INTERVAL_S = 30.0
_TERMINAL_INTERVAL_S = 1.0


@contextlib.contextmanager
def progress(step: str, stream: TextIO | None = None) -> Iterator[None]:
    """Report on `stream` (stderr) that `step` begins, goes on, and ends with the block, with the seconds it took.

    A terminal shows one line that ticks every second, anything else gets a line every half minute.
    """
    shown = _Line(step, stream or sys.stderr)
    ended = threading.Event()
    ticker = threading.Thread(target=shown.tick_until, args=(ended,), daemon=True)
    ticker.start()
    outcome = "failed"
    try:
        yield
        outcome = "done"
    finally:
        ended.set()
        ticker.join()
        shown.end(outcome)


class _Line:
    def __init__(self, step: str, stream: TextIO) -> None:
        self._step = step
        self._stream = stream
        self._started = time.monotonic()
        self._is_terminal = stream.isatty()

    def tick_until(self, ended: threading.Event) -> None:
        self._write(f"{self._step} ...")
        while not ended.wait(_TERMINAL_INTERVAL_S if self._is_terminal else _LOG_INTERVAL_S):
            self._write(f"{self._step} ... {self._seconds()} s")

    def end(self, outcome: str) -> None:
        self._write(f"{self._step}: {outcome} after {self._seconds()} s", last=True)

    def _seconds(self) -> int:
        return int(time.monotonic() - self._started)

    def _write(self, text: str, *, last: bool = False) -> None:
        # \r goes back to the start of the line, \x1b[K erases what the text before left there.
        line = f"\r{text}\x1b[K" if self._is_terminal else text
        print(line, end="" if self._is_terminal and not last else "\n", file=self._stream, flush=True)
