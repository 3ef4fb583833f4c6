"""What all tests share; pytest finds the tree as `triton_pytorch` by `pythonpath` in pyproject.toml."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

sys.dont_write_bytecode = True
if __name__ == "<run_path>":  # a process that a test has started, without pytest: runpy.run_path(this file)
    sys.path.insert(0, str(ROOT / ".venv" / "source"))


def pytest_configure(config: pytest.Config) -> None:
    """Show on the terminal that packages are being compiled, also while the output of tests is captured."""
    from triton_pytorch.tests.assets import packages

    capture = config.pluginmanager.get_plugin("capturemanager")
    if capture is None:
        return

    def announce(text: str) -> None:
        with capture.global_and_fixture_disabled():
            print(f"\n{text}", flush=True)

    packages.announce = announce


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what needs a GPU where there is none."""
    if item.get_closest_marker("gpu") is not None:
        import torch

        if not torch.cuda.is_available():
            pytest.skip("no GPU here")
