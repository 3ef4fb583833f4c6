"""Parameters: values that are allowed, near misses, and those that wait to be built."""

from dataclasses import replace
from pathlib import Path

import pytest

from triton_pytorch.model_config import parameters
from triton_pytorch.model_config.errors import ConfigError, UnsupportedError
from triton_pytorch.model_config.parameters import Parameters, foreign_parameters, read_parameters

BOOLEANS = [
    "ALLOW_EMPTY_INPUTS",
    "DISABLE_CUDNN",
    "DISABLE_OPTIMIZED_EXECUTION",
    "ENABLE_CACHE_CLEANING",
    "ENABLE_JIT_EXECUTOR",
    "ENABLE_JIT_PROFILING",
    "ENABLE_TENSOR_FUSER",
    "ENABLE_WEIGHT_SHARING",
    "ENFORCE_UPPER_BOUNDS",
    "INFERENCE_MODE",
]
ON_BY_DEFAULT = {"ENFORCE_UPPER_BOUNDS", "INFERENCE_MODE"}
THREAD_COUNTS = ["INTER_OP_THREAD_COUNT", "INTRA_OP_THREAD_COUNT", "NUM_INTEROP_THREADS", "NUM_THREADS"]


def test_no_parameters() -> None:
    parameters = read_parameters({})
    assert parameters == Parameters()
    # None leaves a value to torch, or to the machine.
    assert {getattr(parameters, key.lower()) for key in ON_BY_DEFAULT} == {True}
    assert parameters.module_method_name == "forward"
    for_torch = {key for key in BOOLEANS if key.startswith(("ENABLE_JIT", "ENABLE_TENSOR"))}
    assert {getattr(parameters, key.lower()) for key in BOOLEANS if key not in for_torch | ON_BY_DEFAULT} == {False}
    assert {getattr(parameters, key.lower()) for key in (*THREAD_COUNTS, *for_torch)} == {None}


def test_unknown_keys_of_others() -> None:
    others = {"FORCE_CPU_ONLY_INPUT_TENSORS": "no", "EXECUTION_ENV_PATH": "/env.tar.gz", "my_own": "1"}
    assert read_parameters(others) == Parameters()


@pytest.mark.parametrize("key", ["AOTI_MODEL_NAME", "DEFAULT_MODEL_FILENAME", "MODULE_METHOD_NAME"])
@pytest.mark.parametrize("value", ["", " "])
def test_texts_empty(key: str, value: str) -> None:
    with pytest.raises(ConfigError, match=f"parameter {key} is empty"):
        read_parameters({key: value})


@pytest.mark.parametrize("value", ["/abs/model.pt2", "../other/model.pt2", "a/../../model.pt2"])
def test_file_names_outside(value: str) -> None:
    with pytest.raises(ConfigError, match=r"parameter DEFAULT_MODEL_FILENAME is '.*': expected the name of a file"):
        read_parameters({"DEFAULT_MODEL_FILENAME": value})


@pytest.mark.parametrize("key", ["MODEL_INIT_LIBRARY", "CUSTOM_OP_LIBRARIES", "CRASH_ISOLATION"])
def test_keys_refused_until_built(key: str) -> None:
    with pytest.raises(UnsupportedError, match=f"parameter {key} is not supported by this version"):
        read_parameters({key: "true"})


def test_keys_without_effect() -> None:
    warnings = read_parameters({"INFERENCE_MODE": "true", "ENABLE_WEIGHT_SHARING": "true"}).warnings
    assert warnings == ("parameters without effect in this version: ENABLE_WEIGHT_SHARING",)


def test_parameter_of_what_torch_has_removed() -> None:
    warnings = read_parameters({"ENABLE_NVFUSER": "true", "ENABLE_TENSOR_FUSER": "false"}).warnings
    assert warnings == ("parameter ENABLE_NVFUSER has no effect: torch has no NVFuser any more",)


@pytest.mark.parametrize("key", BOOLEANS)
@pytest.mark.parametrize(
    ("value", "meaning"), [("true", True), ("TRUE", True), ("1", True), ("False", False), ("0", False)]
)
def test_booleans(key: str, value: str, meaning: bool) -> None:
    assert getattr(read_parameters({key: value}), key.lower()) is meaning


