"""Imports between the packages of this tree point down only, and only model.py knows Triton's Python module."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# From the entries down (docs/architecture.md draws them); packages on one line never import each other.
LAYERS = (
    ("model", "__main__", "cli"),
    ("workers",),
    ("execution",),
    ("batching", "sequences", "formats"),
    ("pt2_loader", "torchscript_loader", "module_loader"),
    ("method_calls",),
    ("artifact_store", "torch_runtime", "init_hooks"),
    ("contract",),
    ("io_naming",),
    ("model_config",),
)
# What is not a layer, and what it may import: the launcher starts servers and is not used for serving.
BESIDE = {"__init__": (), "local_server": ("model_config",)}
# The shell's entry runs the commands, and the commands may use the launcher.
FURTHER = {"__main__": ("cli",), "cli": ("local_server",)}
OUTSIDE = ("examples", "benchmarks", "tests", "tools", "docs")
# These must start without torch: auto-complete, thread limits, `inspect` and the launcher depend on it.
WITHOUT_TORCH = (
    *("model", "__main__", "cli", "local_server"),
    *("formats", "artifact_store", "contract", "io_naming", "model_config"),
    *("pt2_loader/description", "torch_runtime/threads"),
)


def _package(module: str) -> str:
    return module.partition("/")[0]


def _allowed(package: str) -> set[str]:
    if package in BESIDE:
        return {package, *BESIDE[package]}
    own_layer = next(number for number, packages in enumerate(LAYERS) if package in packages)
    below = {name for packages in LAYERS[own_layer + 1 :] for name in packages}
    return {package, *FURTHER.get(package, ())} | below


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


def _violations(module: str, source: str) -> list[str]:
    """Return what is wrong with the imports of a module, given as `io_naming/names` (`model` for a file at the top)."""
    allowed = _allowed(_package(module))
    problems = []
    for name in sorted(_imported(source)):
        top, _, rest = name.partition(".")
        if not top:
            problems.append(f"{name}: write triton_pytorch.PACKAGE, so that the layer can be seen")
        is_upward = top == "triton_pytorch" and rest.split(".")[0] not in allowed
        if is_upward or (top == "triton_python_backend_utils" and module != "model"):
            problems.append(f"{module} may not import {name}")
    if module in WITHOUT_TORCH or _package(module) in WITHOUT_TORCH:
        torch_imports = {name for name in _imported(source, top_level_only=True) if name.split(".")[0] == "torch"}
        problems += [f"{module} may not import {name} at its top" for name in sorted(torch_imports)]
    return problems


def _sources() -> dict[str, Path]:
    """Return the files of all packages by their modules: `io_naming/names`, and `model` at the top."""
    files = list(ROOT.glob("*.py"))
    for folder in ROOT.iterdir():
        if folder.is_dir() and not folder.name.startswith((".", "__")) and folder.name not in OUTSIDE:
            files += folder.rglob("*.py")
    return {path.relative_to(ROOT).with_suffix("").as_posix(): path for path in sorted(files)}


SOURCES = _sources()


@pytest.mark.parametrize("module", SOURCES)
def test_imports_point_down(module: str) -> None:
    assert _violations(module, SOURCES[module].read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("io_naming/names", "from triton_pytorch.execution import loop"),  # upward
        ("contract/binding", "from triton_pytorch.method_calls import model"),  # upward
        ("artifact_store/store", "import triton_pytorch.torch_runtime.datatypes"),  # sideways
        ("pt2_loader/package", "from triton_pytorch import torchscript_loader"),  # sideways, the other spelling
        ("model", "from triton_pytorch.cli import commands"),  # from one entry to the other
        ("execution/loop", "from triton_pytorch.local_server import installation"),  # the launcher is not for serving
        ("formats/files", "from ..execution import loop"),  # relative imports hide the direction
        ("execution/loop", "import triton_python_backend_utils"),
        ("model_config/tensors", "import torch"),
        ("torch_runtime/threads", "from torch import nn"),
    ],
)
def test_imports_violation_found(module: str, line: str) -> None:
    assert _violations(module, line)


def test_imports_allowed() -> None:
    assert not _violations("__main__", "from triton_pytorch.cli.commands import run")
    assert not _violations("cli/serve", "from triton_pytorch.local_server.server import Server")
    assert not _violations("torch_runtime/datatypes", "import torch")
    assert not _violations("formats/table", "def describe():\n    import torch")


def test_every_package_has_a_layer() -> None:
    known = {name for packages in LAYERS for name in packages} | set(BESIDE)
    assert {_package(module) for module in SOURCES} <= known
