"""What a model's parameters set for the whole process: threads, cuDNN, and the TorchScript executor.

Each instance is a process of its own, so they are set for one instance only (in the C++ backend, for the server).
"""

from dataclasses import dataclass

import torch

from triton_pytorch.model_config.configuration import ModelConfig
from triton_pytorch.model_config.parameters import ModelFormat, Parameters
from triton_pytorch.torch_runtime.cpus import usable_cpus
from triton_pytorch.torch_runtime.switches import (
    OPTIMIZED_EXECUTION,
    PROFILING,
    PROFILING_EXECUTOR,
    SWITCHES,
    TENSOR_FUSER,
    Switch,
)
from triton_pytorch.torch_runtime.threads import ThreadCount, intra_op_threads


@dataclass(frozen=True, slots=True)
class Settings:
    """What is in force in this process, read back from torch where torch tells."""

    model_format: ModelFormat
    parameters: Parameters
    intra_op_threads: ThreadCount
    inter_op_threads: int
    is_cudnn_enabled: bool
    switches: tuple[tuple[str, bool | None], ...]
    warnings: tuple[str, ...]


def apply_settings(config: ModelConfig, model_format: ModelFormat) -> Settings:
    """Set what the parameters say, or their defaults, in this process; returns what is in force then.

    Call it in the thread that runs the model, before the model is opened: torch takes the number of inter-op threads
    before it has started any, and once.
    """
    parameters = config.parameters.on(model_format)
    threads = intra_op_threads(config, model_format)
    torch.set_num_threads(threads.count)
    torch.backends.cudnn.enabled = not parameters.disable_cudnn
    warnings = _set_inter_op_threads(parameters)
    if model_format is ModelFormat.TORCHSCRIPT:
        warnings += turn_switches(parameters)
    return Settings(
        model_format=model_format,
        parameters=parameters,
        intra_op_threads=ThreadCount(torch.get_num_threads(), threads.reason),
        inter_op_threads=torch.get_num_interop_threads(),
        is_cudnn_enabled=torch.backends.cudnn.enabled,
        switches=tuple((switch.title, switch.state()) for switch in SWITCHES),
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
            in_force = torch.get_num_interop_threads()
            return [f"inter-op threads stay {in_force} instead of {wanted}: torch sets their number once in a process"]
    return []


def turn_switches(parameters: Parameters) -> list[str]:
    """Turn the executor's switches; returns a warning for each that the config sets and this torch does not have."""
    wanted: tuple[tuple[Switch, str, bool | None], ...] = (
        (OPTIMIZED_EXECUTION, "DISABLE_OPTIMIZED_EXECUTION", not parameters.disable_optimized_execution),
        (PROFILING_EXECUTOR, "ENABLE_JIT_EXECUTOR", parameters.enable_jit_executor),
        (PROFILING, "ENABLE_JIT_PROFILING", parameters.enable_jit_profiling),
        (TENSOR_FUSER, "ENABLE_TENSOR_FUSER", parameters.enable_tensor_fuser),
    )
    return [
        f"parameter {key} has no effect: torch {torch.__version__} has no switch for its {switch.title}"
        for switch, key, is_on in wanted
        if is_on is not None and not switch.turn(is_on) and key in parameters.given
    ]


def describe(settings: Settings) -> str:
    """Return one line for the log with every value in force that concerns the format."""
    parameters = settings.parameters
    parts = [
        f"intra-op threads {settings.intra_op_threads.count} ({settings.intra_op_threads.reason})",
        f"inter-op threads {settings.inter_op_threads}",
        f"inference mode {_on_or_off(parameters.inference_mode)}",
        f"cuDNN {_on_or_off(settings.is_cudnn_enabled)}",
        f"cache cleaning {_on_or_off(parameters.enable_cache_cleaning)}",
    ]
    if settings.model_format is ModelFormat.TORCHSCRIPT:
        parts += [f"{title} {_on_or_off(state)}" for title, state in settings.switches]
    if settings.model_format is not ModelFormat.PACKAGE:
        parts.append(f"method {parameters.module_method_name}")
    return ", ".join(parts)


def _on_or_off(state: bool | None) -> str:
    return {True: "on", False: "off", None: "unknown"}[state]
