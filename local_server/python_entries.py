"""Find the models whose Python file keeps tritonserver 2.51 from opening its ports: it hangs, and says nothing.

Triton's Python backend writes `default_model_filename` without quotes into a command line of bash, also where the file
is not a Python file, and waits without end for a stub that bash did not start, or that does not find model.py.
"""

from pathlib import Path

from triton_pytorch.local_server.backend_directory import PYTORCH_NAMES
from triton_pytorch.local_server.config_text import find_field, read_config_text
from triton_pytorch.local_server.environment import is_changed_by_shell
from triton_pytorch.model_config.errors import LaunchError

_DEFAULT_FILE_NAME = "model.py"
_TREE = Path(__file__).resolve().parents[1]
_OF_PYTORCH = ("torch_aoti", "pytorch_libtorch")  # platforms for which core fills in backend "pytorch"


def check_python_entries(model_repository: Path) -> None:
    """Check the models that run in Triton's Python backend: those of `backend: "python"` and those of this backend.

    Raises LaunchError for a file name that bash would change, and where a version of a model with `backend: "python"`
    lacks its Python file.
    """
    for config in sorted(model_repository.glob("*/config.pbtxt")):
        text = read_config_text(config)
        named = find_field(text, "default_model_filename")
        backend = _backend(text)
        if named is not None and backend in ("python", *PYTORCH_NAMES):
            _check_name(named.value, f"line {named.line} of {config}", names_python_file=backend == "python")
        if backend == "python":
            _check_versions(config.parent, named.value if named else _DEFAULT_FILE_NAME)


def _backend(text: str) -> str:
    backend, platform = find_field(text, "backend"), find_field(text, "platform")
    if backend is not None:
        return backend.value
    return "pytorch" if platform is not None and platform.value in _OF_PYTORCH else ""


def _check_name(name: str, where: str, *, names_python_file: bool) -> None:
    # bash leaves all that is not ASCII as it is.
    if is_changed_by_shell("".join(filter(str.isascii, name))):
        parameter = f'parameters {{ key: "DEFAULT_MODEL_FILENAME" value {{ string_value: "{name}" }} }}'
        remedy = "rename the file" if names_python_file else f"rename the file, or write {parameter} instead"
        raise LaunchError(
            f'Triton\'s Python backend cannot start a model with default_model_filename: "{name}" ({where}), because '
            f"it hands the name to a shell: {remedy}"
        )


def _check_versions(model: Path, file_name: str) -> None:
    for version in model.iterdir():
        if version.name.isdecimal() and version.is_dir() and not (version / file_name).exists():
            raise LaunchError(
                f"'{version / file_name}' does not exist, and the server would not start: "
                f"link it to '{_TREE / 'model.py'}', or use another backend than \"python\""
            )
