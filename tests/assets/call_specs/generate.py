"""Writes specs.json: how torch itself writes the call specs of shapes.py, and where it sees their leaves.

    .venv/bin/python tests/assets/call_specs/generate.py

Run it when shapes.py has changed, or when tests/integration/test_call_spec_assets.py says that torch has.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

SPECS_FILE = Path(__file__).with_name("specs.json")


def records(tables: Mapping[str, tuple[Any, ...]]) -> dict[str, dict[str, dict[str, Any]]]:
    """Return, for each table and name of a shape: both specs, how many tensors the model takes, and the leaf paths."""
    return {table: {shape.name: _record(shape.export()) for shape in shapes} for table, shapes in tables.items()}


def _record(program: Any) -> dict[str, Any]:
    from torch.utils import _pytree as pytree

    in_spec, out_spec = program.call_spec.in_spec, program.call_spec.out_spec
    args, kwargs = pytree.tree_unflatten(range(in_spec.num_leaves), in_spec)
    result = pytree.tree_unflatten(range(out_spec.num_leaves), out_spec)
    return {
        "in_spec": pytree.treespec_dumps(in_spec),
        "out_spec": pytree.treespec_dumps(out_spec),
        "tensor_inputs": sum(isinstance(name, str) for name in program.graph_signature.user_inputs),
        "inputs": _paths("ARGS", args) + _paths("KWARGS", kwargs),
        "outputs": _paths("RESULT", result),
    }


def _paths(root: str, tree: Any) -> list[str]:
    from torch.utils import _pytree as pytree

    return [root + _accessors(tree, path) for path, _ in pytree.tree_leaves_with_path(tree)]


def _accessors(tree: Any, path: tuple[Any, ...]) -> str:
    """Print torch's key path as we do: keys as `str()` prints them, a namedtuple's field by its index."""
    from torch.utils import _pytree as pytree

    text = ""
    for entry in path:
        match entry:
            case pytree.SequenceKey(index):
                text += f"[{index}]"
            case pytree.MappingKey(key):
                text += f"[{key}]"
            case pytree.GetAttrKey(name):
                text += f"[{tree._fields.index(name) if hasattr(tree, '_fields') else name}]"
        tree = entry.get(tree)
    return text


if __name__ == "__main__":
    from shapes import TABLES  # type: ignore[import-not-found]  # a script's own folder comes first on its path

    SPECS_FILE.write_text(json.dumps(records(TABLES), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
