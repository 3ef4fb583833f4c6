"""What is known of a package before it is opened, and what keeps it from being served."""

import json
import re
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from triton_pytorch.artifact_store.model_file import ModelFile, open_model_file
from triton_pytorch.model_config.errors import ArtifactError
from triton_pytorch.model_config.parameters import Parameters
from triton_pytorch.pt2_loader.description import PackageDescription, describe
from triton_pytorch.pt2_loader.host import BuiltFor

KEPT = Path(__file__).resolve().parents[2] / "assets" / "wrappers"
METADATA = json.dumps({"AOTI_DEVICE_KEY": "cpu", "AOTI_PLATFORM": "linux"})


def kept(name: str) -> str:
    return (KEPT / f"{name}.wrapper.cpp").read_text(encoding="utf-8")


@contextmanager
def described(path: Path, wrapper: str, metadata: str = METADATA) -> Iterator[PackageDescription]:
    with zipfile.ZipFile(path, "w") as archive:
        for ending, content in ((".so", ""), (".cpp", wrapper), ("_metadata.json", metadata)):
            archive.writestr(f"m/data/aotinductor/model/x.wrapper{ending}", content)
    with open_model_file(path) as file:
        yield describe(file, Parameters(), None)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.pt2"


def test_signature(path: Path) -> None:
    with described(path, kept("plus_one")) as description:
        signature = description.signature
    assert [(leaf.names.label, leaf.dtype) for leaf in signature.inputs] == [
        ("ARGS[0] (INPUT__0)", "float32"),
        ("ARGS[1] (INPUT__1)", "float32"),
    ]
    assert [(leaf.names.label, leaf.dtype, leaf.shape) for leaf in signature.outputs] == [
        ("RESULT (OUTPUT__0)", None, None)
    ]
    assert not signature.has_open_result
    assert not signature.follows_config_order
    assert description.built_for == BuiltFor("cpu", "linux")
    assert description.warnings == ()


@pytest.mark.parametrize(("name", "operators"), [("scatter_reduce", ("scatter_reduce",)), ("plus_one", ())])
def test_unchecked_operators(path: Path, name: str, operators: tuple[str, ...]) -> None:
    with described(path, kept(name)) as description:
        assert description.signature.unchecked_operators == operators
        assert description.warnings == ()


def test_unknown_fields_warning(path: Path) -> None:
    with described(path, kept("unused").replace("aoti_torch_dtype_float32();", "something_new();", 1)) as description:
        assert description.warnings == ("the package does not say the dtype of 'ARGS[0]': the config is trusted there",)
        assert len(description.signature.inputs) == 3


@pytest.mark.parametrize("missing", ["in_spec_ =", "out_spec_ ="])
def test_stripped_source(path: Path, missing: str) -> None:
    with described(path, kept("unused").replace(missing, "something = ")) as description:
        assert (description.inputs, description.outputs) == (None, None)
        assert description.warnings == ("the package holds no source that describes its inputs: the config is trusted",)


def with_missing_weights(source: str) -> str:
    return source.replace("           true) {", "           false) {")


@pytest.mark.parametrize(
    ("name", "change", "metadata", "sentence"),
    [
        (
            "gaps",
            str,
            METADATA,
            "Input 'ARGS.0.' was exported with a tensor that is not dense .* Input 'ARGS.1.'",
        ),
        ("linear", with_missing_weights, METADATA, "it was built without its weights: build it with"),
        ("linear", str, '{"AOTI_PLATFORM": "win32"}', "it was compiled for win32, not for Linux"),
    ],
)
def test_packages_that_cannot_be_served(
    path: Path, name: str, change: Callable[[str], str], metadata: str, sentence: str
) -> None:
    """They are described, and refused where they are to be served."""
    with described(path, change(kept(name)), metadata) as description:
        assert description.sections()
        with pytest.raises(ArtifactError, match=f"^'.*model.pt2' cannot be served: {sentence}"):
            _ = description.signature


def test_leaf_count(path: Path) -> None:
    fewer = kept("relations").replace("AOTInductorModelBase(3,", "AOTInductorModelBase(2,")
    with described(path, fewer) as description:
        assert [str(leaf) for leaf in description.inputs or ()] == ["ARGS[0]", "ARGS[1]", "ARGS[2]"]
        assert {leaf.dtype for leaf in description.inputs or ()} == {None}  # leaf i is not input i
        with pytest.raises(ArtifactError, match=r"cannot be served: .* 3 input leaves .* takes 2 tensors"):
            _ = description.signature


def test_leaf_without_a_name(path: Path) -> None:
    """`inspect` does not give up on the rest of the model."""
    source = kept("relations")
    spec = re.search(r'out_spec_ = R"\((.*)\)"', source)
    assert spec
    leaf = '{"type": null, "context": null, "children_spec": []}'
    keyed = f'[1, {{"type": "builtins.dict", "context": "[\\"a b\\", \\"c\\"]", "children_spec": [{leaf}, {leaf}]}}]'
    with described(path, source.replace(spec[1], keyed)) as description:
        assert [leaf.shape is None for leaf in description.inputs or ()] == [False] * 3
        assert [str(leaf) for leaf in description.outputs or ()] == ["RESULT[a b]", "RESULT[c]"]
        (error,) = description.errors
        assert error == (
            "the key 'a b' of the dictionary at RESULT holds ' ', so no tensor name can be made of it: expected a key "
            'without , " [ ] white space and unprintable characters; rename it and export again'
        )
        with pytest.raises(ArtifactError, match="cannot be served: the key 'a b'"):
            _ = description.signature


def test_not_an_archive(path: Path) -> None:
    with pytest.raises(ArtifactError, match="is not a zip archive: expected an AOTInductor package"):
        describe(ModelFile(path, None), Parameters(), None)
