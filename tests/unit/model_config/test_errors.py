"""Every error carries a code that Triton knows."""

from collections.abc import Iterator

import pytest

from triton_pytorch.model_config.errors import BackendError, first_line

# The attributes of TritonError in triton_python_backend_utils of release 24.10.
CODES = {"UNKNOWN", "INTERNAL", "NOT_FOUND", "INVALID_ARG", "UNAVAILABLE", "UNSUPPORTED", "ALREADY_EXISTS", "CANCELLED"}


def _classes(base: type[BackendError]) -> Iterator[type[BackendError]]:
    yield base
    for derived in base.__subclasses__():
        yield from _classes(derived)


@pytest.mark.parametrize("error", [*_classes(BackendError)], ids=lambda error: error.__name__)
def test_every_error_has_a_code_and_says_what_it_is(error: type[BackendError]) -> None:
    assert error.code in CODES
    assert error.__doc__
    assert error.__name__.endswith("Error")


@pytest.mark.parametrize(
    ("text", "line"),
    [("what\nframe #0: c10\nframe #1", "what"), ("\n  what  \n", "what"), ("", "RuntimeError")],
)
def test_only_the_first_line_reaches_users(text: str, line: str) -> None:
    assert first_line(RuntimeError(text)) == line
