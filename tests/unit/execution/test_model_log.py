"""The log of a model tells each kind of failure, and never more lines than someone can read."""

from triton_pytorch.execution.model_log import FAILURES_A_SECOND, ModelLog
from triton_pytorch.tests.integration.fake_triton import Logger


class Clock:
    """A clock that tests move."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def a_log() -> tuple[ModelLog, Logger, Clock]:
    logger, clock = Logger(), Clock()
    return ModelLog("m", logger, clock), logger, clock


def test_level() -> None:
    log, logger, _ = a_log()
    log.failed_request("model 'm': bad shape", is_client_error=True)
    log.failed_request("model 'm': unlucky")
    assert logger.lines == [
        ("warn", "a request failed: model 'm': bad shape"),
        ("error", "a request failed: model 'm': unlucky"),
    ]


def test_failures_within_a_second() -> None:
    log, logger, clock = a_log()
    for number in range(FAILURES_A_SECOND + 3):
        clock.now += 0.05
        log.failed_request(str(number))
    assert [line for _, line in logger.lines] == [f"a request failed: {number}" for number in range(FAILURES_A_SECOND)]
    log.tell_number()  # the second is not over
    assert len(logger.lines) == FAILURES_A_SECOND
    clock.now += 1
    log.tell_number()
    log.tell_number()
    assert logger.lines[FAILURES_A_SECOND:] == [("error", "model 'm': 3 more requests failed within a second")]


def test_failures_of_the_next_second() -> None:
    log, logger, clock = a_log()
    for _ in range(3):
        for _ in range(FAILURES_A_SECOND + 1):
            log.failed_request("again")
        clock.now += 1.5
    log.tell_number()
    assert len(logger.lines) == 3 * (FAILURES_A_SECOND + 1)


def test_few_failures() -> None:
    log, logger, clock = a_log()
    for _ in range(2 * FAILURES_A_SECOND):
        log.failed_request("once in a while")
        clock.now += 1
    log.tell_number(at_once=True)
    assert len(logger.lines) == 2 * FAILURES_A_SECOND


def test_what_every_request_would_repeat() -> None:
    log, logger, _ = a_log()
    for _ in range(3):
        log.warn_once("topic", "not merged")
    log.warn_once("other", "not merged either")
    assert logger.lines == [("warn", "model 'm': not merged"), ("warn", "model 'm': not merged either")]
