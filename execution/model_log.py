"""The server's log for one model: each line with the model's name, and no more lines than someone can read."""

from collections.abc import Callable
from time import monotonic

from triton_pytorch.execution.interfaces import Logger

# Clients that fail often do so again at once, and a line takes up to 0.4 ms.
FAILURES_A_SECOND = 10


class ModelLog:
    """Logs what concerns one model."""

    def __init__(self, model_name: str, logger: Logger, clock: Callable[[], float] = monotonic) -> None:
        self._model_name = model_name
        self._logger = logger
        self._clock = clock
        self._logged: set[str] = set()
        self._second_began = -1.0
        self._failures = 0  # since then

    def failed_request(self, text: str, *, is_client_error: bool = False) -> None:
        """Log why a request failed; from the eleventh within a second on, only their number afterwards."""
        self.tell_number()
        if self._failures == 0:
            self._second_began = self._clock()
        self._failures += 1
        if self._failures <= FAILURES_A_SECOND:
            log = self._logger.log_warn if is_client_error else self._logger.log_error
            log(f"a request failed: {text}")

    def tell_number(self, *, at_once: bool = False) -> None:
        """Log how many requests failed within a second beyond those that were logged, once it is over."""
        if not self._failures or not (at_once or self._clock() >= self._second_began + 1):
            return
        more = self._failures - FAILURES_A_SECOND
        self._failures = 0
        if more > 0:
            self._logger.log_error(f"model '{self._model_name}': {more} more requests failed within a second")

    def warn_once(self, topic: str, text: str) -> None:
        """Log the first time what costs speed and no answer."""
        if topic not in self._logged:
            self._logged.add(topic)
            self._logger.log_warn(f"model '{self._model_name}': {text}")
