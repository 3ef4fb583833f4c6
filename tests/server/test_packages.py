"""AOTInductor packages on a real server, over HTTP and gRPC: naming, data types, and errors that hurt nobody else."""

import random
from pathlib import Path
from typing import Any

import pytest
import torch

from triton_pytorch.examples.nested.nested_model import INPUT_ORDINALS, INPUT_PATHS, OUTPUT_ORDINALS, OUTPUT_PATHS
from triton_pytorch.local_server.server import Server
from triton_pytorch.tests.assets.archives import rewritten
from triton_pytorch.tests.assets.configs import TYPES, as_pbtxt, model_config, sample, tensor_config
from triton_pytorch.tests.assets.packages import package_paths
from triton_pytorch.tests.server.conftest import ROOT, Client, StartServer, connect, load_errors, write_model

INPUTS, OUTPUTS = list(INPUT_PATHS), list(OUTPUT_PATHS)
MIXED = (
    [*INPUT_ORDINALS[:2], *INPUTS[2:4], *INPUT_ORDINALS[4:]],
    [*OUTPUTS[:3], *OUTPUT_ORDINALS[3:]],
)
DTYPES = {str(dtype).removeprefix("torch."): dtype for dtype in TYPES}

# Each loads under the name of its fault, and the reason in the repository index has to hold the text.
NAMING_FAULTS = {
    "unknown_input": (["ARGS[0]", "ARGS[2][KEYA]"], ["OUTPUT__0"], "did you mean 'ARGS[2][keyA]'?"),
    "ordinal_out_of_range": (
        list(INPUT_ORDINALS),
        ["OUTPUT__8"],
        "'OUTPUT__8' is out of range: the number of outputs is 8",
    ),
    "two_names_for_one_leaf": ([*INPUTS, "INPUT__3"], ["OUTPUT__0"], "'ARGS[2][key2]' and 'INPUT__3' name one and"),
    "input_left_out": (INPUTS[:5], ["OUTPUT__0"], "declares no tensor for KWARGS[kw_arg2] (INPUT__5)"),
    "container_for_a_leaf": (["ARGS[2]"], ["OUTPUT__0"], "'ARGS[2]' is a container"),
    "output_as_input": (["OUTPUT__0"], ["OUTPUT__0"], "'OUTPUT__0' names an output but is declared as an input"),
}


SHIM = f"import runpy\nTritonPythonModel = runpy.run_path({str(ROOT / 'model.py')!r})['TritonPythonModel']\n"


def strays(site_packages: Path) -> str:
    """Make modules that bear the names of our rooms, and code that finds them first and has them imported."""
    rooms = ("execution", "formats", "io_naming", "model_config", "pt2_loader", "torch_runtime")
    for room in rooms:
        (site_packages / f"{room}.py").write_text("IS_STRAY = True\n", encoding="utf-8")
    imports = "".join(f"import {room}; assert {room}.IS_STRAY\n" for room in rooms)
    return f"import sys; sys.path.insert(0, {str(site_packages)!r})\n{imports}"


def shuffled(names: list[str]) -> list[Any]:
    return [tensor_config(name, dims=(3,)) for name in random.Random(len(names)).sample(names, len(names))]


@pytest.fixture(scope="module")
def server(start_server: StartServer, tmp_path_factory: pytest.TempPathFactory) -> Server:
    repository = tmp_path_factory.mktemp("models")
    packages = package_paths(
        ["nested", "all_dtypes", "looks_up", "none_argument", "scalars", "weights_beside_the_library"]
    )

    def nested(name: str, inputs: list[str], outputs: list[str], **config: Any) -> Path:
        entries = shuffled(inputs), shuffled(outputs)
        return write_model(repository, name, packages["nested"], *entries, max_batch_size=64, **config)

    nested("by_path", INPUTS, OUTPUTS)
    nested("mixed", *MIXED)
    (nested("by_ordinal", list(INPUT_ORDINALS), list(OUTPUT_ORDINALS), backend="python") / "model.py").symlink_to(
        ROOT / "model.py"
    )
    shim = nested("by_shim", INPUTS, OUTPUTS, backend="python") / "model.py"
    shim.write_text(SHIM, encoding="utf-8")
    among_strays = nested("among_strays", INPUTS, OUTPUTS, backend="python") / "model.py"
    among_strays.write_text(strays(tmp_path_factory.mktemp("site-packages")) + SHIM, encoding="utf-8")
    for fault, (inputs, outputs, _) in NAMING_FAULTS.items():
        nested(fault, inputs, outputs)
    dtypes = [
        [tensor_config(f"{root}[{name}]", dtype, (4,)) for name, dtype in DTYPES.items()]
        for root in ("ARGS[0]", "RESULT")
    ]
    write_model(repository, "all_dtypes", packages["all_dtypes"], *dtypes, max_batch_size=8)
    index, vector = [tensor_config("INPUT__0", torch.int64, (2,))], [tensor_config("OUTPUT__0")]
    write_model(repository, "looks_up", packages["looks_up"], index, vector)
    three = [tensor_config(f"INPUT__{i}", dims=(3,)) for i in range(3)]
    write_model(repository, "none_argument", packages["none_argument"], three, vector)
    odd = [tensor_config(f"RESULT[{i}]", dims=(-1, -1) if i == 2 else (-1,)) for i in range(4)]
    write_model(repository, "scalars", packages["scalars"], [tensor_config("INPUT__0")], odd)
    pointer = tmp_path_factory.mktemp("files") / "pointer"
    pointer.write_text("version https://git-lfs.github.com/spec/v1\n", encoding="utf-8")
    write_model(repository, "lfs_pointer", pointer, index, vector)
    # The stub sets no locale: names that are not ASCII need care.
    weights_io = [tensor_config("INPUT__0", dims=(64,))], [tensor_config("RESULT[0]", dims=(64,))]
    write_model(
        repository,
        "foreign_names",
        rewritten(
            packages["weights_beside_the_library"],
            pointer.with_name("foreign"),
            lambda name, content: ("modèle/" + name.partition("/")[2], content),
        ),
        *weights_io,
        max_batch_size=8,
        default_model_filename="modèle.pt2",
    )
    (repository / "no_such_file" / "1").mkdir(parents=True)
    (repository / "no_such_file" / "1" / "Größe.txt").touch()
    config = as_pbtxt(model_config(index, vector, default_model_filename="modèle.pt2"))
    (repository / "no_such_file" / "config.pbtxt").write_text(config, encoding="utf-8")
    return start_server(repository)


