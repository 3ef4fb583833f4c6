"""Who decides how many threads an operator uses: the parameter, else the least of the machine and the environment."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from triton_pytorch.model_config.configuration import ModelConfig, read_config
from triton_pytorch.model_config.parameters import read_parameters
from triton_pytorch.tests.assets.configs import model_config
from triton_pytorch.torch_runtime import threads
from triton_pytorch.torch_runtime.threads import ThreadCount, decide_intra_op_threads, intra_op_threads, limit_threads

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize(
    ("cpus", "instances", "environment", "expected"),
    [
        (8, 1, {}, ThreadCount(8, "CPUs 8, instances 1")),
        (8, 3, {}, ThreadCount(2, "CPUs 8, instances 3")),
        (2, 4, {}, ThreadCount(1, "CPUs 2, instances 4")),
        (8, 2, {"OMP_NUM_THREADS": "3"}, ThreadCount(3, "OMP_NUM_THREADS")),
        (8, 2, {"OMP_NUM_THREADS": "4"}, ThreadCount(4, "CPUs 8, instances 2")),
        (8, 2, {"OMP_NUM_THREADS": "64"}, ThreadCount(4, "CPUs 8, instances 2")),
        (8, 2, {"OMP_NUM_THREADS": " 2,1"}, ThreadCount(2, "OMP_NUM_THREADS")),
        (8, 2, {"OMP_THREAD_LIMIT": "1", "OMP_NUM_THREADS": "2"}, ThreadCount(1, "OMP_THREAD_LIMIT")),
        (8, 2, {"MKL_NUM_THREADS": "1"}, ThreadCount(1, "MKL_NUM_THREADS")),
        (
            8,
            2,
            {"OMP_NUM_THREADS": "", "OMP_THREAD_LIMIT": "0", "MKL_NUM_THREADS": "many"},
            ThreadCount(4, "CPUs 8, instances 2"),
        ),
    ],
)
def test_intra_op_default(cpus: int, instances: int, environment: Mapping[str, str], expected: ThreadCount) -> None:
    assert decide_intra_op_threads(read_parameters({}), cpus, instances, environment) == expected


@pytest.mark.parametrize("key", ["INTRA_OP_THREAD_COUNT", "NUM_THREADS"])
def test_intra_op_parameter(key: str) -> None:
    environment = {"OMP_NUM_THREADS": "1", "OMP_THREAD_LIMIT": "1"}
    assert decide_intra_op_threads(read_parameters({key: "5"}), 2, 2, environment) == ThreadCount(5, key)


def config(groups: Mapping[str, int], **parameters: str) -> ModelConfig:
    instance_group = [{"kind": kind, "count": count} for kind, count in groups.items()]
    return read_config(
        json.dumps({"name": "m", **model_config([], [], parameters=parameters, instance_group=instance_group)})
    )


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A machine of eight CPUs."""
    for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OMP_THREAD_LIMIT"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(threads, "usable_cpus", lambda: 8)
    return monkeypatch


@pytest.mark.parametrize(
    ("groups", "count"),
    [
        ({}, 8),
        ({"KIND_CPU": 2}, 4),
        ({"KIND_GPU": 4}, 8),
        ({"KIND_CPU": 2, "KIND_GPU": 4}, 4),
        ({"KIND_MODEL": 4}, 2),
        ({"KIND_CPU": 2, "KIND_MODEL": 2}, 2),
    ],
)
def test_instances_share_cpus(machine: Any, groups: Mapping[str, int], count: int) -> None:
    assert intra_op_threads(config(groups), ()).count == count


def test_intra_op_parameter_of_another_format(machine: Any) -> None:
    assert intra_op_threads(config({}, NUM_THREADS="3"), {"NUM_THREADS"}).count == 3
    assert intra_op_threads(config({}, NUM_THREADS="3"), ()).count == 8


def test_limit_after_torch(machine: Any) -> None:
    import torch  # noqa: F401  # as it may be in any test before

    limit_threads(config({}), ())
    assert "OMP_THREAD_LIMIT" not in os.environ


def test_threads_without_torch() -> None:
    """Else the limit would come too late."""
    code = (
        f"import runpy, sys; runpy.run_path({str(ROOT / 'tests' / 'conftest.py')!r}); "
        "import triton_pytorch.torch_runtime.threads; print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
