"""What all tests share: the rooms importable as `triton_pytorch.*`, as model.py and __main__.py make them."""

import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[1]

_rooms = sys.modules.setdefault("triton_pytorch", ModuleType("triton_pytorch"))
_rooms.__path__ = [str(ROOT)]
sys.dont_write_bytecode = True


def pytest_configure(config: pytest.Config) -> None:
    """Let it be seen what takes so long while the output of tests is captured."""
    from triton_pytorch.tests.assets import packages

    capture = config.pluginmanager.get_plugin("capturemanager")
    if capture is None:
        return

    def announce(text: str) -> None:
        with capture.global_and_fixture_disabled():
            print(f"\n{text}", flush=True)

    packages.announce = announce


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Leave out what needs a GPU where there is none."""
    if item.get_closest_marker("gpu") is not None:
        import torch

        if not torch.cuda.is_available():
            pytest.skip("no GPU here")
