"""Plans of configs whose tensors are named `INPUT__i` and `OUTPUT__i`, and requests for them."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from triton_pytorch.batching.requests import ParsedRequest
from triton_pytorch.contract.binding import bind
from triton_pytorch.contract.leaves import Leaf, ValueKind
from triton_pytorch.contract.plan import Plan
from triton_pytorch.contract.signature import Signature
from triton_pytorch.model_config.configuration import read_config
from triton_pytorch.tests.assets.configs import model_config, tensor_config
from triton_pytorch.tests.assets.leaves import element, positional


def planned(
    *inputs: Any,
    leaf: Callable[[int], Leaf] = positional,
    batch_inputs: tuple[Any, ...] = (),
    max_batch_size: int = 8,
    unchecked_operators: tuple[str, ...] = (),
) -> Plan:
    """Bind inputs, whose leaves have a default where they are optional, and one output."""
    leaves = [leaf(index) for index in range(len(inputs) + len(batch_inputs))]
    for tensor in inputs:
        index = int(tensor["name"].removeprefix("INPUT__"))
        if tensor["data_type"] == "TYPE_STRING":
            leaves[index] = replace(leaves[index], kind=ValueKind.STRINGS)
        leaves[index] = replace(leaves[index], has_default=tensor.get("optional", False))
    config = model_config(
        list(inputs), [tensor_config("OUTPUT__0")], max_batch_size=max_batch_size, batch_input=list(batch_inputs)
    )
    signature = Signature(tuple(leaves), (element(0),), unchecked_operators=unchecked_operators)
    return bind(read_config(json.dumps({"name": "m", **config})), signature)


def a_request(*leaves: Any, requested: tuple[str, ...] = ("OUTPUT__0",)) -> ParsedRequest:
    """Make a request of leaves in the model's order."""
    rows = next(leaf.shape[0] for leaf in leaves if leaf is not None)
    return ParsedRequest(0, list(leaves), rows, set(requested))
