"""A config against the format of its file: what is not served, other platforms, parameters of other formats."""

import json
from pathlib import Path
from typing import Any

import pytest

from triton_pytorch.formats.checks import check_served, foreign_parameter_warnings
from triton_pytorch.formats.table import Format
from triton_pytorch.model_config.configuration import ModelConfig, read_config
from triton_pytorch.model_config.errors import ArtifactError, ConfigError, UnsupportedError
from triton_pytorch.model_config.parameters import read_parameters
from triton_pytorch.tests.assets.configs import model_config
from triton_pytorch.tests.assets.formats import BY_KEY, PACKAGE, TORCHSCRIPT

FILE = Path("1/model.pt2")


def config(**fields: Any) -> ModelConfig:
    return read_config(json.dumps({"name": "m", **model_config([], [], **fields)}))


@pytest.mark.parametrize(
    ("fields", "served"),
    [
        ({"platform": ""}, PACKAGE),
        ({"platform": "torch_aoti"}, PACKAGE),
        ({"platform": "pytorch_libtorch", "backend": "pytorch"}, PACKAGE),  # filled in by Triton's core
        ({"platform": "libtorch"}, TORCHSCRIPT),
    ],
)
def test_served(fields: dict[str, Any], served: Format) -> None:
    assert check_served(config(**fields), FILE, served) is served


@pytest.mark.parametrize(
    ("found", "error", "sentence"),
    [
        (BY_KEY["exported_program"], UnsupportedError, "an exported program (torch.export.save): compile it into"),
        (BY_KEY["python_source"], UnsupportedError, "Python source: not served by this version, so make a package"),
        (
            BY_KEY["checkpoint"],
            ArtifactError,
            "a checkpoint or pickled module (torch.save), which holds no program: load",
        ),
        (BY_KEY["empty"], ArtifactError, "empty: copy it again"),
        (
            BY_KEY["onnx"],
            ArtifactError,
            'an ONNX model: not served by this backend, but by Triton\'s ONNX Runtime backend (backend: "onnxruntime")',
        ),
        (
            BY_KEY["safetensors"],
            ArtifactError,
            "a safetensors file, which holds weights and no program: load it into its module, and make a package of ",
        ),
        (
            BY_KEY["text"],
            ArtifactError,
            "a text file: expected an AOTInductor package, made by torch.export.export and",
        ),
    ],
    ids=lambda value: getattr(value, "key", None),
)
def test_not_served(found: Format, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error) as caught:
        check_served(config(), FILE, found)
    assert str(caught.value).startswith(f"'{FILE}' is {sentence}")


@pytest.mark.parametrize(
    ("platform", "found", "expected"),
    [("pytorch_libtorch", PACKAGE, "torch_aoti"), ("torch_aoti", TORCHSCRIPT, "pytorch_libtorch")],
    ids=lambda value: getattr(value, "key", value),
)
def test_other_platform(platform: str, found: Format, expected: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_served(config(platform=platform), FILE, found)
    assert str(caught.value) == (
        f"platform is '{platform}', but '{FILE}' is {found.noun}: expected platform: \"{expected}\""
    )


def test_foreign_parameters_one_warning() -> None:
    parameters = read_parameters({"NUM_THREADS": "2", "ALLOW_EMPTY_INPUTS": "1", "INFERENCE_MODE": "1"})
    assert foreign_parameter_warnings(parameters, PACKAGE) == ["NUM_THREADS has no effect on an AOTInductor package"]
    assert foreign_parameter_warnings(parameters, TORCHSCRIPT) == [
        "ALLOW_EMPTY_INPUTS has no effect on a TorchScript archive"
    ]
    both = read_parameters({"NUM_THREADS": "2", "MODULE_METHOD_NAME": "encode"})
    assert foreign_parameter_warnings(both, PACKAGE) == [
        "MODULE_METHOD_NAME, NUM_THREADS have no effect on an AOTInductor package"
    ]
    assert foreign_parameter_warnings(both, TORCHSCRIPT) == []
