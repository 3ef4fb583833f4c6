"""Every shape of call spec through the run loop: declared in any order, each leaf carries its own data to the model."""

import json
import random
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch.utils import _pytree as pytree

from triton_pytorch.contract.leaves import Leaf
from triton_pytorch.execution.loop import RunLoop
from triton_pytorch.io_naming.call_spec import read_call_spec
from triton_pytorch.model_config.configuration import read_config
from triton_pytorch.tests.assets.call_specs.shapes import SHAPES, Shape
from triton_pytorch.tests.assets.configs import tensor_config
from triton_pytorch.tests.integration import fake_triton


class ExportedModel:
    """An exported program behind the flat interface of a loader; torch's own pytree builds its arguments."""

    device = torch.device("cpu")

    def __init__(self, program: torch.export.ExportedProgram) -> None:
        self._module = program.module(check_guards=False)  # torch cannot print a guard on an enum key
        self._in_spec = program.call_spec.in_spec
        spec = read_call_spec(pytree.treespec_dumps(self._in_spec), pytree.treespec_dumps(program.call_spec.out_spec))
        self.inputs, self.outputs = [Leaf(path) for path in spec.inputs], [Leaf(path) for path in spec.outputs]

    def run(self, leaves: list[torch.Tensor]) -> Sequence[torch.Tensor | None]:
        args, kwargs = pytree.tree_unflatten(leaves, self._in_spec)
        return pytree.tree_leaves(self._module(*args, **kwargs))

    def close(self) -> None:
        """Nothing to let go of."""


def shuffled(names: Sequence[str], seed: int) -> list[str]:
    return random.Random(seed).sample(names, len(names))


@pytest.mark.filterwarnings("ignore::FutureWarning")  # torch.export's own, about its pytree
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
@pytest.mark.parametrize("is_ordinal", [False, True], ids=["by path", "by ordinal"])
def test_every_leaf_gets_its_own_data(shape: Shape, is_ordinal: bool) -> None:
    args, kwargs = shape.arguments()
    expected = pytree.tree_leaves(shape.module()(*args, **kwargs))
    model = ExportedModel(shape.export())
    inputs = [f"INPUT__{i}" if is_ordinal else str(leaf) for i, leaf in enumerate(model.inputs)]
    outputs = [f"OUTPUT__{i}" if is_ordinal else str(leaf) for i, leaf in enumerate(model.outputs)]
    config = {
        "name": "m",
        "input": [tensor_config(name, dims=(2, 3)) for name in shuffled(inputs, 1)],
        "output": [tensor_config(name, dims=(2, 3)) for name in shuffled(outputs, 2)],
    }
    loop = RunLoop(model, read_config(json.dumps(config)), fake_triton.names())
    sent = dict(zip(inputs, in_order_of_the_spec(shape, args, kwargs), strict=True))
    wanted = {name: value for name, value in zip(outputs, expected, strict=True) if value is not None}
    tensors = [fake_triton.Tensor(name, fake_triton.unaligned(sent[name])) for name in shuffled(inputs, 3)]

    (response,) = loop.execute([fake_triton.InferenceRequest(tensors, wanted)])

    assert response.error() is None, response.error().message()
    answer = {tensor.name(): tensor.data for tensor in response.output_tensors()}
    assert answer.keys() == wanted.keys()
    for name, value in wanted.items():
        assert torch.equal(answer[name], value), name


def in_order_of_the_spec(shape: Shape, args: Any, kwargs: dict[str, Any]) -> list[torch.Tensor]:
    """Flatten the arguments with the keywords in the order of the spec, which is not always that of the call."""
    spec = shape.export().call_spec.in_spec
    _, keywords = pytree.tree_unflatten(range(spec.num_leaves), spec)
    return pytree.tree_leaves((args, {name: kwargs[name] for name in keywords}))
