"""Find the model configurations that an older server will refuse although this backend serves them.

A core before release 26.03 does not know `platform: "torch_aoti"` and takes it only together with the name of a
backend that it does not know either (release notes of Triton 26.03, server v2.67.0).
"""

from collections.abc import Iterator
from pathlib import Path

from triton_pytorch.local_server.config_text import find_field, read_config_text

_FIRST_CORE_WITH_TORCH_AOTI = (2, 67, 0)


def knows_torch_aoti(core_version: tuple[int, ...] | None) -> bool:
    """Return whether a core takes `platform: "torch_aoti"` for `backend: "pytorch"`; an unknown one may."""
    return core_version is None or core_version >= _FIRST_CORE_WITH_TORCH_AOTI


def refused_config_remedies(model_repository: Path) -> Iterator[str]:
    """Yield what to change in each config that a core without torch_aoti refuses, as part of a sentence."""
    for config in sorted(model_repository.glob("*/config.pbtxt")):
        text = read_config_text(config)
        platform, backend = find_field(text, "platform"), find_field(text, "backend")
        if platform is None or platform.value != "torch_aoti":
            continue
        if backend is None:
            yield f'add the line backend: "pytorch_python" to {config}'
        elif backend.value == "pytorch":
            yield f'change backend: "pytorch" to backend: "pytorch_python" in line {backend.line} of {config}'
