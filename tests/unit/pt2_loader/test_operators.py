"""The operators that a package calls by name, told from its JSON, and which of them torch does not bring."""

import json

import pytest

from triton_pytorch.pt2_loader.operators import custom_operators, namespace_of, read_operators


def nodes(*targets: object) -> str:
    """Make the JSON of a package, as torch 2.13 writes it."""
    return json.dumps({"nodes": [{"name": f"buf{i}", "node": {"target": it}} for i, it in enumerate(targets)]})


def test_operators() -> None:
    text = nodes("myops::twice", "aten::_unique2", "myops::scale.two", "myops::twice", "call_torchbind")
    assert read_operators(text) == ("myops::twice", "aten::_unique2", "myops::scale.two")
    assert custom_operators(read_operators(text)) == ("myops::twice", "myops::scale.two")
    assert namespace_of("myops::scale.two") == "myops"


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", "{}", '{"nodes": 1}', nodes(1, None), '{"nodes": [1, {"node": []}]}', "[" * 100_000],
)
def test_no_operators(text: str) -> None:
    assert read_operators(text) == ()
