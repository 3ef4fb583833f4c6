"""What core 2.51 logs of configs that it refuses, and what is said of them."""

import sys
from pathlib import Path

import pytest

from triton_pytorch.local_server.core_refusals import core_refusals, with_remedy

PROTOBUF = (
    "[libprotobuf ERROR /tmp/src/google/protobuf/text_format.cc:337] Error parsing text-format inference.ModelConfig"
)
POLL = 'E1201 03:10:52.149789 4556 model_repository_manager.cc:1460] "Poll failed for model directory'
IN_PYTORCH = 'name: "m"\nbackend: "pytorch"\nplatform: "{}"\n'


def refused(repository: Path, said: str, config: str = "") -> str:
    """Return the sentence on a model `m` whose config is given, for the lines that core logs of it."""
    (repository / "m").mkdir()
    (repository / "m" / "config.pbtxt").write_text(config, encoding="utf-8")
    log = f'I1201 03:10:52 4556 model_lifecycle.cc:472] "loading: good:1"\n{said}\n'
    (refusal,) = core_refusals(log.replace("DIR", str(repository)), [repository]).items()
    name, sentence = refusal
    assert name == "m"
    return sentence.replace(str(repository), "DIR")


VALUE = 'Unknown enumeration value of "{}" for field "{}"'
FIELD = 'Message type "inference.{}" has no field named "{}"'


@pytest.mark.parametrize(
    ("place", "reason", "more"),
    [
        ("2:19", FIELD.format("ModelConfig", "default_model_name"), "; did you mean 'default_model_filename'?"),
        ("7:3", FIELD.format("ModelInput", "shape"), "; did you mean 'reshape'?"),
        ("7:3", FIELD.format("OfALaterServer", "shape"), ""),
        ("4:9", VALUE.format("TYPE_FLOAT32", "data_type"), "; did you mean 'TYPE_FP32'?"),
        ("4:9", VALUE.format("INT64", "data_type"), "; did you mean 'TYPE_INT64'?"),
        ("4:9", VALUE.format("GPU", "kind"), ""),
        ("1:18", "String literals cannot cross line boundaries", ""),
    ],
)
def test_not_parsed(tmp_path: Path, place: str, reason: str, more: str) -> None:
    poll = f"{POLL} 'm': failed to read text proto from DIR/m/config.pbtxt\""
    said = refused(tmp_path, f"{PROTOBUF}: {place}: {reason}.\n{poll}")
    assert said == f"line {place.partition(':')[0]} of DIR/m/config.pbtxt: {reason}{more}"


PAIR = "unexpected 'platform' and 'backend' pair, got:{}, pytorch"
TYPE = "unexpected platform type '{}' for m"
NAME = "unexpected directory name 'm' for model 'n', directory name must equal model name"
NO_BACKEND = "Invalid model name: Could not determine backend for model 'm' with no backend in model configuration."
NEGATIVE = "'max_batch_size' must be non-negative value for m"
OF_THIS_BACKEND = "the platforms of this backend are torch_aoti, pytorch_libtorch, libtorch"


@pytest.mark.parametrize(
    ("reason", "config", "line", "remedy"),
    [
        (
            PAIR.format("libtorch"),
            IN_PYTORCH.format("libtorch"),
            3,
            'change line 2 to backend: "pytorch_python", which takes platform: "libtorch" on any server',
        ),
        (
            TYPE.format("torch_aoti"),
            'platform: "torch_aoti"',
            1,
            'add backend: "pytorch_python", which takes platform: "torch_aoti" on any server',
        ),
        (TYPE.format("torch_aot"), 'platform: "torch_aot"', 1, f"{OF_THIS_BACKEND}; did you mean 'torch_aoti'?"),
        (TYPE.format("keras"), '\nplatform: "keras"', 2, OF_THIS_BACKEND),
        (PAIR.format(""), "", None, 'write a config.pbtxt with backend: "pytorch_python"'),
        (NAME, '\nname: "n"', 2, "change or remove the name"),
        (NEGATIVE, "max_batch_size: -1", None, ""),
    ],
)
def test_refused(tmp_path: Path, reason: str, config: str, line: int | None, remedy: str) -> None:
    place = "DIR/m/config.pbtxt" if line is None else f"line {line} of DIR/m/config.pbtxt"
    expected = f"{place}: {reason}: {remedy}" if remedy else f"{place}: {reason}"
    assert refused(tmp_path, f"{POLL} 'm': {reason}\"", config) == expected


