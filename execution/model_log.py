"""The server's log for one model: each line with the model's name, and what every request would repeat only once."""

from triton_pytorch.execution.interfaces import Logger


class ModelLog:
    """Logs what concerns one model."""

    def __init__(self, model_name: str, logger: Logger) -> None:
        self._model_name = model_name
        self._logger = logger
        self._logged: set[str] = set()

    def internal_error(self, trace: str) -> None:
        """Log an error that nobody foresaw, whole."""
        self._logger.log_error(f"internal error in model '{self._model_name}':\n{trace}")

    def failure(self, whole: str) -> None:
        """Log all that a model said of a failure, such as the line of its code, at the verbose level.

        Any client can make a model fail, as often as it likes: that must not fill the log of every server.
        """
        self._logger.log_verbose(f"model '{self._model_name}' failed:\n{whole}")

    def error_once(self, topic: str, text: str) -> None:
        """Log an error of the model or its config the first time; the next request would say the same."""
        if self._is_new(topic):
            self._logger.log_error(f"model '{self._model_name}': {text}")

    def warn_once(self, topic: str, text: str) -> None:
        """Log the first time what costs speed and no answer."""
        if self._is_new(topic):
            self._logger.log_warn(f"model '{self._model_name}': {text}")

    def _is_new(self, topic: str) -> bool:
        is_new = topic not in self._logged
        self._logged.add(topic)
        return is_new
