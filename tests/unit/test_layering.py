"""The rooms of DESIGN.md import downwards only, and only model.py knows Triton's Python module."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# From the entries down to the floor; rooms on one line never import each other.
FLOORS = (
    ("model", "__main__"),
    ("cli",),
    ("execution",),
    ("batching", "sequences", "formats"),
    ("pt2_loader", "torchscript_loader", "module_loader", "init_hooks"),
    ("artifact_store", "torch_runtime"),
    ("io_naming",),
    ("model_config",),
)
# The launcher stands beside the tower: it starts servers and may use the floor only.
BESIDE = {"local_server": ("model_config",)}
USES_LAUNCHER = ("__main__", "cli")
OUTSIDE = ("examples", "benchmarks", "tests", "tools", "docs")
# These must start without torch: auto-complete, inspect and the launcher depend on it.
WITHOUT_TORCH = ("model", "__main__", "cli", "io_naming", "model_config", "local_server")


def _allowed(room: str) -> set[str]:
    if room in BESIDE:
        return {room, *BESIDE[room]}
    floor = next(number for number, rooms in enumerate(FLOORS) if room in rooms)
    below = {name for rooms in FLOORS[floor + 1 :] for name in rooms}
    return {room} | below | (set(BESIDE) if room in USES_LAUNCHER else set())


def _imported(source: str, *, top_level_only: bool = False) -> set[str]:
    tree = ast.parse(source)
    nodes = tree.body if top_level_only else list(ast.walk(tree))
    names: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            names.update(f"{module}.{alias.name}" for alias in node.names)
    return names


def _violations(room: str, source: str) -> list[str]:
    allowed = _allowed(room)
    problems = []
    for name in sorted(_imported(source)):
        if name.startswith("."):
            problems.append(f"{name}: write triton_pytorch.ROOM, so that the layering can be read")
        elif name.startswith("triton_pytorch") and name.split(".")[1] not in allowed:
            problems.append(f"{room} may not import {name}")
        elif name.startswith("triton_python_backend_utils") and room != "model":
            problems.append(f"{room} may not know {name}")
    if room in WITHOUT_TORCH:
        torch_imports = {n for n in _imported(source, top_level_only=True) if n.split(".")[0] == "torch"}
        problems += [f"{room} may not import {name} at its top" for name in sorted(torch_imports)]
    return problems


def _sources() -> list[tuple[str, Path]]:
    files = [(path.stem, path) for path in ROOT.glob("*.py")]
    for folder in ROOT.iterdir():
        if folder.is_dir() and not folder.name.startswith((".", "__")) and folder.name not in OUTSIDE:
            files += [(folder.name, path) for path in folder.rglob("*.py")]
    return files


@pytest.mark.parametrize(("room", "path"), _sources(), ids=str)
def test_imports_point_down(room: str, path: Path) -> None:
    assert _violations(room, path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("room", "line"),
    [
        ("io_naming", "from triton_pytorch.execution import loop"),  # upward
        ("artifact_store", "import triton_pytorch.torch_runtime.dtypes"),  # sideways
        ("pt2_loader", "from triton_pytorch import torchscript_loader"),  # sideways, the other spelling
        ("execution", "from triton_pytorch.local_server import installation"),  # the launcher is not for serving
        ("formats", "from ..execution import loop"),  # relative imports hide the direction
        ("execution", "import triton_python_backend_utils"),
        ("model_config", "import torch"),
    ],
)
def test_a_wrong_import_is_noticed(room: str, line: str) -> None:
    assert _violations(room, line)


def test_every_room_has_a_floor() -> None:
    known = {name for rooms in FLOORS for name in rooms} | set(BESIDE)
    assert {room for room, _ in _sources()} <= known
