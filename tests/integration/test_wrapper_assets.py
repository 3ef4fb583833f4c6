"""The installed torch still writes what the kept wrapper sources show, and cutting them loses nothing that is read."""

import pytest

from triton_pytorch.artifact_store.model_file import open_model_file
from triton_pytorch.contract.leaves import Leaf
from triton_pytorch.io_naming.call_spec import read_call_spec
from triton_pytorch.model_config.parameters import Parameters
from triton_pytorch.pt2_loader.description import PackageDescription, describe
from triton_pytorch.pt2_loader.leaves import read_input_leaves
from triton_pytorch.pt2_loader.wrapper import read_counts, read_specs
from triton_pytorch.tests.assets.packages import package_path
from triton_pytorch.tests.assets.wrappers.cut import cut_wrapper

INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
DTYPES = ["bool", *INTEGERS, "float16", "bfloat16", "float32", "float64"]


def described(name: str) -> PackageDescription:
    with open_model_file(package_path(name)) as file:
        return describe(file, Parameters(), None)


def bounds(leaf: Leaf) -> list[tuple[int, int | None]]:
    assert leaf.shape is not None
    return [(dimension.lower, dimension.upper) for dimension in leaf.shape]


@pytest.mark.parametrize("name", ["all_dtypes", "keyword_trees", "looks_up", "nested", "reduces_the_batch", "scalars"])
def test_whole_and_cut_sources(name: str) -> None:
    description = described(name)
    assert (description.errors, description.warnings) == ((), ())
    inputs = description.signature.inputs
    assert all(leaf.dtype is not None and leaf.shape is not None for leaf in inputs)
    cut = cut_wrapper(description.model.wrapper)
    assert len(cut) < len(description.model.wrapper) / 2
    specs = read_specs(cut)
    assert (specs, read_counts(cut)) == (description.specs, description.counts)
    assert specs is not None
    assert read_input_leaves(cut, read_call_spec(*specs).inputs, read_counts(cut)).leaves == inputs


def test_dtypes() -> None:
    leaves = described("all_dtypes").signature.inputs
    assert {str(leaf): leaf.dtype for leaf in leaves} == {f"ARGS[0][{name}]": name for name in DTYPES}
    (batch,) = {leaf.shape[0].size for leaf in leaves if leaf.shape}  # one name for the batch of all
    assert batch.constant is None
    assert all(bounds(leaf) == [(1, None), (4, 4)] for leaf in leaves)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("looks_up", [("int64", [(2, 2)])]),
        ("scalars", [("float32", [(1, 1000)])]),
        ("reduces_the_batch", [("float32", [(1, 4096), (3, 3)])]),  # a mean; 4096 is torch's own
        ("keyword_trees", [("float32", [(3, 3)])] * 4),
    ],
)
def test_bounds(name: str, expected: list[tuple[str, list[tuple[int, int | None]]]]) -> None:
    assert [(leaf.dtype, bounds(leaf)) for leaf in described(name).signature.inputs] == expected
