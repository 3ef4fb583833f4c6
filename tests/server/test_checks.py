"""What is wrong is one clear sentence on a real server: configs, files and requests; all other models stay up."""

import json
import platform
import re
import shutil
import stat
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from tritonclient.utils import InferenceServerException

from triton_pytorch.local_server.server import Server
from triton_pytorch.tests.assets.configs import tensor_config
from triton_pytorch.tests.assets.packages import package_path, package_paths
from triton_pytorch.tests.server.conftest import Client, StartServer, connect, load_errors, write_model

FP16, INT64 = torch.float16, torch.int64
INDEX, RESULT = [tensor_config("INPUT__0", INT64, (2,))], [tensor_config("OUTPUT__0")]


def attention(*inputs: Any, **config: Any) -> dict[str, Any]:
    """Make a config of that package in which these inputs stand for the right ones of their names."""
    declared = {f"ARGS[{i}]": tensor_config(f"ARGS[{i}]", dims=(-1, 4)) for i in range(3)}
    declared |= {tensor["name"]: tensor for tensor in inputs}
    return {
        "inputs": list(declared.values()),
        "outputs": [tensor_config("RESULT", dims=(-1, 4))],
        "max_batch_size": 8,
        **config,
    }


RIGHT_MODELS: dict[str, dict[str, Any]] = {
    "attention": attention(),
    "relations": {
        "inputs": [
            tensor_config("ARGS[0]"),
            tensor_config("ARGS[1]"),
            tensor_config("KWARGS[longer]"),
            tensor_config("KWARGS[table]", dims=(-1, -1)),
            tensor_config("KWARGS[quads]"),
        ],
        "outputs": [tensor_config("RESULT[0]"), tensor_config("RESULT[3]", dims=(-1, 4))],
    },
    "laid_out": {
        "inputs": [tensor_config("ARGS[0]", dims=(3, -1, -1)), tensor_config("ARGS[1]", dims=(4,))],
        "outputs": [tensor_config("RESULT[0]", dims=(4, -1, -1)), tensor_config("RESULT[1]", dims=(4,))],
        "max_batch_size": 32,
    },
    "scalar_inputs": {
        "inputs": [
            tensor_config("ARGS[0]"),
            tensor_config("ARGS[1]", dims=(1,)),
            tensor_config("ARGS[2]", dims=(-1, -1)),
        ],
        "outputs": [
            tensor_config("RESULT[0]"),
            tensor_config("RESULT[1]", dims=(1,)),
            tensor_config("RESULT[2]", dims=(1,)),
        ],
    },
}

TWO_BY_THREE = [tensor_config(f"ARGS[{i}]", dims=(2, 3)) for i in range(2)]
# A package, a config of it with a fault, the error's class, and what its first line has to say.
WRONG_CONFIGS: dict[str, tuple[str, dict[str, Any], str]] = {
    "wrong_dtype": (
        "attention",
        attention(tensor_config("ARGS[1]", FP16, (-1, 4))),
        "ConfigError: input 'ARGS[1]' is declared TYPE_FP16, but the model takes TYPE_FP32",
    ),
    "wrong_rank": (
        "attention",
        attention(tensor_config("ARGS[2]", dims=(-1,))),
        "ConfigError: input 'ARGS[2]' is declared with dims [-1] behind the batch dimension, but the model takes 3 dim",
    ),
    "wrong_static_size": (
        "attention",
        attention(tensor_config("ARGS[0]", dims=(-1, 5))),
        "ConfigError: dimension 2 of input 'ARGS[0]' is declared 5, but the model takes 4 in",
    ),
    "static_batch": (
        "writes_to_its_input",
        {
            "inputs": [tensor_config(f"ARGS[{i}]", dims=(3,)) for i in range(2)],
            "outputs": [tensor_config("RESULT", dims=(3,))],
            "max_batch_size": 4,
        },
        "The config has max_batch_size: 4, but the model was exported with a fixed first dimension of 2 for input",
    ),
    "no_gpu": (
        "writes_to_its_input",
        {
            "inputs": TWO_BY_THREE,
            "outputs": [tensor_config("RESULT", dims=(2, 3))],
            "instance_group": [{"kind": "KIND_GPU", "gpus": [0]}],
        },
        "instance group no_gpu_0 of model no_gpu specifies invalid or unsupported gpu id 0",  # says the core itself
    ),
}
SEVERAL_FAULTS = attention(
    tensor_config("ARGS[0]", FP16, (-1, 5)),
    tensor_config("ARGS[1]", INT64, (-1, 4)),
    tensor_config("ARGS[2]", dims=(4,)),
)


