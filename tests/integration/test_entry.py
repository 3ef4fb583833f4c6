"""What model.py says where it cannot even begin."""

import importlib.util
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from triton_pytorch.tests.integration import fake_triton
from triton_pytorch.tests.integration.conftest import ROOT, load_entry


def test_a_copy_without_its_tree_says_so(triton: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["triton_pytorch"], "__path__", [str(ROOT)])  # as it is put back afterwards
    shutil.copy(ROOT / "model.py", tmp_path)
    entry = load_entry(triton, tmp_path / "model.py")
    fake_triton.fill(triton)
    with pytest.raises(RuntimeError, match=r"was copied to '.*' without the tree that it belongs to: link it there"):
        entry.initialize({})


def test_an_interpreter_without_torch_is_named(triton: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = load_entry(triton)
    fake_triton.fill(triton)
    monkeypatch.setitem(entry.initialize.__globals__, "find_spec", lambda _: None)
    with pytest.raises(RuntimeError, match=f"{sys.prefix}.* has no torch: install torch 2.13 there"):
        entry.initialize({})
    assert importlib.util.find_spec("torch") is not None
