"""TorchScript at load on a real server: platforms, kinds of instance, files and configs that are wrong; who is up."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from triton_pytorch.local_server.server import Server
from triton_pytorch.tests.assets import scripts
from triton_pytorch.tests.assets.archives import with_text
from triton_pytorch.tests.assets.configs import tensor_config
from triton_pytorch.tests.assets.packages import package_path
from triton_pytorch.tests.integration.script_models import ONE_STRING, strings
from triton_pytorch.tests.server.conftest import ROOT, Client, StartServer, connect, load_errors, write_script

ON_CPU, BY_MODEL = ([{"kind": kind}] for kind in ("KIND_CPU", "KIND_MODEL"))
XY = ["y", "x"]


def good(path: Path) -> None:
    scripts.scripted(scripts.Arithmetic(), path)


def saved_from_cuda(path: Path) -> None:
    """Write an archive whose weights say that they were on a GPU, as a pickle has it: with lengths before texts."""
    good(path.with_suffix(".source"))
    cpu, gpu = b"X\x03\0\0\0cpu", b"X\x06\0\0\0cuda:0"
    with_text(path.with_suffix(".source"), path, cpu, gpu, ending="data.pkl")
    assert gpu in path.read_bytes()


# What makes the file, and the config, of models that all answer as `scripts.Arithmetic`.
RIGHT_MODELS: dict[str, tuple[Callable[[Path], None], dict[str, Any]]] = {
    "stock_backend": (good, {"backend": "pytorch", "instance_group": BY_MODEL}),
    "stock_backend_alone": (good, {"backend": "pytorch", "platform": ""}),
    "short_platform": (good, {"platform": "libtorch", "instance_group": ON_CPU}),
    "no_platform": (saved_from_cuda, {"platform": "", "instance_group": ON_CPU}),
    "python_mode": (good, {"backend": "python", "platform": ""}),
    "python_mode_with_name": (
        good,
        {"backend": "python", "file_name": "mine.pt", "parameters": {"DEFAULT_MODEL_FILENAME": "mine.pt"}},
    ),
    "another_name": (
        saved_from_cuda,
        {"file_name": "größe.bin", "default_model_filename": "größe.bin", "instance_group": BY_MODEL},
    ),
    "named_like_a_package": (good, {"file_name": "model.pt2", "instance_group": [{"kind": "KIND_CPU", "count": 2}]}),
}


def state_dict(path: Path) -> None:
    torch.save(scripts.Arithmetic().state_dict(), path)


def pickled_module(path: Path) -> None:
    torch.save(scripts.Arithmetic(), path)


def first_half(path: Path) -> None:
    good(path)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def lfs_pointer(path: Path) -> None:
    path.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", encoding="utf-8")


def text(path: Path) -> None:
    path.write_text("the weights are at https://example.com\n", encoding="utf-8")


def package(path: Path) -> None:
    path.symlink_to(package_path("looks_up"))


def with_operator(path: Path, operator: str) -> None:
    """Write an archive that uses an operator, which does not exist."""
    good(path.with_suffix(".source"))
    with_text(path.with_suffix(".source"), path, b"torch.sub(", f"ops.{operator}(".encode(), ending=".py")


def operator_of_torchvision(path: Path) -> None:
    with_operator(path, "torchvision.of_tests")


def operator_of_nobody(path: Path) -> None:
    with_operator(path, "mine.of_tests")


HOW = r"expected .*a TorchScript archive, made by torch\.jit\.script or torch\.jit\.trace, and \.save"
LACKS = rf"which torch {re.escape(torch.__version__)} lacks"
# What makes the file, and the pattern of what its error's first line has to say.
WRONG_FILES: dict[Callable[[Path], None], str] = {
    state_dict: rf"ArtifactError: '.*' is a checkpoint or pickled module \(torch.save\), which holds no program: {HOW}",
    pickled_module: rf"ArtifactError: '.*' is a checkpoint or pickled module \(torch.save\), .*: {HOW}",
    first_half: rf"ArtifactError: '.*' is the beginning of a zip archive whose end is missing: copy it again: {HOW}",
    lfs_pointer: rf"ArtifactError: '.*' is a Git LFS pointer \(run `git lfs pull`\): {HOW}",
    text: rf"ArtifactError: '.*' is a text file: {HOW}",
    package: r'ConfigError: platform is \'pytorch_libtorch\', but .* is an AOTInductor package: .*"torch_aoti"',
    operator_of_torchvision: rf"ArtifactError: '.*' uses torchvision::of_tests, {LACKS}.*: install the ",
    operator_of_nobody: rf"ArtifactError: '.*' uses mine::of_tests, {LACKS}: this version finds the operators of ",
}

# A module, the names of inputs and outputs, the rest of the config, and what the error's first line has to say.
WRONG_CONFIGS: dict[str, tuple[torch.nn.Module, list[Any], list[Any], dict[str, Any], str]] = {
    "unknown_input": (
        scripts.Arithmetic(),
        ["x", "yy"],
        ["RESULT"],
        {},
        "NamingError: 'yy' is no input of the model; did you mean 'y'?",
    ),
    "several_faults": (
        scripts.Arithmetic(),
        ["y", "k__3"],
        ["r__1"],
        {},
        (
            "NamingError: 'k__3' is argument 'power' of type int, which no request can send: remove it from the config,"
            " and its default applies. The config declares no tensor for x (INPUT__0): every input needs one. The"
            " inputs of the model are x (INPUT__0), y (INPUT__1), bias (INPUT__2). 'r__1' is out of range: the number"
            " of outputs is 1,"
        ),
    ),
    "index_of_a_dictionary": (
        scripts.ReadsKeys(),
        ["INPUT__0"],
        ["a"],
        {},
        "'INPUT__0' is a dictionary and no tensor: expected one of its entries, options[a], options[b], options[bias]",
    ),
    "container_as_output": (
        scripts.Nested(),
        ["x"],
        ["RESULT[1]"],
        {},
        "'RESULT[1]' is a container and no tensor: expected one of its leaves, RESULT[1][<index>]",
    ),
    "required_and_optional": (
        scripts.Arithmetic(),
        [tensor_config("x", optional=True), "y"],
        ["RESULT"],
        {},
        "ConfigError: input 'x' is optional, but the model has no default for it: remove `optional: true`",
    ),
    "tensor_for_strings": (
        scripts.Strings(),
        ["words", "x"],
        [strings("RESULT[0]")],
        {},
        "input 'words' is declared TYPE_FP32, but the model takes List[str]: declare TYPE_STRING",
    ),
    "strings_in_two_dimensions": (
        scripts.CutsStrings(),
        [strings("words", (-1, 2))],
        [strings("RESULT")],
        {},
        "input 'words' is TYPE_STRING with dims [-1, 2], but a list of strings has one dimension: declare dims: [ -1 ]",
    ),
    "batched_strings_without_reshape": (
        scripts.CutsStrings(),
        [strings("words", (1,))],
        [strings("RESULT", **ONE_STRING)],
        {"max_batch_size": 4},
        "a list of strings has one dimension, that of the batch: declare dims: [ 1 ] and reshape: { shape: [ ] }",
    ),
    "unknown_method": (
        scripts.Arithmetic(),
        ["x"],
        ["RESULT"],
        {"parameters": {"MODULE_METHOD_NAME": "twize"}},
        (
            "ConfigError: the model has no method 'twize': name one of forward, twice in the parameter"
            " MODULE_METHOD_NAME; did you mean 'twice'?"
        ),
    ),
    "platform_of_packages": (
        scripts.Arithmetic(),
        XY,
        ["RESULT"],
        {"platform": "torch_aoti"},
        'platform_of_packages/1/model.pt\' is a TorchScript archive: expected platform: "pytorch_libtorch"',
    ),
    "no_gpu": (
        scripts.Arithmetic(),
        XY,
        ["RESULT"],
        {"instance_group": [{"kind": "KIND_GPU", "gpus": [0]}]},
        "instance group no_gpu_0 of model no_gpu specifies invalid or unsupported gpu id 0",  # says the core itself
    ),
}


@pytest.fixture(scope="module")
def server(start_server: StartServer, tmp_path_factory: pytest.TempPathFactory) -> Server:
    repository, files = tmp_path_factory.mktemp("models"), tmp_path_factory.mktemp("files")
    for name, (make, config) in RIGHT_MODELS.items():
        make(files / name)
        directory = write_script(repository, name, files / name, XY, ["RESULT"], **config)
        if config.get("backend") == "python":
            (directory / "model.py").symlink_to(ROOT / "model.py")
    without_weights = scripts.scripted(scripts.Defaults(), files / "without_weights")
    write_script(repository, "without_weights", without_weights, ["a"], ["RESULT"], instance_group=BY_MODEL)
    baked = scripts.scripted(scripts.BakesOneDevice(), files / "bakes_a_device")
    write_script(repository, "bakes_a_device", baked, ["x"], ["RESULT"], instance_group=ON_CPU)
    for make in WRONG_FILES:
        make(files / make.__name__)
        write_script(repository, make.__name__, files / make.__name__, XY, ["RESULT"])
    for name, (module, inputs, outputs, config, _) in WRONG_CONFIGS.items():
        write_script(repository, name, scripts.scripted(module, files / name), inputs, outputs, **config)
    return start_server(repository)


@pytest.fixture(scope="module", params=["http", "grpc"])
def client(server: Server, request: pytest.FixtureRequest) -> Client:
    return connect(server, request.param)


@pytest.fixture(scope="module")
def first_lines(server: Server) -> dict[str, str]:
    return {name: (reason.splitlines() or [""])[0] for name, reason in load_errors(server).items()}


@pytest.mark.parametrize("name", RIGHT_MODELS)
def test_platforms_backends_kinds_and_file_names(client: Client, name: str) -> None:
    x, y = torch.randn(3), torch.randn(3)
    assert torch.equal(client.infer(name, {"x": x, "y": y})["RESULT"], scripts.Arithmetic()(x, y))


def test_the_model_decides_and_has_no_weights(client: Client) -> None:
    x = torch.randn(3)
    assert torch.equal(client.infer("without_weights", {"a": x})["RESULT"], scripts.Defaults()(x))


def test_a_device_in_the_code_is_warned_of_at_load(server: Server, client: Client) -> None:
    warning = "the model's code names cuda:1, as tracing makes it, but this instance runs on cpu, "
    assert server.log.count(f"model 'bakes_a_device': {warning}") == 1
    assert server.log.count("or pin the instance group to cuda:1 (kind: KIND_GPU, gpus: [ 1 ])") == 1
    message = client.failure("bakes_a_device", {"x": torch.ones(2)})
    assert message.startswith("model 'bakes_a_device': ")
    assert "\n" not in message


@pytest.mark.parametrize("make", WRONG_FILES, ids=lambda make: make.__name__)
def test_a_wrong_file_is_named_at_load(first_lines: dict[str, str], make: Callable[[Path], None]) -> None:
    reason = first_lines[make.__name__]
    assert re.search(WRONG_FILES[make], reason), reason
    assert make is package or f"/{make.__name__}/1/model.pt'" in reason


@pytest.mark.parametrize("name", WRONG_CONFIGS)
def test_a_wrong_config_is_named_at_load(first_lines: dict[str, str], name: str) -> None:
    assert WRONG_CONFIGS[name][-1].lower() in first_lines[name].lower()


def test_all_others_are_up(client: Client, first_lines: dict[str, str]) -> None:
    assert first_lines.keys() == {*WRONG_CONFIGS, *(make.__name__ for make in WRONG_FILES)}
    assert all(map(client.is_ready, [*RIGHT_MODELS, "without_weights", "bakes_a_device"]))
    assert not any(map(client.is_ready, first_lines))