@pytest.mark.parametrize("value", ["yes", "on", "2", "", " true", "true "])
def test_booleans_invalid(value: str) -> None:
    with pytest.raises(ConfigError, match=f"^parameter DISABLE_CUDNN is '{value}': expected true, false, 1 or 0$"):
        read_parameters({"DISABLE_CUDNN": value})


@pytest.mark.parametrize("key", THREAD_COUNTS)
@pytest.mark.parametrize(("value", "count"), [("1", 1), ("16", 16), ("4096", 4096)])
def test_thread_counts(key: str, value: str, count: int) -> None:
    assert getattr(read_parameters({key: value}), key.lower()) == count


@pytest.mark.parametrize(
    "value",
    ["0", "-1", "1.5", "", " 2", "2\n", "+2", "1e3", "1_0", "four", "٤", "4097", pytest.param("9" * 5000, id="9..")],
)
def test_thread_counts_invalid(value: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_parameters({"NUM_THREADS": value})
    assert str(caught.value) == f"parameter NUM_THREADS is '{value}': expected a whole number of threads from 1 to 4096"


@pytest.mark.parametrize(
    ("one", "other"), [("INTRA_OP_THREAD_COUNT", "NUM_THREADS"), ("INTER_OP_THREAD_COUNT", "NUM_INTEROP_THREADS")]
)
def test_synonyms_differ(one: str, other: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_parameters({one: "2", other: "4"})
    assert str(caught.value) == (
        f"parameters {one} (2) and {other} (4) are two names of one number, but differ: remove one of them"
    )
    assert read_parameters({one: "4", other: "4"}).given == tuple(sorted((one, other)))


def test_errors_all_at_once() -> None:
    values = {"NUM_THREADS": "x", "INTRA_OP_THREAD_COUNT": "2", "INFERENCE_MODE": "maybe", "AOTI_MODEL_NAME": ""}
    with pytest.raises(ConfigError) as caught:
        read_parameters(values)
    assert str(caught.value) == (
        "Parameter AOTI_MODEL_NAME is empty: give it a value or remove it. "
        "Parameter INFERENCE_MODE is 'maybe': expected true, false, 1 or 0. "
        "Parameter NUM_THREADS is 'x': expected a whole number of threads from 1 to 4096."
    )


def test_foreign_parameters() -> None:
    for_all = {"INFERENCE_MODE": "false", "INTRA_OP_THREAD_COUNT": "2"}
    own = {"NUM_THREADS": "2", "MODULE_METHOD_NAME": "encode"}
    others = {"AOTI_MODEL_NAME": "first", "ENABLE_JIT_EXECUTOR": "false", "MODULE_CLASS": "Model"}
    parameters = read_parameters({**for_all, **own, **others})
    assert foreign_parameters(parameters, own.keys()) == tuple(sorted(others))
    limited = parameters.limited_to(own.keys())
    assert limited == replace(read_parameters({**for_all, **own}), given=parameters.given)
    assert foreign_parameters(read_parameters({**for_all, **own}), own.keys()) == ()
    assert foreign_parameters(Parameters(), ()) == ()


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        ("AOTI_MODELNAME", "AOTI_MODEL_NAME"),
        ("aoti_model_name", "AOTI_MODEL_NAME"),
        ("INTRA_OP_THREADS_COUNT", "INTRA_OP_THREAD_COUNT"),
        ("default_model_name", "DEFAULT_MODEL_FILENAME"),
        ("DEFAULT_MODEL_NAME", "DEFAULT_MODEL_FILENAME"),
    ],
)
def test_near_miss_warning(wrong: str, meant: str) -> None:
    assert read_parameters({wrong: "x"}).warnings == (f"unknown parameter '{wrong}'; did you mean '{meant}'?",)


def test_documentation_names_every_key() -> None:
    text = (Path(__file__).resolve().parents[3] / "docs" / "parameters.md").read_text(encoding="utf-8")
    assert [key for key in parameters._KNOWN if f"`{key}`" not in text] == []
