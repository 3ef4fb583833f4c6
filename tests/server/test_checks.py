"""What is wrong is one clear sentence on a real server, at load and for requests; all other models stay up."""

import re
from typing import Any

import pytest
import torch

from triton_pytorch.local_server.server import Server
from triton_pytorch.tests.assets.configs import as_pbtxt, model_config, tensor_config
from triton_pytorch.tests.assets.packages import package_paths
from triton_pytorch.tests.server.conftest import Client, StartServer, load_errors, write_model

FP16, INT64 = torch.float16, torch.int64


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
    "fixed_widths": {
        "inputs": [tensor_config(f"ARGS[{i}]") for i in range(3)],
        "outputs": [tensor_config(f"RESULT[{i}]") for i in range(3)],
        "max_batch_size": 8,
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

SEVERAL_ERRORS = attention(
    tensor_config("ARGS[0]", FP16, (-1, 5)),
    tensor_config("ARGS[1]", INT64, (-1, 4)),
    tensor_config("ARGS[2]", dims=(4,)),
)


@pytest.fixture(scope="module")
def server(start_server: StartServer, tmp_path_factory: pytest.TempPathFactory) -> Server:
    repository = tmp_path_factory.mktemp("models")
    packages = package_paths([*RIGHT_MODELS, "custom_operators"])
    for name, config in RIGHT_MODELS.items():
        write_model(repository, name, packages[name], **config)
    write_model(repository, "several_errors", packages["attention"], **SEVERAL_ERRORS)
    vectors = [[tensor_config(name, dims=(3,))] for name in ("INPUT__0", "OUTPUT__0")]
    write_model(repository, "custom_operators", packages["custom_operators"], *vectors, max_batch_size=8)
    # The stub sets no locale: names that are not ASCII need care.
    text = as_pbtxt(model_config([], [], default_model_filename="modèle.pt2"))
    (repository / "no_such_file" / "1").mkdir(parents=True)
    (repository / "no_such_file" / "1" / "Größe.txt").touch()
    (repository / "no_such_file" / "config.pbtxt").write_text(text, encoding="utf-8")
    return start_server(repository)


def test_load_errors(server: Server, client: Client) -> None:
    first_lines = {name: reason.splitlines()[0] for name, reason in load_errors(server).items()}
    assert first_lines.keys() == {"several_errors", "custom_operators", "no_such_file"}
    for sentence in (
        "Input 'ARGS[0]' is declared TYPE_FP16, but the model takes TYPE_FP32.",
        "Dimension 2 of input 'ARGS[0]' is declared 5, but the model takes 4 in",
        "Input 'ARGS[1]' is declared TYPE_INT64, but the model takes TYPE_FP32.",
        "Input 'ARGS[2]' is declared with dims [4] after the batch dimension, but the model takes 3 dimensions",
    ):
        assert sentence in first_lines["several_errors"]
    assert first_lines["custom_operators"].endswith(
        "model.pt2' calls test_operators::twice, test_operators::shifted.by, not registered in this process: the "
        "Python package or shared library that defines the operators of 'test_operators' brings them, but this version "
        "of the backend loads none: import it in a model.py of your own (docs/packages.md), or build without them"
    )
    missing = r"no modèle\.pt2 \(named by default_model_filename\) in '.*/1': it holds Größe\.txt"
    assert re.search(missing, first_lines["no_such_file"])
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
        "fixed_widths",
        ones((2, 16), (2, 6), (2, 3)),
        ["dimension 1 of input 'ARGS[0]' is 16, but the model takes 8"],
    ),
    (
        "fixed_widths",
        ones((2, 8), (2, 4), (2, 3)),
        [
            "dimension 1 of input 'ARGS[1]' is 4, but the model takes 6 (2*",
            "since dimension 1 of input 'ARGS[2]' is 3 (",
        ],
    ),
    (
        "laid_out",
        ones((2, 3, 2, 8), (2, 4)),
        ["dimension 2 of input 'ARGS[0]' is 2, but the model takes at least 3"],
    ),
]


@pytest.mark.parametrize(("model", "wrong", "parts"), WRONG_REQUESTS)
def test_wrong_request(client: Client, model: str, wrong: dict[str, torch.Tensor], parts: list[str]) -> None:
    message = client.failure(model, wrong)
    assert message.startswith(f"model '{model}': {parts[0]}")
    assert "\n" not in message
    assert all(part in message for part in parts)


def test_right_requests_between_wrong_ones(client: Client) -> None:
    for n in (3, 1, 6):
        client.failure("relations", of_relations(n, longer=n))
        answer = client.infer("relations", of_relations(n))
        a = torch.arange(float(n))
        assert torch.equal(answer["RESULT[0]"], torch.cat([a, a]) + torch.arange(2.0 * n))
        assert torch.equal(answer["RESULT[3]"], torch.arange(8.0).reshape(2, 4) + 1)


@pytest.mark.parametrize(("rows", "half"), [(1, 1), (4, 9)])
def test_widths(client: Client, rows: int, half: int) -> None:
    x, even, odd = (torch.arange(float(rows * width)).reshape(rows, width) for width in (8, 2 * half, half))
    answer = client.infer("fixed_widths", {"ARGS[0]": x, "ARGS[1]": even, "ARGS[2]": odd})
    assert torch.allclose(answer["RESULT[0]"], torch.nn.functional.glu(x, 1))
    assert torch.equal(answer["RESULT[1]"], even[:, :half])
    assert torch.equal(answer["RESULT[2]"], odd + 1)


@pytest.mark.parametrize("rows", [1, 3, 20])
def test_layouts(client: Client, rows: int) -> None:
    torch.manual_seed(0)
    convolution = torch.nn.Conv2d(3, 4, 3)
    image, matrix = torch.randn(rows, 3, 6, 5), torch.randn(rows, 4)
    answer = client.infer("laid_out", {"ARGS[0]": image, "ARGS[1]": matrix})
    assert torch.allclose(answer["RESULT[0]"], convolution(image + torch.arange(3.0).reshape(3, 1, 1)), atol=1e-4)
    assert torch.equal(answer["RESULT[1]"], matrix * torch.arange(4.0))


@pytest.mark.parametrize("length", [1, 4])
def test_inputs_without_dimensions(client: Client, length: int) -> None:
    x, k = torch.arange(float(length)), torch.tensor([3.0])
    answer = client.infer("scalar_inputs", {"ARGS[0]": x, "ARGS[1]": k, "ARGS[2]": torch.ones(2, 2)})
    assert torch.equal(answer["RESULT[0]"], x * 3)
    assert torch.equal(answer["RESULT[1]"], x.sum().reshape(1))
    assert torch.equal(answer["RESULT[2]"], torch.tensor([4.0]))


@pytest.mark.parametrize(("n", "m"), [(0, 7), (5, 0), (0, 0)])
def test_empty_dimensions(client: Client, n: int, m: int) -> None:
    message = client.failure("attention", ones((2, n, 4), (2, m, 4), (2, m, 4)))
    assert re.match(r"model 'attention': [dD]imension 1 of input 'ARGS\[\d\]' is 0, but the model takes 1 to ", message)
