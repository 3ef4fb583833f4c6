"""torch's private package loader is where we expect it, and the public call can take its place."""

import zipfile
from pathlib import Path

import pytest
import torch

from triton_pytorch.pt2_loader import runner
from triton_pytorch.tests.assets.packages import package_path


@pytest.fixture
def unpacked(tmp_path: Path) -> Path:
    with zipfile.ZipFile(package_path("looks_up")) as archive:
        archive.extractall(tmp_path / "unpacked")
    return tmp_path / "unpacked"


def test_private_loader_is_there() -> None:
    loader = runner.private_loader()
    assert loader is not None, "torch has moved it: loads go through torch._inductor and take 3.5 s longer"
    methods = ("run", "get_call_spec", "get_constant_fqns", "load_constants")
    assert [method for method in methods if not hasattr(loader, method)] == []


@pytest.mark.parametrize("is_private_there", [True, False])
def test_private_and_public_loader_agree(
    unpacked: Path, is_private_there: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not is_private_there:
        monkeypatch.setattr(runner, "private_loader", lambda: None)
    opened = runner.open_runner(unpacked, "model", -1)
    (result,) = opened.run([torch.tensor([3, 4])])
    assert result is not None
    assert torch.equal(result, torch.tensor([3.0, 4.0]))
