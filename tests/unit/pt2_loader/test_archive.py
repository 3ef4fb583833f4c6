"""Which models a package holds, and which one is loaded."""

import zipfile
from pathlib import Path, PurePosixPath

import pytest

from triton_pytorch.model_config.errors import ArtifactError, ConfigError
from triton_pytorch.pt2_loader.archive import read_model


def package(path: Path, *names: str, root: str = "m/") -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(f"{root}data/aotinductor/{name}/abc.wrapper.so", "")
            archive.writestr(f"{root}data/aotinductor/{name}/abc.wrapper.cpp", "")
    return path


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
def test_the_model_to_load(tmp_path: Path, names: tuple[str, ...], requested: str | None, chosen: str) -> None:
    model = read_model(package(tmp_path / "p", *names), requested)
    assert model.name == chosen
    assert model.directory == PurePosixPath("m/data/aotinductor", chosen)
    assert model.siblings == names


def test_archives_without_a_root_folder(tmp_path: Path) -> None:
    model = read_model(package(tmp_path / "p", "model", root=""), None)
    assert model.directory == PurePosixPath("data/aotinductor/model")


def test_no_compiled_model(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="holds no compiled model for Linux"):
        read_model(package(tmp_path / "p"), None)


def test_several_models_and_no_choice(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"several models \(a, b\): choose one with the parameter AOTI_MODEL_NAME"):
        read_model(package(tmp_path / "p", "a", "b"), None)


def test_a_model_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"AOTI_MODEL_NAME is 'modle', but '.*' holds model; did you mean"):
        read_model(package(tmp_path / "p", "model"), "modle")
