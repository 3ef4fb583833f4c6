"""What parameters do to a process, as torch and Linux show it; each set is applied in a process of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch

from triton_pytorch.model_config.configuration import read_config
from triton_pytorch.model_config.parameters import Parameters
from triton_pytorch.tests.assets.configs import model_config, tensor_config
from triton_pytorch.tests.assets.formats import PACKAGE, TORCHSCRIPT
from triton_pytorch.tests.assets.packages import package_path
from triton_pytorch.tests.integration.conftest import arguments
from triton_pytorch.torch_runtime import settings
from triton_pytorch.torch_runtime.cpus import usable_cpus
from triton_pytorch.torch_runtime.session import RunMode
from triton_pytorch.torch_runtime.settings import Settings
from triton_pytorch.torch_runtime.switches import SWITCHES, Switch
from triton_pytorch.torch_runtime.threads import ThreadCount

PATIENCE_S = 120
SERVER_WIDE = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OMP_THREAD_LIMIT")


def observe(name: str, environment: Mapping[str, str] | None = None, **values: Any) -> Any:
    kept = {key: value for key, value in os.environ.items() if key not in SERVER_WIDE}
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("settings_user.py"), name],
        input=json.dumps(values),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        env={**kept, **(environment or {})},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


# In this order, in one process: what a step does not name is at its default, or, of the executor's three, as the steps
# before have left it.
STEPS: dict[str, dict[str, str]] = {
    "defaults": {},
    "unoptimised": {"DISABLE_OPTIMIZED_EXECUTION": "true"},
    "legacy executor": {"ENABLE_JIT_EXECUTOR": "false"},
    "not given": {},
    "no profiling": {"ENABLE_JIT_EXECUTOR": "true", "ENABLE_JIT_PROFILING": "false"},
    "no fuser": {"ENABLE_JIT_PROFILING": "true", "ENABLE_TENSOR_FUSER": "false"},
    "no grad": {"ENABLE_TENSOR_FUSER": "true", "INFERENCE_MODE": "false"},
    "no cuDNN": {"DISABLE_CUDNN": "true"},
    "all given": {
        "DISABLE_CUDNN": "0",
        "DISABLE_OPTIMIZED_EXECUTION": "0",
        "ENABLE_JIT_EXECUTOR": "1",
        "ENABLE_JIT_PROFILING": "1",
        "ENABLE_TENSOR_FUSER": "1",
        "INFERENCE_MODE": "1",
    },
}
AT_DEFAULTS = {
    "is_profiled": True,
    "is_fused": True,
    "is_inlined": True,
    "plans": 1,
    "is_inference": True,
    "has_gradient": False,
    "cudnn": True,
}
DIFFERENCES: dict[str, dict[str, Any]] = {
    "defaults": {},
    "unoptimised": {"is_profiled": False, "is_fused": False, "is_inlined": False, "plans": None},
    "legacy executor": {"is_profiled": False, "is_fused": False, "plans": 2},
    "not given": {"is_profiled": False, "is_fused": False, "plans": 2},
    "no profiling": {"is_profiled": False, "is_fused": False},
    "no fuser": {"is_fused": False},
    "no grad": {"is_inference": False},
    "no cuDNN": {"cudnn": False},
    "all given": {},
}
WORDS = {
    "unoptimised": "optimised execution off",
    "legacy executor": "profiling executor off",
    "not given": "profiling executor off",
    "no profiling": "profiling off",
    "no fuser": "tensor fuser off",
    "no grad": "inference mode off",
    "no cuDNN": "cuDNN off",
}


@pytest.fixture(scope="module")
def seen() -> dict[str, Any]:
    return dict(zip(STEPS, observe("executor", steps=list(STEPS.values())), strict=True))


@pytest.mark.parametrize("step", STEPS)
def test_executor(seen: dict[str, Any], step: str) -> None:
    observed = {key: seen[step][key] for key in AT_DEFAULTS}
    assert observed == {**AT_DEFAULTS, **DIFFERENCES[step]}
    assert seen[step]["warnings"] == []


@pytest.mark.parametrize("step", STEPS)
def test_log_line(seen: dict[str, Any], step: str) -> None:
    cpus = usable_cpus()
    inter_op = min(cpus, torch.get_num_interop_threads())
    everything = (
        f"intra-op threads {cpus} (CPUs {cpus}, instances 1), inter-op threads {inter_op}, inference mode on, "
        "cuDNN on, cache cleaning off, optimised execution on, profiling executor on, profiling on, tensor fuser on, "
        "method forward"
    )
    changed = WORDS.get(step, "")
    assert seen[step]["line"] == everything.replace(changed.replace(" off", " on"), changed)


def test_threads_both_names() -> None:
    first = {"INTRA_OP_THREAD_COUNT": "2", "INTER_OP_THREAD_COUNT": "5"}
    seen = observe("threads", steps=[first, {"NUM_THREADS": "3", "NUM_INTEROP_THREADS": "4"}])
    assert (seen["intra_op"], seen["more_for_a_matrix_product"], seen["inter_op"]) == (3, 0, 5)
    assert seen["line"].startswith("intra-op threads 3 (NUM_THREADS), inter-op threads 5,")
    assert seen["warnings"] == ["inter-op threads stay 5 instead of 4: torch sets their number once in a process"]


def test_threads_inter_op_affinity() -> None:
    seen = observe("threads", steps=[{}], affinity=1)
    assert seen["inter_op"] == 1
    assert "inter-op threads 1," in seen["line"]


@pytest.mark.parametrize(
    ("parameters", "environment", "threads"),
    [
        ({"INTRA_OP_THREAD_COUNT": "3"}, {"OMP_THREAD_LIMIT": "1", "OMP_NUM_THREADS": "1"}, 3),
        ({"INTRA_OP_THREAD_COUNT": "8"}, {}, 8),
        ({}, {"OMP_NUM_THREADS": "1"}, 1),
        ({"NUM_THREADS": "6"}, {}, min(usable_cpus(), 8)),  # not a parameter of packages
    ],
)
def test_threads_of_packages(
    parameters: dict[str, str], environment: dict[str, str], threads: int, store: Path, tmp_path: Path
) -> None:
    version_directory = tmp_path / "model" / "1"
    version_directory.mkdir(parents=True)
    (version_directory / "model.pt2").symlink_to(package_path("eight_threads"))
    inputs, outputs = ([tensor_config(name, dims=(128, 128))] for name in ("INPUT__0", "OUTPUT__0"))
    model = arguments(tmp_path / "model", "CPU", inputs, outputs, {"parameters": parameters})
    assert observe("entry", environment, arguments=model) == {"threads": threads, "is_right": True}


@pytest.mark.parametrize("switch", SWITCHES, ids=lambda switch: switch.title)
def test_switch_private_names(switch: Switch) -> None:
    was_on = switch.state()
    assert was_on is not None, f"this torch has moved {switch.setter} or {switch.reader}"
    for is_on in (not was_on, was_on):
        assert switch.turn(is_on)
        assert switch.state() is is_on


def test_switch_lost_state() -> None:
    assert Switch("profiling", "_jit_set_what_is_gone").state() is None
    assert Switch("profiling", "_jit_set_what_is_gone", "_jit_what_is_gone").state() is None


def test_switch_lost_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PROFILING", "OPTIMIZED_EXECUTION"):
        monkeypatch.setattr(settings, name, Switch("lost switch", "_jit_set_what_is_gone"))
    config = read_config(json.dumps({"name": "m", **model_config([], [], parameters={"ENABLE_JIT_PROFILING": "true"})}))
    switches = settings._switches(config.parameters, TORCHSCRIPT.parameters)
    assert settings._turn(switches, config.parameters) == [
        f"parameter ENABLE_JIT_PROFILING has no effect: torch {torch.__version__} has no switch for its lost switch"
    ]
    assert settings._switches(config.parameters, PACKAGE.parameters) == []


def test_log_line_of_packages() -> None:
    """They have no executor, and no method to choose."""
    applied = Settings(
        keys=PACKAGE.parameters,
        parameters=Parameters(enable_cache_cleaning=True),
        intra_op_threads=ThreadCount(1, "OMP_NUM_THREADS"),
        inter_op_threads=2,
        is_cudnn_enabled=True,
        switches=(),
        warnings=(),
    )
    assert str(applied) == (
        "intra-op threads 1 (OMP_NUM_THREADS), inter-op threads 2, inference mode on, cuDNN on, cache cleaning on"
    )


@pytest.mark.gpu
@pytest.mark.parametrize("cleans_cache", [False, True])
def test_cache_cleaning(cleans_cache: bool) -> None:
    torch.cuda.empty_cache()
    before = torch.cuda.memory_reserved(0)
    with RunMode(cleans_cache=cleans_cache).session_on(torch.device("cuda", 0))():
        torch.empty(2**26, dtype=torch.uint8, device="cuda:0")
    assert (torch.cuda.memory_reserved(0) == before) == cleans_cache


@pytest.mark.gpu
@pytest.mark.parametrize("value", ["false", "true"])
def test_cudnn_disabled(value: str) -> None:
    operators = observe("convolution", parameters={"DISABLE_CUDNN": value}, device="cuda:0")
    assert ("aten::cudnn_convolution" in operators) == (value == "false")
