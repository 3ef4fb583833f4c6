"""Find the models whose Python file is missing: tritonserver 2.51 waits for it without end and opens no port."""

import re
from pathlib import Path

from triton_pytorch.model_config.errors import LaunchError

_PYTHON_BACKEND = re.compile(r"""^[^#\n]*?\bbackend\s*:\s*["']python["']""", re.MULTILINE)
_FILE_NAME = re.compile(r"""^[^#\n]*?\bdefault_model_filename\s*:\s*["']([^"']+)["']""", re.MULTILINE)
_DEFAULT_FILE_NAME = "model.py"
_TREE = Path(__file__).resolve().parents[1]


def check_python_entries(model_repository: Path) -> None:
    """Raise LaunchError where a version of a model with `backend: "python"` lacks its Python file."""
    for config in sorted(model_repository.glob("*/config.pbtxt")):
        text = config.read_text(encoding="utf-8", errors="replace")
        if _PYTHON_BACKEND.search(text):
            named = _FILE_NAME.search(text)
            _check_versions(config.parent, named[1] if named else _DEFAULT_FILE_NAME)


def _check_versions(model: Path, file_name: str) -> None:
    for version in model.iterdir():
        if version.name.isdecimal() and version.is_dir() and not (version / file_name).exists():
            raise LaunchError(
                f"'{version / file_name}' does not exist, and the server would not start: "
                f"link it to '{_TREE / 'model.py'}', or use another backend than \"python\""
            )
