"""What the files beside a compiled library say of its model, read as text and without torch.

AOTInductor keeps the generated `*.wrapper.cpp` and a `*_metadata.json` beside the library. Their shape belongs to
a torch release: whatever is not found there is unknown (None), never an error and never a guess.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path

_COUNTS = re.compile(
    r"AOTInductorModelBase\(\s*(?P<inputs>\d+),\s*(?P<outputs>\d+),\s*(?P<constants>\d+),"
    r"[^{]*?\b(?P<weights_in_library>true|false)\s*\)\s*\{"
)


@dataclass(frozen=True, slots=True)
class RunnerCounts:
    """What the compiled model takes and returns, and whether its library holds its weights."""

    inputs: int
    outputs: int
    constants: int
    are_weights_in_library: bool


def read_runner_counts(model_directory: Path) -> RunnerCounts | None:
    """Read the counts from the wrapper source in an unpacked model's directory."""
    match = _COUNTS.search(_text_of_first(model_directory, "*.wrapper.cpp"))
    if match is None:
        return None
    return RunnerCounts(
        inputs=int(match["inputs"]),
        outputs=int(match["outputs"]),
        constants=int(match["constants"]),
        are_weights_in_library=match["weights_in_library"] == "true",
    )


def read_device_type(model_directory: Path) -> str | None:
    """Read the device that the model was compiled for: "cpu" or "cuda"."""
    try:
        metadata = json.loads(_text_of_first(model_directory, "*.wrapper_metadata.json"))
        return str(metadata["AOTI_DEVICE_KEY"])
    except (ValueError, TypeError, KeyError):
        return None


def _text_of_first(directory: Path, pattern: str) -> str:
    """Return the text of the first file that matches, or an empty text."""
    files = sorted(directory.glob(pattern))
    return files[0].read_text(encoding="utf-8", errors="replace") if files else ""
