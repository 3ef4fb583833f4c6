"""The matrix of small packages: each served right, and then with every entry of its config changed, one at a time."""

import pytest
import torch

from triton_pytorch.tests.integration.conftest import Serve
from triton_pytorch.tests.integration.matrix import (
    ROWS,
    Outcomes,
    Row,
    a_tensor,
    as_sent,
    eager_results,
    is_equal,
    try_changes,
)

# What a package does not state, so that nobody can check it (docs/packages.md, "What cannot be checked"). These fail
# here as long as torch does not write it down.
NOT_STATED = {
    "unstated": "the package does not state the relation between the sizes",
    "fixed_rows": "a size that has to be 2 at least is written like one that may be 1",
}
PACKAGES = [
    pytest.param(package, marks=pytest.mark.xfail(reason=NOT_STATED[package]) if package in NOT_STATED else ())
    for package in (row.package for row in ROWS)
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.package)
def test_right_config(serve: Serve, row: Row) -> None:
    model = serve(row.package, row.inputs, row.outputs, max_batch_size=row.max_batch_size)
    generator = torch.Generator().manual_seed(0)
    sent = [
        [a_tensor(entry["data_type"], shape, generator) for entry, shape in zip(row.inputs, shapes, strict=True)]
        for shapes in (row.shapes(*sizes) for sizes in row.sizes)
    ]
    names = [entry["name"] for entry in row.inputs]

    for calls, tensors in enumerate(sent):
        answer = model.infer({name: as_sent(x) for name, x in zip(names, tensors, strict=True)})
        for entry, expected in zip(row.outputs, eager_results(row, tensors, calls) or [], strict=True):
            assert is_equal(answer[entry["name"]], as_sent(expected)), entry["name"]


def test_more_rows_than_exported(serve: Serve) -> None:
    row = next(row for row in ROWS if row.package == "laid_out")
    model = serve(row.package, row.inputs, row.outputs, max_batch_size=32)
    image, rows = torch.randn(20, 3, 5, 6), torch.randn(20, 4)
    answer = model.infer({"ARGS[0]": image, "ARGS[1]": rows})
    for entry, expected in zip(row.outputs, row.eager(image, rows), strict=True):
        assert is_equal(answer[entry["name"]], expected)
    warnings = [text for level, text in model.logger.lines if level == "warn"]
    sentence = "no call is of more than 15 rows, below max_batch_size: 32, since the model takes at most 15"
    assert len([text for text in warnings if sentence in text]) == 1


@pytest.fixture(scope="module")
def outcomes() -> Outcomes:
    return try_changes([row.package for row in ROWS])


@pytest.mark.parametrize("package", PACKAGES)
def test_changed_config(outcomes: Outcomes, package: str) -> None:
    row = next(row for row in ROWS if row.package == package)
    outcome = outcomes[package]
    assert outcome.third == []
    # No other type is ever right; an output's is known at the first request only.
    assert outcome.counts["dtype: refused"] == 13 * len(row.inputs) + len(row.outputs)
    assert outcome.counts["dtype: every request refused"] == 12 * len(row.outputs)
    assert outcome.counts["rank: refused"] > 0
    assert outcome.counts["name: refused"] > 0
    assert outcome.counts["index: right"] >= 2 * len(row.inputs + row.outputs)
    assert outcome.counts["index: refused"] + outcome.counts["index: every request refused"] == 0
    assert outcome.counts["dim: right"] > 0
    assert outcome.counts["batch: refused"] > 0
    assert outcome.counts["batch: right"] == (1 if row.max_batch_size else 0)
    assert outcome.counts["empty: every request refused"] == (1 if any(row.sizes) else 0)
    assert outcome.counts["empty: right"] == (1 if any(row.sizes) and row.takes_empty else 0)
