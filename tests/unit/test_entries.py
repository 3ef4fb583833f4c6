"""How model.py makes the tree importable: as the package `triton_pytorch` from its real path, and in no other way."""

import subprocess
import sys
from pathlib import Path

import pytest

TREE = Path(__file__).resolve().parents[2]

# As Triton's stub finds model.py: its directory is on sys.path, behind the user's modules.
STUB = """
import runpy, sys
from types import ModuleType

model_directory, users_directory = sys.argv[1:]
sys.modules["triton_python_backend_utils"] = ModuleType("triton_python_backend_utils")
sys.path.insert(0, users_directory)
sys.path.append(model_directory)
runpy.run_path(f"{model_directory}/model.py")
"""


@pytest.fixture
def users_directory(tmp_path: Path) -> Path:
    """A directory with modules of a user: one is called like this package, one like a module of it."""
    directory = tmp_path / "user"
    directory.mkdir()
    (directory / "triton_pytorch.py").write_text("raise RuntimeError('a stray file')", encoding="utf-8")
    (directory / "batching.py").write_text("OWNER = 'user'", encoding="utf-8")
    return directory


def _run_after_entry(code: str, users_directory: Path) -> str:
    link = users_directory / "pytorch"
    link.symlink_to(TREE)
    command = [sys.executable, "-c", STUB + code, str(link), str(users_directory)]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout


def test_entry_real_path(users_directory: Path) -> None:
    code = "import triton_pytorch; print(triton_pytorch.__file__, *triton_pytorch.__path__, sep='\\n')"
    assert _run_after_entry(code, users_directory).splitlines() == [str(TREE / "__init__.py"), str(TREE)]


def test_entry_users_modules(users_directory: Path) -> None:
    code = "import batching, triton_pytorch.batching; print(batching.OWNER, hasattr(triton_pytorch.batching, 'OWNER'))"
    assert _run_after_entry(code, users_directory) == "user False\n"


def test_entry_bare_names(users_directory: Path) -> None:
    code = "import importlib.util; print(importlib.util.find_spec('model_config'))"
    assert _run_after_entry(code, users_directory) == "None\n"
