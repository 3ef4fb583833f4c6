"""torch's private package loader is where we expect it."""

import zipfile
from pathlib import Path

import torch

from triton_pytorch.pt2_loader.runner import open_runner
from triton_pytorch.tests.assets.packages import package_path


def test_private_loader(tmp_path: Path) -> None:
    with zipfile.ZipFile(package_path("looks_up")) as archive:
        archive.extractall(tmp_path / "unpacked")
    runner = open_runner(tmp_path / "unpacked", "model", -1)
    (result,) = runner.run([torch.tensor([3, 4])])
    assert result is not None
    assert torch.equal(result, torch.tensor([3.0, 4.0]))
    in_spec, out_spec = runner.get_call_spec()
    assert in_spec
    assert out_spec
    assert callable(runner.get_constant_fqns)
    assert callable(runner.load_constants)
