"""The installed torch still writes what the kept wrapper sources show, and cutting them loses nothing that is read."""

from dataclasses import replace

import pytest

from triton_pytorch.contract.leaves import Leaf
from triton_pytorch.pt2_loader.archive import PackagedModel, read_model
from triton_pytorch.pt2_loader.description import describe
from triton_pytorch.tests.assets.packages import package_path
from triton_pytorch.tests.assets.wrappers.cut import cut_kernel, cut_wrapper

INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
DTYPES = ["bool", *INTEGERS, "float16", "bfloat16", "float32", "float64"]


def packaged(name: str) -> PackagedModel:
    return read_model(package_path(name), None)


def bounds(leaf: Leaf) -> list[tuple[int, int | None]]:
    assert leaf.shape is not None
    return [(dimension.lower, dimension.upper) for dimension in leaf.shape]


@pytest.mark.parametrize("name", ["all_dtypes", "keyword_trees", "looks_up", "nested", "reduces_the_batch", "scalars"])
def test_nothing_is_unknown_and_cutting_changes_nothing(name: str) -> None:
    model = packaged(name)
    whole = describe(model)
    assert (whole.faults, whole.warnings) == ((), ())
    assert all(leaf.dtype is not None and leaf.shape is not None for leaf in whole.inputs or ())
    cut = replace(model, wrapper=cut_wrapper(model.wrapper), kernels=tuple(map(cut_kernel, model.kernels)))
    assert len(cut.wrapper) < len(model.wrapper) / 2
    again = describe(cut)
    assert (again.inputs, again.outputs, again.counts) == (whole.inputs, whole.outputs, whole.counts)


def test_dtypes() -> None:
    leaves = describe(packaged("all_dtypes")).inputs or ()
    assert {str(leaf): leaf.dtype for leaf in leaves} == {f"ARGS[0][{name}]": name for name in DTYPES}
    (batch,) = {leaf.shape[0].size for leaf in leaves if leaf.shape}  # one name for the batch of all
    assert batch.constant is None
    assert all(bounds(leaf) == [(0, None), (4, 4)] for leaf in leaves)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("looks_up", [("int64", [(2, 2)])]),
        ("scalars", [("float32", [(0, 1000)])]),  # exported from 1 to 1000, and no rows do no harm
        ("reduces_the_batch", [("float32", [(1, 4096), (3, 3)])]),  # a mean; 4096 is torch's own
        ("keyword_trees", [("float32", [(3, 3)])] * 4),
    ],
)
def test_bounds(name: str, expected: list[tuple[str, list[tuple[int, int | None]]]]) -> None:
    assert [(leaf.dtype, bounds(leaf)) for leaf in describe(packaged(name)).inputs or ()] == expected
