"""Parameters: values that are allowed, near misses, and those that wait to be built."""

import pytest

from triton_pytorch.model_config.errors import ConfigError, UnsupportedError
from triton_pytorch.model_config.parameters import Parameters, read_parameters


def test_no_parameters() -> None:
    assert read_parameters({}) == Parameters()


def test_parameters_of_others_are_left_alone() -> None:
    others = {"FORCE_CPU_ONLY_INPUT_TENSORS": "no", "EXECUTION_ENV_PATH": "/env.tar.gz", "my_own": "1"}
    assert read_parameters(others) == Parameters()


@pytest.mark.parametrize("key", ["AOTI_MODEL_NAME", "DEFAULT_MODEL_FILENAME"])
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
    assert warnings == ("parameters without effect in this version: ENABLE_WEIGHT_SHARING, INFERENCE_MODE",)


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
