"""The kept call specs are what the installed torch writes today, and their models show a leaf in the wrong place."""

import itertools
import json
from typing import Any

import pytest

from triton_pytorch.tests.assets.call_specs.generate import SPECS_FILE, records
from triton_pytorch.tests.assets.call_specs.shapes import SHAPES, TABLES, Shape


def test_kept_specs() -> None:
    assert records(TABLES) == json.loads(SPECS_FILE.read_text(encoding="utf-8"))


def constants(tree: Any) -> list[float | None]:
    from torch.utils import _pytree as pytree

    return [None if leaf is None else leaf.flatten()[0].item() for leaf in pytree.tree_leaves(tree)]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_swapped_inputs_change_the_result(shape: Shape) -> None:
    from torch.utils import _pytree as pytree

    leaves, tree = pytree.tree_flatten(shape.arguments())
    model = shape.module()
    right = constants(model(*shape.arguments()[0], **shape.arguments()[1]))
    unseen = {"one tensor given twice": {(0, 1)}, "unused arguments": {(1, 2)}}.get(shape.name, set())
    for i, j in set(itertools.combinations(range(len(leaves)), 2)) - unseen:
        swapped = list(leaves)
        swapped[i], swapped[j] = leaves[j], leaves[i]
        args, kwargs = pytree.tree_unflatten(swapped, tree)
        assert constants(model(*args, **kwargs)) != right, (i, j)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_results_differ(shape: Shape) -> None:
    args, kwargs = shape.arguments()
    found = [constant for constant in constants(shape.module()(*args, **kwargs)) if constant is not None]
    assert len(set(found)) == (1 if shape.name == "result of one tensor three times" else len(found))
