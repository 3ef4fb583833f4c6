"""Which models a package holds, and which one is loaded."""

import zipfile
from pathlib import Path, PurePosixPath

import pytest

from triton_pytorch.model_config.errors import ArtifactError, ConfigError
from triton_pytorch.pt2_loader.archive import PackagedModel, read_model
from triton_pytorch.tests.assets.archives import open_archive


def read(path: Path, *names: str, requested: str | None = None, root: str = "m/") -> PackagedModel:
    """Read a model of a package that holds models of these names."""
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(f"{root}data/aotinductor/{name}/abc.wrapper.so", "")
            archive.writestr(f"{root}data/aotinductor/{name}/abc.wrapper.cpp", f"// {name}")
    with open_archive(path) as opened:
        return read_model(opened, requested)


@pytest.mark.parametrize(
    ("names", "requested", "chosen"),
    [
        (("model",), None, "model"),
        (("only",), None, "only"),
        (("first", "model"), None, "model"),
        (("first", "second"), "second", "second"),
        (("model", "other"), "other", "other"),
    ],
)
def test_chosen_model(tmp_path: Path, names: tuple[str, ...], requested: str | None, chosen: str) -> None:
    model = read(tmp_path / "p", *names, requested=requested)
    assert (model.name, model.wrapper, model.metadata) == (chosen, f"// {chosen}", "")
    assert model.directory == PurePosixPath("m/data/aotinductor", chosen)
    assert model.siblings == names


def test_operators_beside_the_library(tmp_path: Path) -> None:
    folder = "m/data/aotinductor/model"
    with zipfile.ZipFile(tmp_path / "p", "w") as archive:
        archive.writestr(f"{folder}/abc.wrapper.so", "")
        archive.writestr(f"{folder}/abc.wrapper.json", '{"nodes": [{"node": {"target": "myops::twice"}}]}')
        archive.writestr(f"{folder}/abc.wrapper_metadata.json", "{}")
    with open_archive(tmp_path / "p") as opened:
        assert read_model(opened, None).operators == ("myops::twice",)
    assert read(tmp_path / "q", "model").operators == ()


def test_archive_without_root_folder(tmp_path: Path) -> None:
    assert read(tmp_path / "p", "model", root="").directory == PurePosixPath("data/aotinductor/model")


@pytest.mark.parametrize(
    ("names", "requested", "error", "sentence"),
    [
        ((), None, ArtifactError, "'.*p' holds no compiled model for Linux"),
        (("a", "b"), None, ConfigError, r"several models \(a, b\): choose one with the parameter AOTI_MODEL_NAME"),
        (("model",), "modle", ConfigError, "AOTI_MODEL_NAME is 'modle', but '.*' holds model; did you mean"),
    ],
)
def test_no_such_model(
    tmp_path: Path, names: tuple[str, ...], requested: str | None, error: type[Exception], sentence: str
) -> None:
    with pytest.raises(error, match=sentence):
        read(tmp_path / "p", *names, requested=requested)