def test_no_backend(tmp_path: Path) -> None:
    said = refused(tmp_path, f"{POLL} 'm': {NO_BACKEND}\"", "max_batch_size: 1")
    assert said == 'DIR/m/config.pbtxt: it names no backend: add backend: "pytorch_python"'


def test_no_config(tmp_path: Path) -> None:
    assert core_refusals(f"{POLL} 'm': {NO_BACKEND}\"", [tmp_path]) == {
        "m": f'{tmp_path}/m/config.pbtxt does not exist: write it, with backend: "pytorch_python", and with inputs and '
        "outputs"
    }


def test_byte_order_mark(tmp_path: Path) -> None:
    poll = f"{POLL} 'm': failed to read text proto from DIR/m/config.pbtxt\""
    said = f"{PROTOBUF}: 1:1: Expected identifier, got: \ufffd.\n{poll}"
    assert refused(tmp_path, said, '\ufeffbackend: "pytorch"') == (
        "DIR/m/config.pbtxt: it begins with a byte order mark: save it as UTF-8 without one"
    )


@pytest.mark.parametrize("quote", ['"', ""])  # older cores do not quote their messages
def test_no_version(tmp_path: Path, quote: str) -> None:
    reason = "at least one version must be available under the version policy of model 'm'"
    said = f"E1201 model_repository_manager.cc:724] {quote}failed to load model 'm': {reason}{quote}"
    assert refused(tmp_path, said) == (
        f"{reason}: put the model's file into a directory with a number, such as DIR/m/1"
    )


NUMBER_IN_A_ROW = "dims: [ 1 ] and reshape: { shape: [ ] } where the model has one number in each row"


@pytest.mark.parametrize(
    ("reason", "remedy"),
    [
        ("model input 'y' must specify 'dims' for m", "Triton has no empty dims, so declare its sizes"),
        ("model output 'y' has different size for dims and reshape for m", "both must hold as many elements"),
    ],
)
def test_refused_dims(tmp_path: Path, reason: str, remedy: str) -> None:
    said = with_remedy("m", f"Invalid argument: {reason}", [tmp_path])
    assert said == f"{tmp_path}/m/config.pbtxt: {reason}: {remedy}, {NUMBER_IN_A_ROW}"


def test_unknown_backend(tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "config.pbtxt").write_text('\nbackend: "pytorch_pyhton"', encoding="utf-8")
    reason = "unable to find backend library for backend 'pytorch_pyhton', try specifying runtime on the model"
    assert with_remedy("m", f"Invalid argument: {reason} configuration.", [tmp_path]) == (
        f"line 2 of {tmp_path}/m/config.pbtxt: Triton finds no backend 'pytorch_pyhton': this one has the names "
        '"pytorch", "pytorch_python"'
    )


def test_reason_of_a_backend_stays(tmp_path: Path) -> None:
    reason = "Internal: ConfigError: input 'y' must specify it"
    assert with_remedy("m", reason, [tmp_path]) == reason


def test_several_models_and_repositories(tmp_path: Path) -> None:
    for name in ("a/first", "b/second"):
        (tmp_path / name).mkdir(parents=True)
    log = f"{POLL} 'second': one reason\"\nfailed to load 'other' version 1: Internal\n{POLL} 'first': another\""
    assert core_refusals(log, [tmp_path / "a", tmp_path / "b"]) == {
        "second": f"{tmp_path}/b/second/config.pbtxt: one reason",
        "first": f"{tmp_path}/a/first/config.pbtxt: another",
    }
    assert core_refusals(log, []).keys() == {"first", "second"}
    assert core_refusals("", [tmp_path]) == {}


def test_unknown_field_without_tritonclient(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tritonclient.grpc", None)
    reason = '1:1: Message type "inference.ModelConfig" has no field named "default_model_name".'
    said = f"{PROTOBUF}: {reason}\n{POLL} 'm': failed to read text proto from DIR/m/config.pbtxt\""
    assert refused(tmp_path, said).endswith('has no field named "default_model_name"')
