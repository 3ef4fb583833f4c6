"""Every shape of call spec through bind and the run loop: declared in any order, each leaf carries its own data."""

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest
import torch
from torch.utils import _pytree as pytree

from triton_pytorch.contract.binding import bind
from triton_pytorch.contract.leaves import Leaf
from triton_pytorch.contract.plan import PlannedLeaves
from triton_pytorch.contract.signature import Signature
from triton_pytorch.execution.loop import RunLoop
from triton_pytorch.io_naming.call_spec import read_call_spec
from triton_pytorch.io_naming.leaf_names import LeafNames
from triton_pytorch.model_config.configuration import read_config
from triton_pytorch.tests.assets.call_specs.shapes import SHAPES, Shape
from triton_pytorch.tests.assets.configs import model_config, tensor_config
from triton_pytorch.tests.integration import fake_triton
from triton_pytorch.torch_runtime.placement import CPU


@dataclass(frozen=True)
class Exported:
    """An exported shape: its program, and its signature as read from the call spec."""

    module: Callable[..., Any]
    in_spec: pytree.TreeSpec
    signature: Signature


@cache
def exported(shape: Shape) -> Exported:
    program = shape.export()
    in_spec, out_spec = program.call_spec.in_spec, program.call_spec.out_spec
    spec = read_call_spec(pytree.treespec_dumps(in_spec), pytree.treespec_dumps(out_spec))
    signature = Signature(tuple(map(Leaf, spec.inputs)), tuple(map(Leaf, spec.outputs)))
    return Exported(program.module(check_guards=False), in_spec, signature)  # torch cannot print a guard on an enum key


@dataclass(frozen=True)
class ExportedModel:
    """An exported shape as the run loop calls it; torch's own pytree builds its arguments."""

    exported: Exported
    leaves: PlannedLeaves
    device = CPU
    session = torch.inference_mode

    def run(self, leaves: list[Any]) -> Sequence[Any]:
        args, kwargs = pytree.tree_unflatten(leaves, self.exported.in_spec)
        results = pytree.tree_leaves(self.exported.module(*args, **kwargs))
        return [results[leaf.names.index] for leaf in self.leaves.outputs if leaf.names.index is not None]

    def close(self) -> None:
        """Nothing to release."""


def by_path(_: str, names: LeafNames) -> str:
    return names.names[0]


def by_ordinal(direction: str, names: LeafNames) -> str:
    return f"{direction}__{names.index}"


def by_any_text(_: str, names: LeafNames) -> str:
    return f"tensor__{names.index}"


def shuffled(names: Sequence[str], seed: int) -> list[str]:
    return random.Random(seed).sample(names, len(names))


@pytest.mark.filterwarnings("ignore::FutureWarning")  # torch.export's own, about its pytree
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
@pytest.mark.parametrize("naming", [by_path, by_ordinal, by_any_text])
def test_leaves_own_data(shape: Shape, naming: Callable[[str, LeafNames], str]) -> None:
    args, kwargs = shape.arguments()
    expected = pytree.tree_leaves(shape.module()(*args, **kwargs))
    program = exported(shape)
    inputs = [naming("INPUT", leaf.names) for leaf in program.signature.inputs]
    outputs = [naming("OUTPUT", leaf.names) for leaf in program.signature.outputs]
    entries = ([tensor_config(name, dims=(2, 3)) for name in shuffled(names, 1)] for names in (inputs, outputs))
    config = read_config(json.dumps({"name": "m", **model_config(*entries)}))
    plan = bind(config, program.signature)
    loop = RunLoop(plan, ExportedModel(program, plan.leaves), fake_triton.names(), "1")
    sent = dict(zip(inputs, in_order_of_the_spec(program.in_spec, args, kwargs), strict=True))
    wanted = {name: value for name, value in zip(outputs, expected, strict=True) if value is not None}
    tensors = [fake_triton.Tensor(name, fake_triton.unaligned(sent[name])) for name in shuffled(inputs, 3)]

    (response,) = loop.execute([fake_triton.InferenceRequest(tensors, wanted)])

    assert response.error() is None, response.error().message()
    answer = {tensor.name(): tensor.data for tensor in response.output_tensors()}
    assert answer.keys() == wanted.keys()
    for name, value in wanted.items():
        assert torch.equal(answer[name], value), name


def in_order_of_the_spec(spec: pytree.TreeSpec, args: Any, kwargs: dict[str, Any]) -> list[torch.Tensor]:
    """Flatten the arguments with the keywords in the order of the spec, which is not always that of the call."""
    _, keywords = pytree.tree_unflatten(range(spec.num_leaves), spec)
    return pytree.tree_leaves((args, {name: kwargs[name] for name in keywords}))
