"""How many threads an instance computes with, and the limit that has to be set before torch is imported.

No torch here: OpenMP reads its limit once, when torch loads it.
"""

import os
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from triton_pytorch.model_config.configuration import InstanceKind, ModelConfig
from triton_pytorch.model_config.parameters import Parameters
from triton_pytorch.torch_runtime.cpus import usable_cpus

_THREAD_LIMIT = "OMP_THREAD_LIMIT"
# What a user sets for a whole server; torch reads the first two itself as its default.
_SERVER_WIDE = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", _THREAD_LIMIT)


@dataclass(frozen=True, slots=True)
class ThreadCount:
    """A number of threads, and in a few words what decided it."""

    count: int
    reason: str


def limit_threads(config: ModelConfig, keys: Collection[str]) -> None:
    """Limit all that OpenMP runs in this process to the threads of the instance.

    A package's kernels ask for as many threads as its builder's machine had CPUs, whatever torch is set to. Call it
    before torch is imported; afterwards it would do nothing but mislead child processes, and does nothing. `keys` are
    those of the parameters that are for the model's format alone.
    """
    if "torch" not in sys.modules:
        os.environ[_THREAD_LIMIT] = str(intra_op_threads(config, keys).count)


def intra_op_threads(config: ModelConfig, keys: Collection[str]) -> ThreadCount:
    """Return how many threads an operator of this instance may use: the same before and after `limit_threads`."""
    return decide_intra_op_threads(
        config.parameters.limited_to(keys), usable_cpus(), _instances_on_cpus(config), os.environ
    )


def decide_intra_op_threads(
    parameters: Parameters, cpus: int, instances: int, environment: Mapping[str, str]
) -> ThreadCount:
    """Return the parameter, else this instance's part of the CPUs, or what the server's environment sets, if less."""
    for key, count in (
        ("INTRA_OP_THREAD_COUNT", parameters.intra_op_thread_count),
        ("NUM_THREADS", parameters.num_threads),
    ):
        if count is not None:
            return ThreadCount(count, key)
    shares = [ThreadCount(max(1, cpus // instances), f"CPUs {cpus}, instances {instances}")]
    shares += [
        ThreadCount(count, variable)
        for variable in _SERVER_WIDE
        if (count := _count(environment.get(variable, ""))) is not None
    ]
    return min(shares, key=lambda share: share.count)


def _count(value: str) -> int | None:
    """Read a number of threads from the environment; None for what OpenMP would ignore too."""
    first = value.partition(",")[0].strip()  # OMP_NUM_THREADS may list a number for each level of nesting
    return int(first) if first.isdecimal() and int(first) > 0 else None


def _instances_on_cpus(config: ModelConfig) -> int:
    """Return how many instances of the model share the CPUs, this one included; one of KIND_MODEL may use them."""
    return max(1, sum(config.instance_counts[kind] for kind in (InstanceKind.CPU, InstanceKind.MODEL)))
