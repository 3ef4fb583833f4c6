"""What all tests share: the rooms importable as `triton_pytorch.*`, as model.py and __main__.py make them."""

import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[1]

_rooms = sys.modules.setdefault("triton_pytorch", ModuleType("triton_pytorch"))
_rooms.__path__ = [str(ROOT)]
sys.dont_write_bytecode = True


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Let long compilations be seen: pytest's own terminal is not captured."""
    from triton_pytorch.tests.assets import packages

    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if terminal is not None:
        packages.announce = lambda text: terminal.write_line(f"\n{text}")
