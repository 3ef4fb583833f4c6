"""A model that is a Python function, for what no compiled package can be made to do: fail on demand, count calls."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from triton_pytorch.contract.binding import bind
from triton_pytorch.contract.leaves import Leaf, ValueKind
from triton_pytorch.contract.signature import Signature
from triton_pytorch.execution.loop import RunLoop
from triton_pytorch.model_config.configuration import read_config
from triton_pytorch.tests.assets.configs import model_config
from triton_pytorch.tests.assets.leaves import element, positional
from triton_pytorch.tests.integration import fake_triton
from triton_pytorch.torch_runtime.placement import CPU
from triton_pytorch.torch_runtime.session import Session


@dataclass
class FunctionModel:
    """Calls a function of its input leaves that returns the output leaves, and keeps the rows of each call."""

    function: Callable[..., Sequence[Any]]
    device: torch.device
    session: Session
    calls: list[int] = field(default_factory=list)

    def run(self, leaves: list[Any]) -> Sequence[Any]:
        self.calls.append(
            next(
                (
                    len(leaf)
                    for leaf in leaves
                    if isinstance(leaf, list) or (isinstance(leaf, torch.Tensor) and leaf.dim())
                ),
                0,
            )
        )
        return self.function(*leaves)

    def close(self) -> None:
        """Nothing to release."""


@dataclass
class Loop:
    """A run loop over a function, behind the fake of Triton's module."""

    model: FunctionModel
    loop: RunLoop
    logger: Any
    output_names: list[str]

    def request(self, *inputs: torch.Tensor | None, outputs: list[str] | None = None, **options: Any) -> Any:
        """Make a request of the input leaves in their order; None leaves one out."""
        tensors = [
            fake_triton.Tensor(f"INPUT__{index}", fake_triton.unaligned(data))
            for index, data in enumerate(inputs)
            if data is not None
        ]
        return fake_triton.InferenceRequest(tensors, self.output_names if outputs is None else outputs, **options)

    def execute(self, *requests: Any) -> list[Any]:
        """Run one `execute`; returns for each request its outputs by name, or its error as `CODE: text`."""
        return [_content(response) for response in self.loop.execute(requests)]

    def logged(self, level: str) -> list[str]:
        """Return what was logged at a level: "info", "warn" or "error"."""
        return [text for logged_at, text in self.logger.lines if logged_at == level]


def _content(response: Any) -> Mapping[str, torch.Tensor] | str:
    error = response.error()
    if error is not None:
        return f"{error.code()}: {error.message()}"
    return {tensor.name(): tensor.data for tensor in response.output_tensors()}


def function_loop(
    function: Callable[..., Sequence[Any]],
    inputs: list[Any],
    outputs: list[Any],
    *,
    leaf: Callable[[int], Leaf] = positional,
    leaves: int | None = None,
    device: torch.device = CPU,
    session: Session = torch.inference_mode,
    **config: Any,
) -> Loop:
    """Serve a function; tensors are named `INPUT__i` and `OUTPUT__i`, in any order.

    `leaf` makes the input leaf of an index; `leaves` is their number where `batch_input` adds to the inputs.
    """
    input_leaves = [leaf(index) for index in range(leaves or len(inputs))]
    output_leaves = [element(index) for index in range(len(outputs))]
    for declared, known in ((inputs, input_leaves), (outputs, output_leaves)):
        for index in (int(tensor["name"].rpartition("_")[2]) for tensor in declared if _holds_strings(tensor)):
            known[index] = replace(known[index], kind=ValueKind.STRINGS)
    config_read = read_config(json.dumps({"name": "m", **model_config(inputs, outputs, **config)}))
    plan = bind(config_read, Signature(tuple(input_leaves), tuple(output_leaves)))
    model = FunctionModel(function, device, session)
    triton = fake_triton.names()
    loop = RunLoop(plan, model, triton, "1")
    return Loop(model, loop, triton.logger, [output["name"] for output in outputs])


def _holds_strings(tensor: Mapping[str, Any]) -> bool:
    return bool(tensor["data_type"] == "TYPE_STRING")
