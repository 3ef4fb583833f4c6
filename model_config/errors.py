"""Every error this backend raises on purpose, and the Triton code that each one answers with.

    BackendError              INTERNAL
    |-- ConfigError           INVALID_ARG   config.pbtxt is wrong, or contradicts the model
    |   `-- NamingError       INVALID_ARG   a declared tensor does not name exactly one leaf
    |-- ArtifactError         INVALID_ARG   the model's file is not what it has to be
    |   `-- ArtifactMissingError  NOT_FOUND
    |-- UnsupportedError      UNSUPPORTED   well formed, but this backend does not do it
    |-- PlacementError        UNAVAILABLE   the device asked for is not there
    |-- StoreError            UNAVAILABLE   the store of unpacked archives cannot be used
    |-- LaunchError           UNAVAILABLE   a server cannot be found, assembled or started
    |-- RequestError          INVALID_ARG   one request is wrong; the next may be right
    |-- CancelledError        CANCELLED     the client has given up on a request that was still waiting
    `-- ModelRunError         INTERNAL      the model itself failed on a request

The codes are the attribute names of Triton's `TritonError`; only model.py knows that class.
"""

from typing import ClassVar


class BackendError(Exception):
    """Base of all errors whose text is meant for the user: one sentence with what, where, expected and got."""

    code: ClassVar[str] = "INTERNAL"


class ConfigError(BackendError):
    """config.pbtxt says something that cannot be, or that contradicts the model."""

    code = "INVALID_ARG"


class NamingError(ConfigError):
    """A declared tensor does not name exactly one leaf of the model, or a leaf cannot be named."""


class ArtifactError(BackendError):
    """The model's file is not what it has to be: wrong kind, damaged, or built for something else."""

    code = "INVALID_ARG"


class ArtifactMissingError(ArtifactError):
    """The version directory holds no file to serve."""

    code = "NOT_FOUND"


class UnsupportedError(BackendError):
    """The request or configuration is well formed, but asks for what this backend does not do."""

    code = "UNSUPPORTED"


class PlacementError(BackendError):
    """The device that the instance group asks for is not there."""

    code = "UNAVAILABLE"


class StoreError(BackendError):
    """The store of unpacked archives cannot be used: no space, no execute permission, not ours."""

    code = "UNAVAILABLE"


class LaunchError(BackendError):
    """A tritonserver cannot be found, assembled or started on this machine."""

    code = "UNAVAILABLE"


class RequestError(BackendError):
    """One request is wrong; the next one may be right."""

    code = "INVALID_ARG"


class CancelledError(BackendError):
    """The client has given up on a request that was still waiting."""

    code = "CANCELLED"


class ModelRunError(BackendError):
    """The model itself failed on a request; `whole` is all that it said, for the server's log alone."""

    def __init__(self, text: str, *, whole: str | None = None) -> None:
        super().__init__(text)
        self.whole = whole


def first_line(error: BaseException) -> str:
    """Return the first line of an error's text: what torch said, without the C++ frames below it."""
    lines = str(error).strip().splitlines()
    return lines[0].strip() if lines else type(error).__name__
