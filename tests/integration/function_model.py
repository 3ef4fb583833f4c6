"""A model that is a Python function, for what no compiled package can be made to do: fail on demand, count calls."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from triton_pytorch.execution.loop import RunLoop
from triton_pytorch.contract.leaves import Leaf
from triton_pytorch.io_naming.names import LeafPath
from triton_pytorch.model_config.configuration import read_config
from triton_pytorch.tests.assets.configs import model_config
from triton_pytorch.tests.integration import fake_triton


@dataclass
class FunctionModel:
    """Calls a function of its input leaves that returns the output leaves, and keeps the rows of each call."""

    function: Callable[..., Sequence[Any]]
    inputs: Sequence[Leaf]
    outputs: Sequence[Leaf]
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    calls: list[int] = field(default_factory=list)

    def run(self, leaves: list[Any]) -> Sequence[Any]:
        self.calls.append(
            next((len(leaf) for leaf in leaves if isinstance(leaf, list) or (leaf is not None and leaf.dim())), 0)
        )
        return self.function(*leaves)

    def close(self) -> None:
        """Nothing to let go of."""


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

    def prove(self, *inputs: torch.Tensor | None) -> None:
        """Answer two requests that differ, before which no requests share a call."""
        others = [data if data is None else data + 1 for data in inputs]
        for answer in self.execute(self.request(*inputs), self.request(*others)):
            assert not isinstance(answer, str), answer
        self.model.calls.clear()

    @property
    def errors_logged(self) -> list[str]:
        """What was logged as an error."""
        return [text for level, text in self.logger.lines if level == "error"]


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
    leaf: Callable[[LeafPath], Leaf] = Leaf,
    leaves: int | None = None,
    **config: Any,
) -> Loop:
    """Serve a function; tensors are named `INPUT__i` and `OUTPUT__i`.

    `leaf` makes an input leaf of its path; `leaves` is their number where `batch_input` adds to the inputs.
    """
    model = FunctionModel(
        function,
        [leaf(LeafPath("ARGS", (str(index),))) for index in range(leaves or len(inputs))],
        [Leaf(LeafPath("RESULT", (str(index),))) for index in range(len(outputs))],
    )
    document = {"name": "m", **model_config(inputs, outputs, **config)}
    triton = fake_triton.names()
    loop = RunLoop(model, read_config(json.dumps(document)), triton)
    return Loop(model, loop, triton.logger, [output["name"] for output in outputs])
