"""What a model's parameters set for the whole process: threads, cuDNN, and the TorchScript executor.

Each instance is a process of its own, so they are set for one instance only (in the C++ backend, for the server).
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import torch

from triton_pytorch.model_config.configuration import ModelConfig
from triton_pytorch.model_config.parameters import Parameters
from triton_pytorch.torch_runtime.cpus import usable_cpus
from triton_pytorch.torch_runtime.switches import (
    OPTIMIZED_EXECUTION,
    PROFILING,
    PROFILING_EXECUTOR,
    TENSOR_FUSER,
    Switch,
)
from triton_pytorch.torch_runtime.threads import ThreadCount, intra_op_threads


@dataclass(frozen=True, slots=True)
class Settings:
    """What applies in this process, read back from torch where torch tells.

    `keys` are those of the parameters that are for the model's format alone; of the executor's switches only those are
    here that the format has.
    """

    keys: frozenset[str]
    parameters: Parameters
    intra_op_threads: ThreadCount
    inter_op_threads: int
    is_cudnn_enabled: bool
    switches: tuple[tuple[str, bool | None], ...]
    warnings: tuple[str, ...]

    def __str__(self) -> str:
        """Return one line for the log with every value that concerns the format."""
        parts = [
            f"intra-op threads {self.intra_op_threads.count} ({self.intra_op_threads.reason})",
            f"inter-op threads {self.inter_op_threads}",
            f"inference mode {_on_or_off(self.parameters.inference_mode)}",
            f"cuDNN {_on_or_off(self.is_cudnn_enabled)}",
            f"cache cleaning {_on_or_off(self.parameters.enable_cache_cleaning)}",
            *(f"{title} {_on_or_off(state)}" for title, state in self.switches),
        ]
        if "MODULE_METHOD_NAME" in self.keys:
            parts.append(f"method {self.parameters.module_method_name}")
        return ", ".join(parts)


def apply_settings(config: ModelConfig, keys: Collection[str]) -> Settings:
    """Set what the parameters say, or their defaults, in this process; returns what applies then.

    Call it in the thread that runs the model, before the model is opened: torch takes the number of inter-op threads
    before it has started any, and once.
    """
    parameters = config.parameters.limited_to(keys)
    threads = intra_op_threads(config, keys)
    torch.set_num_threads(threads.count)
    torch.backends.cudnn.enabled = not parameters.disable_cudnn
    switches = _switches(parameters, keys)
    warnings = [*_set_inter_op_threads(parameters), *_turn(switches, parameters)]
    return Settings(
        keys=frozenset(keys),
        parameters=parameters,
        intra_op_threads=ThreadCount(torch.get_num_threads(), threads.reason),
        inter_op_threads=torch.get_num_interop_threads(),
        is_cudnn_enabled=torch.backends.cudnn.enabled,
        switches=tuple((switch.title, switch.state()) for switch, _, _ in switches),
        warnings=tuple(warnings),
    )


def _set_inter_op_threads(parameters: Parameters) -> list[str]:
    wanted = parameters.inter_op_thread_count or parameters.num_interop_threads
    if wanted is None:
        wanted = min(torch.get_num_interop_threads(), usable_cpus())
    if wanted != torch.get_num_interop_threads():
        try:
            torch.set_num_interop_threads(wanted)
        except RuntimeError:
            current = torch.get_num_interop_threads()
            return [f"inter-op threads stay {current} instead of {wanted}: torch sets their number once in a process"]
    return []


def _switches(parameters: Parameters, keys: Collection[str]) -> list[tuple[Switch, str, bool | None]]:
    """Return the executor's switches that a format has, each with its parameter and what that says; None: as it is."""
    switches = [
        (OPTIMIZED_EXECUTION, "DISABLE_OPTIMIZED_EXECUTION", not parameters.disable_optimized_execution),
        (PROFILING_EXECUTOR, "ENABLE_JIT_EXECUTOR", parameters.enable_jit_executor),
        (PROFILING, "ENABLE_JIT_PROFILING", parameters.enable_jit_profiling),
        (TENSOR_FUSER, "ENABLE_TENSOR_FUSER", parameters.enable_tensor_fuser),
    ]
    return [each for each in switches if each[1] in keys]


def _turn(switches: Sequence[tuple[Switch, str, bool | None]], parameters: Parameters) -> list[str]:
    """Turn switches; returns a warning for each that the config sets and this torch does not have."""
    return [
        f"parameter {key} has no effect: torch {torch.__version__} has no switch for its {switch.title}"
        for switch, key, is_on in switches
        if is_on is not None and not switch.turn(is_on) and key in parameters.given
    ]


def _on_or_off(state: bool | None) -> str:
    return {True: "on", False: "off", None: "unknown"}[state]
