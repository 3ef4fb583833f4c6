"""AOTInductor packages on a real server, over HTTP and gRPC: ways to run, names, data types, failing requests."""

import random
from pathlib import Path
from typing import Any

import pytest
import torch

from triton_pytorch.examples.nested.nested_model import INPUT_ORDINALS, INPUT_PATHS, OUTPUT_ORDINALS, OUTPUT_PATHS
from triton_pytorch.local_server.server import Server
from triton_pytorch.tests.assets.archives import rewritten
from triton_pytorch.tests.assets.configs import TYPES, sample, tensor_config
from triton_pytorch.tests.assets.packages import answers_of, package_paths
from triton_pytorch.tests.server.conftest import (
    ROOT,
    Client,
    StartServer,
    infer_at_once,
    merging,
    statistics,
    write_model,
)

INPUTS, OUTPUTS = list(INPUT_PATHS), list(OUTPUT_PATHS)
MIXED = (
    [*INPUT_ORDINALS[:2], *INPUTS[2:4], *INPUT_ORDINALS[4:]],
    [*OUTPUTS[:3], *OUTPUT_ORDINALS[3:]],
)
DTYPES = {str(dtype).removeprefix("torch."): dtype for dtype in TYPES}

# The outputs of a model by their names, in flat order, with their dims after the batch dimension.
HUGGINGFACE = {
    "bert": {"RESULT[last_hidden_state]": (-1, 16), "RESULT[pooler_output]": (16,)},
    "gpt2": {
        "RESULT[logits]": (-1, 50),
        "RESULT[cache][key_cache][0]": (2, -1, 8),
        "RESULT[cache][value_cache][0]": (2, -1, 8),
    },
}

SHIM = f"import runpy\nTritonPythonModel = runpy.run_path({str(ROOT / 'model.py')!r})['TritonPythonModel']\n"


def strays(site_packages: Path) -> str:
    """Make modules that have the names of our packages, and code that finds them first and has them imported."""
    packages = ("execution", "formats", "io_naming", "model_config", "pt2_loader", "torch_runtime")
    for package in packages:
        (site_packages / f"{package}.py").write_text("IS_STRAY = True\n", encoding="utf-8")
    imports = "".join(f"import {package}; assert {package}.IS_STRAY\n" for package in packages)
    return f"import sys; sys.path.insert(0, {str(site_packages)!r})\n{imports}"


def shuffled(names: list[str]) -> list[Any]:
    return [tensor_config(name, dims=(3,)) for name in random.Random(len(names)).sample(names, len(names))]


@pytest.fixture(scope="module")
def server(start_server: StartServer, tmp_path_factory: pytest.TempPathFactory) -> Server:
    repository = tmp_path_factory.mktemp("models")
    packages = package_paths(
        ["nested", "all_dtypes", "scalars", "divides", "scatters", "weights_beside_the_library", *HUGGINGFACE]
    )

    def nested(name: str, inputs: list[str], outputs: list[str], **config: Any) -> Path:
        entries = shuffled(inputs), shuffled(outputs)
        return write_model(repository, name, packages["nested"], *entries, max_batch_size=64, **config)

    nested("by_path", INPUTS, OUTPUTS)
    (nested("by_ordinal", list(INPUT_ORDINALS), list(OUTPUT_ORDINALS), backend="python") / "model.py").symlink_to(
        ROOT / "model.py"
    )
    among_strays = nested("among_strays", *MIXED, backend="python") / "model.py"
    among_strays.write_text(strays(tmp_path_factory.mktemp("site-packages")) + SHIM, encoding="utf-8")
    dtypes = [
        [tensor_config(f"{root}[{name}]", dtype, (4,)) for name, dtype in DTYPES.items()]
        for root in ("ARGS[0]", "RESULT")
    ]
    write_model(repository, "all_dtypes", packages["all_dtypes"], *dtypes, max_batch_size=8)
    odd = [tensor_config(f"RESULT[{i}]", dims=(-1, -1) if i == 2 else (-1,)) for i in range(4)]
    allowed = {"ALLOW_EMPTY_INPUTS": "true"}
    write_model(repository, "with_empty", packages["scalars"], [tensor_config("INPUT__0")], odd, parameters=allowed)
    numbers = [tensor_config(name, torch.int64, (2,)) for name in ("ARGS[0]", "ARGS[1]", "RESULT")]
    write_model(repository, "divides", packages["divides"], numbers[:2], numbers[2:])
    index = tensor_config("ARGS[1]", torch.int64, (2,))
    scattered = [tensor_config("ARGS[0]", dims=(4,)), index, tensor_config("ARGS[2]", dims=(2,))]
    result = [tensor_config("RESULT", dims=(4,))]
    write_model(repository, "scatters", packages["scatters"], scattered, result, **merging(4))
    # The stub sets no locale: names that are not ASCII need care.
    weights_io = [tensor_config("INPUT__0", dims=(64,))], [tensor_config("RESULT[0]", dims=(64,))]
    write_model(
        repository,
        "foreign_names",
        rewritten(
            packages["weights_beside_the_library"],
            tmp_path_factory.mktemp("files") / "foreign",
            lambda name, content: ("modèle/" + name.partition("/")[2], content),
        ),
        *weights_io,
        max_batch_size=8,
        default_model_filename="modèle.pt2",
    )
    for name, outputs in HUGGINGFACE.items():
        text = [tensor_config(f"KWARGS[{argument}]", torch.int64) for argument in ("input_ids", "attention_mask")]
        results = [tensor_config(output, dims=dims) for output, dims in outputs.items()]
        write_model(repository, name, packages[name], text, results, max_batch_size=8)
    return start_server(repository)


