"""A process whose settings may be spoiled: applies parameters, and prints as JSON what can be seen of them then.

Usage: settings_user.py OBSERVATION, with the observation's arguments as JSON on standard input.
"""

import json
import os
import runpy
import sys
import warnings
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

runpy.run_path(str(Path(__file__).parents[1] / "conftest.py"))
ROOT = Path(__file__).resolve().parents[2]
TASKS = Path("/proc/self/task")
Observation = dict[str, Any]


def threads_started_by(run: Callable[[], Any]) -> int:
    before = set(TASKS.iterdir())
    run()
    return len(set(TASKS.iterdir()) - before)


def executor(steps: list[dict[str, str]]) -> list[Observation]:
    """Apply one set of parameters after the other, and run a fresh TorchScript module under each."""
    import torch

    # The fuser of a torch from PyPI works on GPUs only, unless it may interpret what it fuses.
    torch._C._jit_set_te_must_use_llvm_cpu(False)
    torch._C._jit_override_can_fuse_on_cpu(True)
    return [run_module(parameters) for parameters in steps]


def run_module(values: dict[str, str]) -> Observation:
    import torch

    from triton_pytorch.torch_runtime.session import run_mode

    settings = apply(values)
    module = scripted()
    graphs = []
    with run_mode(settings.parameters).session_on(torch.device("cpu"))():
        for shape in [(4,), (4,), (4,), (2, 2)]:
            result = module(torch.ones(shape, requires_grad=True), torch.ones(shape))
            graph = torch.jit.last_executed_optimized_graph()  # type: ignore[attr-defined]
            graphs.append({node.kind() for node in graph.nodes()})
    return {
        "line": str(settings),
        "warnings": settings.warnings,
        "is_profiled": "prim::profile" in graphs[0],
        "is_fused": "prim::TypeCheck" in graphs[2],
        "is_inlined": "prim::CallFunction" not in graphs[2],
        "plans": plans(module),
        "is_inference": result.is_inference(),
        "has_gradient": result.requires_grad,
        "cudnn": torch.backends.cudnn.enabled,
    }


def apply(values: dict[str, str]) -> Any:
    from triton_pytorch.model_config.configuration import read_config
    from triton_pytorch.tests.assets.configs import model_config
    from triton_pytorch.tests.assets.formats import TORCHSCRIPT
    from triton_pytorch.torch_runtime.settings import apply_settings

    config = read_config(json.dumps({"name": "m", **model_config([], [], parameters=values)}))
    return apply_settings(config, TORCHSCRIPT.parameters)


def scripted() -> Any:
    import torch

    def chain(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.relu(x * y + y) * x

    class Module(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return chain(x, y)

    return torch.jit.script(Module())


def plans(module: Any) -> int | None:
    """Return how many plans an executor keeps: the old one has one for each rank; None where nothing is optimised."""
    try:
        return len(module.get_debug_state().execution_plans)
    except RuntimeError:
        return None


def threads(steps: list[dict[str, str]], affinity: int | None = None) -> Observation:
    """Apply sets of parameters, and start the threads of operators and of the inter-op pool."""
    import torch

    if affinity is not None:
        pytest.MonkeyPatch().setattr(os, "sched_getaffinity", lambda process: set(range(affinity)))
    applied = [apply(values) for values in steps]
    return {
        "line": str(applied[-1]),
        "warnings": applied[-1].warnings,
        "intra_op": 1 + threads_started_by(lambda: torch.sin(torch.ones(1000, 1000))),
        "more_for_a_matrix_product": threads_started_by(lambda: torch.ones(500, 500) @ torch.ones(500, 500)),
        "inter_op": threads_started_by(lambda: forking()(torch.ones(1))),
    }


def forking() -> Any:
    """Make a TorchScript function that uses the inter-op pool."""
    import torch

    fork: Any = torch.jit.fork
    wait: Any = torch.jit.wait

    def twice(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    def both(x: torch.Tensor) -> torch.Tensor:
        future = fork(twice, x)
        doubled: torch.Tensor = wait(future)
        return x + doubled

    twice = torch.jit.script(twice)
    return torch.jit.script(both)


def convolution(parameters: dict[str, str], device: str) -> list[str]:
    """Apply parameters, and name the operators that a convolution runs."""
    import torch

    apply(parameters)
    x, weight = torch.ones(1, 8, 16, 16, device=device), torch.ones(8, 8, 3, 3, device=device)
    with torch.profiler.profile() as profile:
        torch.nn.functional.conv2d(x, weight)
    return sorted({event.key for event in profile.key_averages()})


class LateTriton(ModuleType):
    """Triton's module for an entry that must not find torch imported: all but the logger comes of the fake, late."""

    class Logger:
        """Logs nothing."""

        log_info = log_warn = log_error = print

    def __getattr__(self, name: str) -> Any:
        from triton_pytorch.tests.integration import fake_triton

        return getattr(fake_triton, name)


def entry(arguments: dict[str, str]) -> Observation:
    """Serve a package as Triton does, torch not being imported before, and count the threads that it starts."""
    sys.modules["triton_python_backend_utils"] = LateTriton("triton_python_backend_utils")
    spec = spec_from_file_location("1.model", ROOT / "model.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    model = module.TritonPythonModel()
    model.initialize(arguments)

    import torch

    from triton_pytorch.tests.integration.fake_triton import InferenceRequest, Tensor

    request = InferenceRequest([Tensor("INPUT__0", torch.ones(128, 128))], ["OUTPUT__0"])
    answers: list[Any] = []
    started = threads_started_by(lambda: answers.extend(model.execute([request])))
    (output,) = answers[0].output_tensors()
    is_right = bool(torch.allclose(output.data, torch.sin(torch.ones(128, 128))))
    model.finalize()
    return {"threads": 1 + started, "is_right": is_right}


OBSERVATIONS: dict[str, Callable[..., Any]] = {
    "executor": executor,
    "threads": threads,
    "convolution": convolution,
    "entry": entry,
}

if __name__ == "__main__":
    warnings.simplefilter("ignore")  # torch.jit is deprecated
    print(json.dumps(OBSERVATIONS[sys.argv[1]](**json.load(sys.stdin))), flush=True)
    os._exit(0)  # a thread of the pool that lets go of its tensors just then would abort an interpreter that ends
