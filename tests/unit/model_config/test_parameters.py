"""Parameters: values that are allowed, near misses, and those that wait to be built."""

from dataclasses import replace
from pathlib import Path

import pytest

from triton_pytorch.model_config.errors import ConfigError, UnsupportedError
from triton_pytorch.model_config.parameters import ModelFormat, Parameters, foreign_parameters, read_parameters

BOOLEANS = [
    "DISABLE_CUDNN",
    "DISABLE_OPTIMIZED_EXECUTION",
    "ENABLE_CACHE_CLEANING",
    "ENABLE_JIT_EXECUTOR",
    "ENABLE_JIT_PROFILING",
    "ENABLE_TENSOR_FUSER",
    "ENABLE_WEIGHT_SHARING",
    "INFERENCE_MODE",
]
THREAD_COUNTS = ["INTER_OP_THREAD_COUNT", "INTRA_OP_THREAD_COUNT", "NUM_INTEROP_THREADS", "NUM_THREADS"]


def test_no_parameters() -> None:
    parameters = read_parameters({})
    assert parameters == Parameters()
    # SPEC.md, "Parameters"; None leaves a value to torch, or to the machine.
    assert (parameters.inference_mode, parameters.module_method_name) == (True, "forward")
    assert {parameters.disable_cudnn, parameters.disable_optimized_execution, parameters.enable_cache_cleaning} == {
        False
    }
    assert {getattr(parameters, key.lower()) for key in (*THREAD_COUNTS, *BOOLEANS[3:6])} == {None}


def test_parameters_of_others_are_left_alone() -> None:
    others = {"FORCE_CPU_ONLY_INPUT_TENSORS": "no", "EXECUTION_ENV_PATH": "/env.tar.gz", "my_own": "1"}
    assert read_parameters(others) == Parameters()


@pytest.mark.parametrize("key", ["AOTI_MODEL_NAME", "DEFAULT_MODEL_FILENAME", "MODULE_METHOD_NAME"])
@pytest.mark.parametrize("value", ["", " "])
def test_an_empty_value_is_refused(key: str, value: str) -> None:
    with pytest.raises(ConfigError, match=f"parameter {key} is empty"):
        read_parameters({key: value})


@pytest.mark.parametrize("value", ["/abs/model.pt2", "../other/model.pt2", "a/../../model.pt2"])
def test_a_file_outside_the_version_directory_is_refused(value: str) -> None:
    with pytest.raises(ConfigError, match=r"parameter DEFAULT_MODEL_FILENAME is '.*': expected the name of a file"):
        read_parameters({"DEFAULT_MODEL_FILENAME": value})


@pytest.mark.parametrize("key", ["MODEL_INIT_LIBRARY", "CUSTOM_OP_LIBRARIES", "CRASH_ISOLATION"])
def test_what_would_change_answers_is_refused_until_it_is_built(key: str) -> None:
    with pytest.raises(UnsupportedError, match=f"parameter {key} is not supported by this version"):
        read_parameters({key: "true"})


def test_what_changes_no_answer_is_warned_about_once() -> None:
    warnings = read_parameters({"INFERENCE_MODE": "true", "ENABLE_WEIGHT_SHARING": "true"}).warnings
    assert warnings == ("parameters without effect in this version: ENABLE_WEIGHT_SHARING",)


@pytest.mark.parametrize("key", BOOLEANS)
@pytest.mark.parametrize(
    ("value", "meaning"), [("true", True), ("TRUE", True), ("1", True), ("False", False), ("0", False)]
)
def test_booleans(key: str, value: str, meaning: bool) -> None:
    assert getattr(read_parameters({key: value}), key.lower()) is meaning


@pytest.mark.parametrize("key", BOOLEANS)
@pytest.mark.parametrize("value", ["yes", "on", "2", "", " true", "true "])
def test_what_is_no_boolean_is_refused(key: str, value: str) -> None:
    with pytest.raises(ConfigError, match=f"^parameter {key} is '{value}': expected true, false, 1 or 0$"):
        read_parameters({key: value})


@pytest.mark.parametrize("key", THREAD_COUNTS)
@pytest.mark.parametrize(("value", "count"), [("1", 1), ("16", 16), ("4096", 4096)])
def test_thread_counts(key: str, value: str, count: int) -> None:
    assert getattr(read_parameters({key: value}), key.lower()) == count