@pytest.mark.parametrize("name", list(HUGGINGFACE))
def test_models_of_huggingface(client: Client, name: str) -> None:
    """Results of registered classes go by their keys, in whatever the package of transformers was exported with."""
    for request, answers in torch.load(answers_of(package_paths([name])[name])):
        answer = client.infer(name, {f"KWARGS[{argument}]": tensor for argument, tensor in request.items()})
        assert list(answer) == list(HUGGINGFACE[name])
        for (output, got), expected in zip(answer.items(), answers, strict=True):
            assert torch.allclose(got, expected, rtol=1e-4, atol=1e-5), output


@pytest.mark.parametrize(
    ("model", "inputs", "outputs"),
    [
        ("by_path", INPUTS, OUTPUTS),
        ("by_ordinal", list(INPUT_ORDINALS), list(OUTPUT_ORDINALS)),
        ("among_strays", *MIXED),
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


def test_requested_outputs(client: Client) -> None:
    answer = client.infer("by_path", {name: torch.ones(1, 3) for name in INPUTS}, ["RESULT[DDD][KA]"])
    assert answer.keys() == {"RESULT[DDD][KA]"}


def test_every_dtype(client: Client) -> None:
    answer = client.infer("all_dtypes", {f"ARGS[0][{name}]": sample(dtype) for name, dtype in DTYPES.items()})
    for name, dtype in DTYPES.items():
        assert answer[f"RESULT[{name}]"].dtype is dtype
        assert torch.equal(answer[f"RESULT[{name}]"], sample(dtype)[:, [2, 3, 0, 1]]), name


@pytest.mark.parametrize("length", [0, 1, 5])
def test_scalar_empty_and_strided_results(client: Client, length: int) -> None:
    x = torch.arange(float(length))
    answer = client.infer("with_empty", {"INPUT__0": x})
    assert torch.equal(answer["RESULT[0]"], x.sum().reshape(1))
    assert answer["RESULT[1]"].shape == (0,)
    assert torch.equal(answer["RESULT[2]"], (x + 1).reshape(-1, 1).expand(-1, 3))
    assert torch.equal(answer["RESULT[3]"], x)


def test_failure_without_the_place_in_the_code(client: Client) -> None:
    x = torch.tensor([7, -7])
    assert client.failure("divides", {"ARGS[0]": x, "ARGS[1]": x - 7}) == "model 'divides': ZeroDivisionError"
    assert client.infer("divides", {"ARGS[0]": x, "ARGS[1]": x})["RESULT"].tolist() == [1, 1]


def test_errors_that_torch_drops(server: Server) -> None:
    """One call of `execute` gets all requests; the one with an index out of range spoils no rows but its own."""
    indices = torch.tensor([[[0, 1]], [[400, 1]], [[3, 2]], [[0, 0]]])
    requests = [
        {"ARGS[0]": torch.arange(4.0).reshape(1, 4), "ARGS[1]": index, "ARGS[2]": torch.tensor([[9.0, 5.0 + number]])}
        for number, index in enumerate(indices)
    ]
    answers = infer_at_once(server, "scatters", requests)
    assert statistics(server, "scatters", len(requests)).executions == 1
    for number, (request, answer) in enumerate(zip(requests, answers, strict=True)):
        assert isinstance(answer, dict), answer
        if number != 1:
            x, index, values = request.values()
            assert torch.equal(answer["RESULT"], x.scatter_reduce(1, index, values, "amax"))
    warnings = [line for line in server.log.splitlines() if "model 'scatters': " in line and "scatter_reduce" in line]
    assert len(warnings) == 1
    assert "requests are not merged" in warnings[0]


def test_names_not_ascii(client: Client) -> None:
    x = torch.randn(2, 64)
    torch.manual_seed(0)
    linear = torch.nn.Linear(64, 64)
    expected = linear(x) + linear.weight[3:5].sum(0) + torch.arange(15.0).sum()
    answer = client.infer("foreign_names", {"INPUT__0": x})
    assert torch.allclose(answer["RESULT[0]"], expected, rtol=1e-4, atol=1e-4)