def torchscript(path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # torch announces the end of TorchScript
        torch.jit.save(torch.jit.script(torch.nn.ReLU()), str(path))


def checkpoint(path: Path) -> None:
    torch.save(torch.nn.Linear(2, 2).state_dict(), path)


def exported_program(path: Path) -> None:
    torch.export.save(torch.export.export(torch.nn.ReLU(), (torch.ones(2),)), path)


def text(path: Path) -> None:
    path.write_text("model weights are at https://example.com\n", encoding="utf-8")


def empty(path: Path) -> None:
    path.write_bytes(b"")


def truncated(path: Path) -> None:
    content = package_path("looks_up").read_bytes()
    path.write_bytes(content[: len(content) // 2])


def another_zip(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("word/document.xml", "<document/>")


def with_entry(path: Path, entry: zipfile.ZipInfo | str, content: bytes) -> None:
    """Write a package with one entry more."""
    shutil.copy(package_path("looks_up"), path)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(entry, content)


def outside(path: Path) -> None:
    with_entry(path, "../outside", b"you should not see this")


def link(path: Path) -> None:
    entry = zipfile.ZipInfo("looks_up/link")
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    with_entry(path, entry, b"/etc/passwd")


def bomb(path: Path) -> None:
    with_entry(path, "looks_up/zeros", bytes(200 << 20))


def with_metadata(path: Path, **changes: str) -> None:
    """Write a package whose metadata says something else."""
    with zipfile.ZipFile(package_path("looks_up")) as archive, zipfile.ZipFile(path, "w") as changed:
        for name in archive.namelist():
            content = archive.read(name)
            if name.endswith("_metadata.json"):
                content = json.dumps(json.loads(content) | changes).encode()
            changed.writestr(name, content)


def another_machine(path: Path) -> None:
    with_metadata(path, AOTI_MACHINE="pdp11")


def another_platform(path: Path) -> None:
    with_metadata(path, AOTI_PLATFORM="win32")


HOW = r"expected an AOTInductor package, made by torch\.export\.export and torch\._inductor\.aoti_compile_and_package"
# What makes the file, and the pattern of what its error's first line has to say behind the file's name.
WRONG_FILES: dict[Callable[[Path], None], str] = {
    torchscript: r"ConfigError: platform is 'torch_aoti', but '.*' is a TorchScript archive: expected platform: ",
    checkpoint: rf"ArtifactError: '.*' is a checkpoint or pickled module \(torch.save\).*: {HOW}",
    exported_program: r"UnsupportedError: '.*' is an exported program \(torch.export.save\), which this version does ",
    text: rf"ArtifactError: '.*' is a text file: {HOW}",
    empty: rf"ArtifactError: '.*' is empty: {HOW}",
    truncated: r"ArtifactError: '.*' is the beginning of a zip archive whose end is missing: copy it again",
    another_zip: rf"ArtifactError: '.*' is a zip archive without a model: {HOW}",
    outside: r"ArtifactError: entry '\.\./outside' of .* is not a plain relative path; such archives are refused",
    link: r"ArtifactError: entry 'looks_up/link' of .* is neither a plain file nor a directory; such archives are ref",
    bomb: r"ArtifactError: .* claims 201 MiB when unpacked, where at most ",
    another_machine: rf"ArtifactError: '.*' cannot be served: it was compiled for pdp11 CPUs, .* {platform.machine()}",
    another_platform: r"ArtifactError: '.*' cannot be served: it was compiled for win32, not for Linux",
}


@pytest.fixture(scope="module")
def server(start_server: StartServer, tmp_path_factory: pytest.TempPathFactory) -> Server:
    repository, files = tmp_path_factory.mktemp("models"), tmp_path_factory.mktemp("files")
    packages = package_paths([*RIGHT_MODELS, "writes_to_its_input", "looks_up"])
    for name, config in RIGHT_MODELS.items():
        write_model(repository, name, packages[name], **config)
    for name, (package, config, _) in WRONG_CONFIGS.items():
        write_model(repository, name, packages[package], **config)
    write_model(repository, "several_faults", packages["attention"], **SEVERAL_FAULTS)
    for make in WRONG_FILES:
        make(files / make.__name__)
        write_model(repository, make.__name__, files / make.__name__, INDEX, RESULT)
    return start_server(repository)


@pytest.fixture(scope="module", params=["http", "grpc"])
def client(server: Server, request: pytest.FixtureRequest) -> Client:
    return connect(server, request.param)


@pytest.fixture(scope="module")
def first_lines(server: Server) -> dict[str, str]:
    return {name: (reason.splitlines() or [""])[0] for name, reason in load_errors(server).items()}


@pytest.mark.parametrize("name", WRONG_CONFIGS)
def test_a_wrong_config_is_named_at_load(first_lines: dict[str, str], name: str) -> None:
    assert WRONG_CONFIGS[name][2] in first_lines[name]


def test_several_faults_are_named_together(first_lines: dict[str, str]) -> None:
    for sentence in (
        "Input 'ARGS[0]' is declared TYPE_FP16, but the model takes TYPE_FP32.",
        "Dimension 2 of input 'ARGS[0]' is declared 5, but the model takes 4 in",
        "Input 'ARGS[1]' is declared TYPE_INT64, but the model takes TYPE_FP32.",
        "Input 'ARGS[2]' is declared with dims [4] behind the batch dimension, but the model takes 3 dimensions",
    ):
        assert sentence in first_lines["several_faults"]


@pytest.mark.parametrize("make", WRONG_FILES, ids=lambda make: make.__name__)
def test_a_wrong_file_is_named_at_load(first_lines: dict[str, str], make: Callable[[Path], None]) -> None:
    assert re.search(WRONG_FILES[make], first_lines[make.__name__]), first_lines[make.__name__]
    assert f"/{make.__name__}/1/model.pt2" in first_lines[make.__name__]


def test_all_others_are_up(server: Server, client: Client, first_lines: dict[str, str]) -> None:
    assert first_lines.keys() == {*WRONG_CONFIGS, "several_faults", *(make.__name__ for make in WRONG_FILES)}
    assert all(map(client.is_ready, RIGHT_MODELS))
    assert not any(map(client.is_ready, first_lines))


def ones(*shapes: tuple[int, ...]) -> dict[str, torch.Tensor]:
    return {f"ARGS[{i}]": torch.ones(shape) for i, shape in enumerate(shapes)}


def of_relations(n: int = 3, **changed: int) -> dict[str, torch.Tensor]:
    sizes = {"twice": 2 * n, "longer": n + 1, "table": n, "quads": 8} | changed
    return {
        "ARGS[0]": torch.arange(float(n)),
        "ARGS[1]": torch.arange(float(sizes["twice"])),
        "KWARGS[longer]": torch.ones(sizes["longer"]),
        "KWARGS[table]": torch.ones(2, sizes["table"]),
        "KWARGS[quads]": torch.arange(float(sizes["quads"])),
    }


WRONG_REQUESTS: list[tuple[str, dict[str, torch.Tensor], list[str]]] = [
    (
        "attention",
        ones((2, 5, 4), (2, 7, 4), (2, 8, 4)),
        [
            "dimension 1 of input 'ARGS[2]' is 8, but the model takes 7 (",
            "since dimension 1 of input 'ARGS[1]' is 7 (",
        ],
    ),
    (
        "attention",
        ones((1, 1001, 4), (1, 7, 4), (1, 7, 4)),
        ["dimension 1 of input 'ARGS[0]' is 1001, but the model takes ", " to 1000"],
    ),
    (
        "relations",
        of_relations(twice=7),
        [
            "dimension 0 of input 'ARGS[1]' is 7, but the model takes 6 (2*",
            "since dimension 0 of input 'ARGS[0]' is 3 (",
        ],
    ),
    (
        "relations",
        of_relations(longer=3),
        [
            "dimension 0 of input 'KWARGS[longer]' is 3, but the model takes 4 (",
            "since dimension 0 of input 'ARGS[0]' is 3 (",
        ],
    ),
    (
        "relations",
        of_relations(quads=9),
        ["dimension 0 of input 'KWARGS[quads]' is 9, but the model takes multiples of 4"],
    ),
    (
        "laid_out",
        ones((2, 3, 2, 8), (2, 4)),
        ["dimension 2 of input 'ARGS[0]' is 2, but the model takes at least 3"],
    ),
]


@pytest.mark.parametrize(("model", "wrong", "parts"), WRONG_REQUESTS)
def test_a_wrong_request_is_answered_in_one_sentence(
    client: Client, model: str, wrong: dict[str, torch.Tensor], parts: list[str]
) -> None:
    message = client.failure(model, wrong)
    assert message.startswith(f"model '{model}': {parts[0]}")
    assert "\n" not in message
    assert all(part in message for part in parts)


def test_right_requests_work_between_wrong_ones(client: Client) -> None:
    for n in (3, 1, 6):
        client.failure("relations", of_relations(n, longer=n))
        answer = client.infer("relations", of_relations(n))
        a = torch.arange(float(n))
        assert torch.equal(answer["RESULT[0]"], torch.cat([a, a]) + torch.arange(2.0 * n))
        assert torch.equal(answer["RESULT[3]"], torch.arange(8.0).reshape(2, 4) + 1)


@pytest.mark.parametrize("rows", [1, 3, 20])
def test_layouts_that_are_not_row_major(client: Client, rows: int) -> None:
    torch.manual_seed(0)
    convolution = torch.nn.Conv2d(3, 4, 3)
    image, matrix = torch.randn(rows, 3, 6, 5), torch.randn(rows, 4)
    answer = client.infer("laid_out", {"ARGS[0]": image, "ARGS[1]": matrix})
    assert torch.allclose(answer["RESULT[0]"], convolution(image + torch.arange(3.0).reshape(3, 1, 1)), atol=1e-4)
    assert torch.equal(answer["RESULT[1]"], matrix * torch.arange(4.0))


@pytest.mark.parametrize("length", [0, 1, 4])
def test_inputs_without_dimensions(client: Client, length: int) -> None:
    x, k = torch.arange(float(length)), torch.tensor([3.0])
    answer = client.infer("scalar_inputs", {"ARGS[0]": x, "ARGS[1]": k, "ARGS[2]": torch.ones(2, 2)})
    assert torch.equal(answer["RESULT[0]"], x * 3)
    assert torch.equal(answer["RESULT[1]"], x.sum().reshape(1))
    assert torch.equal(answer["RESULT[2]"], torch.tensor([4.0]))


@pytest.mark.parametrize(("n", "m"), [(0, 7), (5, 0), (0, 0)])
def test_nothing_at_all_is_answered_right_or_refused_in_one_sentence(client: Client, n: int, m: int) -> None:
    query, key, value = torch.randn(2, n, 4), torch.randn(2, m, 4), torch.randn(2, m, 4)
    answer = answer_or_text(client, "attention", {"ARGS[0]": query, "ARGS[1]": key, "ARGS[2]": value})
    if isinstance(answer, str):
        assert re.match(r"model 'attention': [dD]imension 1 of input 'ARGS\[\d\]' is 0, but the model takes ", answer)
    else:
        expected = torch.softmax(query @ key.transpose(1, 2), -1) @ value
        assert torch.equal(answer["RESULT"], expected)


def answer_or_text(client: Client, model: str, inputs: dict[str, torch.Tensor]) -> dict[str, torch.Tensor] | str:
    try:
        return client.infer(model, inputs)
    except InferenceServerException as error:
        return str(error.message())