@pytest.fixture(scope="module", params=["http", "grpc"])
def client(server: Server, request: pytest.FixtureRequest) -> Client:
    return connect(server, request.param)


@pytest.mark.parametrize(
    ("model", "inputs", "outputs"),
    [
        ("by_path", INPUTS, OUTPUTS),
        ("by_ordinal", list(INPUT_ORDINALS), list(OUTPUT_ORDINALS)),
        ("by_shim", INPUTS, OUTPUTS),
        ("among_strays", INPUTS, OUTPUTS),
        ("mixed", *MIXED),
    ],
)
def test_the_example_of_the_specification(client: Client, model: str, inputs: list[str], outputs: list[str]) -> None:
    h, v, key_a, key_2, kwarg1, kw_arg2 = leaves = [torch.arange(15.0).reshape(5, 3) + 100 * i for i in range(6)]
    sent = list(zip(inputs, leaves, strict=True))
    random.Random(3).shuffle(sent)

    answer = client.infer(model, dict(sent))

    expected = [h + v, h - v, h, v, key_a, key_2, kwarg1, kw_arg2]
    assert answer.keys() == set(outputs)
    for name, value in zip(outputs, expected, strict=True):
        assert torch.equal(answer[name], value), name


def test_only_requested_outputs_come_back(client: Client) -> None:
    answer = client.infer("by_path", {name: torch.ones(1, 3) for name in INPUTS}, ["RESULT[DDD][KA]"])
    assert answer.keys() == {"RESULT[DDD][KA]"}


def test_every_dtype_is_bit_exact(client: Client) -> None:
    answer = client.infer("all_dtypes", {f"ARGS[0][{name}]": sample(dtype) for name, dtype in DTYPES.items()})
    for name, dtype in DTYPES.items():
        assert answer[f"RESULT[{name}]"].dtype is dtype
        assert torch.equal(answer[f"RESULT[{name}]"], sample(dtype)[:, [2, 3, 0, 1]]), name


@pytest.mark.parametrize("length", [0, 1, 5])
def test_scalar_zero_size_and_strided_results(client: Client, length: int) -> None:
    x = torch.arange(float(length))
    answer = client.infer("scalars", {"INPUT__0": x})
    assert torch.equal(answer["RESULT[0]"], x.sum().reshape(1))
    assert answer["RESULT[1]"].shape == (0,)
    assert torch.equal(answer["RESULT[2]"], (x + 1).reshape(-1, 1).expand(-1, 3))
    assert torch.equal(answer["RESULT[3]"], x)


def test_a_failing_request_gets_one_sentence_and_the_next_one_works(client: Client) -> None:
    message = client.failure("looks_up", {"INPUT__0": torch.tensor([3, 400])})
    assert message.startswith("model 'looks_up': ")
    assert "\n" not in message
    answer = client.infer("looks_up", {"INPUT__0": torch.tensor([3, 4])})
    assert torch.equal(answer["OUTPUT__0"], torch.tensor([3.0, 4.0]))


@pytest.mark.parametrize("fault", NAMING_FAULTS)
def test_a_naming_fault_stops_its_model_only(server: Server, client: Client, fault: str) -> None:
    first_line = load_errors(server)[fault].splitlines()[0]
    assert "NamingError: " in first_line
    assert NAMING_FAULTS[fault][2] in first_line
    assert not client.is_ready(fault)
    assert client.is_ready("by_path")


def test_other_load_errors_say_what_to_do(server: Server) -> None:
    errors = load_errors(server)
    assert "3 input leaves" in errors["none_argument"].splitlines()[0]
    assert "export with tensors only" in errors["none_argument"].splitlines()[0]
    assert "is a Git LFS pointer (run `git lfs pull`)" in errors["lfs_pointer"].splitlines()[0]
    assert "no modèle.pt2 in '" in errors["no_such_file"].splitlines()[0]
    assert "it holds Größe.txt" in errors["no_such_file"].splitlines()[0]
    assert errors.keys() == {*NAMING_FAULTS, "none_argument", "lfs_pointer", "no_such_file"}


def test_names_that_are_not_ascii(client: Client) -> None:
    x = torch.randn(2, 64)
    torch.manual_seed(0)
    linear = torch.nn.Linear(64, 64)
    expected = linear(x) + linear.weight[3:5].sum(0) + torch.arange(15.0).sum()
    answer = client.infer("foreign_names", {"INPUT__0": x})
    assert torch.allclose(answer["RESULT[0]"], expected, rtol=1e-4, atol=1e-4)