@pytest.mark.parametrize("key", THREAD_COUNTS)
@pytest.mark.parametrize(
    "value",
    ["0", "-1", "1.5", "", " 2", "2\n", "+2", "1e3", "1_0", "four", "٤", "4097", pytest.param("9" * 5000, id="9..")],
)
def test_what_is_no_thread_count_is_refused(key: str, value: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_parameters({key: value})
    assert str(caught.value) == f"parameter {key} is '{value}': expected a whole number of threads from 1 to 4096"


@pytest.mark.parametrize(
    ("one", "other"), [("INTRA_OP_THREAD_COUNT", "NUM_THREADS"), ("INTER_OP_THREAD_COUNT", "NUM_INTEROP_THREADS")]
)
def test_two_names_of_one_number_must_agree(one: str, other: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_parameters({one: "2", other: "4"})
    assert str(caught.value) == (
        f"parameters {one} (2) and {other} (4) are two names of one number, but differ: remove one of them"
    )
    assert read_parameters({one: "4", other: "4"}).given == tuple(sorted((one, other)))


def test_all_faults_are_told_at_once() -> None:
    values = {"NUM_THREADS": "x", "INTRA_OP_THREAD_COUNT": "2", "INFERENCE_MODE": "maybe", "AOTI_MODEL_NAME": ""}
    with pytest.raises(ConfigError) as caught:
        read_parameters(values)
    assert str(caught.value) == (
        "Parameter AOTI_MODEL_NAME is empty: give it a value or remove it. "
        "Parameter INFERENCE_MODE is 'maybe': expected true, false, 1 or 0. "
        "Parameter NUM_THREADS is 'x': expected a whole number of threads from 1 to 4096."
    )


# SPEC.md, "Parameters": each key with a value other than its default, and the formats that it is for.
FOR_EVERY_FORMAT = {
    "DISABLE_CUDNN": "true",
    "ENABLE_CACHE_CLEANING": "true",
    "INFERENCE_MODE": "false",
    "INTER_OP_THREAD_COUNT": "3",
    "INTRA_OP_THREAD_COUNT": "2",
}
FOR_PACKAGES = {"AOTI_MODEL_NAME": "first"}
FOR_TORCHSCRIPT_AND_MODULES = {"MODULE_METHOD_NAME": "encode", "NUM_INTEROP_THREADS": "3", "NUM_THREADS": "2"}
FOR_TORCHSCRIPT = {
    "DISABLE_OPTIMIZED_EXECUTION": "true",
    "ENABLE_JIT_EXECUTOR": "false",
    "ENABLE_JIT_PROFILING": "false",
    "ENABLE_TENSOR_FUSER": "false",
}
FOR_MODULES = {"MODULE_CLASS": "Model", "TORCH_COMPILE_OPTIONAL_PARAMETERS": "{}"}
ALL = {**FOR_EVERY_FORMAT, **FOR_PACKAGES, **FOR_TORCHSCRIPT_AND_MODULES, **FOR_TORCHSCRIPT, **FOR_MODULES}


@pytest.mark.parametrize(
    ("model_format", "own"),
    [
        (ModelFormat.PACKAGE, FOR_PACKAGES),
        (ModelFormat.TORCHSCRIPT, {**FOR_TORCHSCRIPT, **FOR_TORCHSCRIPT_AND_MODULES}),
        (ModelFormat.MODULE, {**FOR_MODULES, **FOR_TORCHSCRIPT_AND_MODULES}),
    ],
)
def test_parameters_of_other_formats_are_named_and_not_in_force(model_format: ModelFormat, own: dict[str, str]) -> None:
    parameters = read_parameters(ALL)
    foreign = ALL.keys() - FOR_EVERY_FORMAT.keys() - own.keys()
    assert foreign_parameters(parameters, model_format) == tuple(sorted(foreign))
    in_force = parameters.on(model_format)
    assert in_force == replace(
        read_parameters({**FOR_EVERY_FORMAT, **own}), given=parameters.given, warnings=parameters.warnings
    )
    assert foreign_parameters(read_parameters({**FOR_EVERY_FORMAT, **own}), model_format) == ()


def test_parameters_that_a_config_does_not_set_are_foreign_to_nothing() -> None:
    assert [foreign_parameters(Parameters(), model_format) for model_format in ModelFormat] == [(), (), ()]


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
def test_a_near_miss_is_warned_about(wrong: str, meant: str) -> None:
    assert read_parameters({wrong: "x"}).warnings == (f"unknown parameter '{wrong}'; did you mean '{meant}'?",)


def test_the_documentation_has_every_parameter() -> None:
    text = (Path(__file__).resolve().parents[3] / "docs" / "parameters.md").read_text(encoding="utf-8")
    keys = {*ALL, *BOOLEANS, "DEFAULT_MODEL_FILENAME", "CRASH_ISOLATION", "CUSTOM_OP_LIBRARIES", "MODEL_INIT_LIBRARY"}
    assert {key for key in keys if f"`{key}`" not in text} == set()
