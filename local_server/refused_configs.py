"""Find the model configurations that an older server will refuse although this backend serves them.

A core before release 26.03 does not know `platform: "torch_aoti"` and takes it only together with the name of a
backend that it does not know either (release notes of Triton 26.03, server v2.67.0).
"""

from dataclasses import dataclass
from pathlib import Path

from triton_pytorch.local_server.config_text import find_field, read_config_text

_FIRST_CORE_WITH_TORCH_AOTI = (2, 67, 0)
_PLATFORM = "torch_aoti"


@dataclass(frozen=True, slots=True)
class RefusedConfig:
    """A config.pbtxt that the core refuses, and the line that says `backend: "pytorch"` (None: no line does)."""

    path: Path
    backend_line: int | None

    @property
    def remedy(self) -> str:
        """What to change, as part of a sentence."""
        if self.backend_line is None:
            return f'add the line backend: "pytorch_python" to {self.path}'
        return f'change backend: "pytorch" to backend: "pytorch_python" in line {self.backend_line} of {self.path}'


def knows_torch_aoti(core_version: tuple[int, ...] | None) -> bool:
    """Return whether a core takes `platform: "torch_aoti"` for `backend: "pytorch"`; an unknown one may."""
    return core_version is None or core_version >= _FIRST_CORE_WITH_TORCH_AOTI


def find_refused_configs(model_repository: Path) -> list[RefusedConfig]:
    """Return the configs of `model_repository` that a core without torch_aoti refuses.

    What cannot be read or parsed is left out: the server says itself what is wrong with it.
    Raises ImportError where tritonclient, which knows the format, is not installed.
    """
    refused = []
    for path in sorted(model_repository.glob("*/config.pbtxt")):
        text = read_config_text(path)
        # Few repositories need tritonclient, which takes a quarter of a second to import.
        if _PLATFORM in text and _is_refused(text):
            refused.append(RefusedConfig(path, _backend_line(text)))
    return refused


def _is_refused(text: str) -> bool:
    from google.protobuf import text_format
    from tritonclient.grpc import model_config_pb2

    try:
        config = text_format.Parse(text, model_config_pb2.ModelConfig(), allow_unknown_field=True)
    except text_format.ParseError:
        return False
    return config.platform == _PLATFORM and config.backend in ("", "pytorch")


def _backend_line(text: str) -> int | None:
    field = find_field(text, "backend")
    return field.line if field is not None else None
