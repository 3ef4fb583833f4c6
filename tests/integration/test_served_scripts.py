"""TorchScript through model.py: what a request gets, alone and merged, what the parameters decide, what is refused."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from triton_pytorch.model_config.errors import BackendError
from triton_pytorch.tests.assets.archives import with_text
from triton_pytorch.tests.assets.configs import tensor_config
from triton_pytorch.tests.assets.packages import package_path
from triton_pytorch.tests.assets.scripts import Arithmetic, Nested, ReadsKeys, scripted
from triton_pytorch.tests.integration.conftest import Serve, ServedModel


class Tells(torch.nn.Module):
    """Says how it was called: under inference mode, and whether gradients would be recorded."""

    def forward(self, x: Tensor) -> Tensor:
        is_inference, records = torch.is_inference(x + 1), torch.is_grad_enabled()
        return torch.stack([torch.tensor(float(is_inference)), torch.tensor(float(records))])


class Encoder(torch.nn.Module):
    """Arguments in an order that is easily mistaken."""

    def forward(self, input_ids: Tensor, token_type_ids: Tensor, attention_mask: Tensor) -> Tensor:
        return (input_ids + token_type_ids) * attention_mask


class Detector(torch.nn.Module):
    """Results in an order that is easily mistaken."""

    def forward(self, image: Tensor) -> dict[str, Tensor]:
        return {"boxes": image + 1, "labels": image + 2}


@pytest.fixture
def serve_script(serve: Serve, tmp_path: Path) -> Any:
    def serve_it(module: torch.nn.Module, inputs: list[Any], outputs: list[Any], **config: Any) -> ServedModel:
        archive = scripted(module, tmp_path / "archive.pt")
        return serve(archive, inputs, outputs, file_name="model.pt", platform="pytorch_libtorch", **config)

    return serve_it


def outputs_of(responses: list[Any]) -> list[dict[str, Tensor]]:
    assert [response.error() for response in responses] == [None] * len(responses)
    return [{tensor.name(): tensor.data for tensor in response.output_tensors()} for response in responses]


def test_merged_requests_get_their_rows(serve_script: Any) -> None:
    inputs = [tensor_config("y"), tensor_config("bias", optional=True), tensor_config("x")]
    model = serve_script(Arithmetic(), inputs, [tensor_config("RESULT")], max_batch_size=16)
    eager = Arithmetic()
    x, y, bias = (torch.randn(4, 3) for _ in range(3))
    requests = [{"x": x, "y": y}, {"x": x[:1], "y": y[:1], "bias": bias[:1]}, {"y": y[1:3], "x": x[1:3]}]
    expected = [eager(x, y), eager(x[:1], y[:1], bias[:1]), eager(x[1:3], y[1:3])]
    answers = outputs_of(model.execute(*map(model.request, requests)))
    assert all(torch.allclose(got["RESULT"], want) for got, want in zip(answers, expected, strict=True))


def test_merged_requests_of_a_dictionary(serve_script: Any) -> None:
    outputs = [tensor_config("difference"), tensor_config("RESULT[a]")]
    model = serve_script(ReadsKeys(), [tensor_config("b"), tensor_config("a")], outputs, max_batch_size=16)
    a, b = torch.randn(3, 2), torch.randn(3, 2)
    responses = model.execute(model.request({"a": a, "b": b}), model.request({"b": a, "a": b}))
    first, second = outputs_of(responses)
    assert torch.equal(first["difference"], a - b)
    assert torch.equal(second["difference"], b - a)
    assert torch.equal(first["RESULT[a]"], a)


@pytest.mark.parametrize(("value", "told"), [(None, [1.0, 0.0]), ("true", [1.0, 0.0]), ("False", [0.0, 0.0])])
def test_inference_mode(serve_script: Any, value: str | None, told: list[float]) -> None:
    parameters = {} if value is None else {"INFERENCE_MODE": value}
    model = serve_script(Tells(), [tensor_config("x")], [tensor_config("RESULT", dims=(2,))], parameters=parameters)
    assert model.infer({"x": torch.ones(1)})["RESULT"].tolist() == told


def test_weights_that_require_gradients(serve_script: Any) -> None:
    class Weight(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.tensor([1.0, 2.0]))

        def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
            return self.weight, x * self.weight

    outputs = [tensor_config("RESULT[0]", dims=(2,)), tensor_config("RESULT[1]", dims=(2,))]
    for value in ("true", "false"):
        model = serve_script(Weight(), [tensor_config("x")], outputs, parameters={"INFERENCE_MODE": value})
        answer = model.infer({"x": torch.tensor([3.0, 4.0])})
        assert [answer["RESULT[0]"].tolist(), answer["RESULT[1]"].tolist()] == [[1.0, 2.0], [3.0, 8.0]]


def test_method_other_than_forward(serve_script: Any) -> None:
    model = serve_script(
        Arithmetic(), [tensor_config("x")], [tensor_config("RESULT")], parameters={"MODULE_METHOD_NAME": "twice"}
    )
    assert model.infer({"x": torch.tensor([3.0])})["RESULT"].tolist() == [6.0]


def test_settings_are_logged_once(serve_script: Any) -> None:
    model = serve_script(
        Arithmetic(),
        [tensor_config("x"), tensor_config("y")],
        [tensor_config("RESULT")],
        parameters={"INTRA_OP_THREAD_COUNT": "1", "INFERENCE_MODE": "0", "AOTI_MODEL_NAME": "m", "MODULE_CLASS": "M"},
    )
    (line,) = [text for level, text in model.logger.lines if level == "info"]
    assert line.startswith("model 'm': intra-op threads 1 (INTRA_OP_THREAD_COUNT), ")
    assert "inference mode off" in line
    assert line.endswith("method forward")
    assert [text for level, text in model.logger.lines if level == "warn"] == [
        "model 'm': AOTI_MODEL_NAME, MODULE_CLASS have no effect on a TorchScript archive"
    ]
    assert torch.get_num_threads() == 1


def test_result_that_is_not_as_declared(serve_script: Any) -> None:
    model = serve_script(Tells(), [tensor_config("x")], [tensor_config("RESULT", dims=(3,))])
    message = "output 'RESULT' is declared with dims [3], but the model returned [2]: change its dims in config.pbtxt"
    assert model.failure({"x": torch.ones(1)}) == f"INTERNAL: model 'm': {message}"


def test_failure_is_logged_whole(serve_script: Any) -> None:
    model = serve_script(Arithmetic(), [tensor_config("x"), tensor_config("y")], [tensor_config("RESULT")])
    told = model.failure({"x": torch.ones(2), "y": torch.ones(3)})
    assert told.startswith("INTERNAL: model 'm': The size of tensor a (2) must match the size of tensor b (3)")
    ((level, logged),) = [line for line in model.logger.lines if line[0] != "info"]
    assert level == "error"
    first, rest = logged.split("\n", 1)
    assert first == f"a request failed: {told.removeprefix('INTERNAL: ')}"
    assert rest.startswith("The following operation failed in the TorchScript interpreter.")
    assert "line " in rest


def refusal(serve_it: Callable[[], Any]) -> str:
    """Return the class and the text of the error of a load that must fail, as Triton shows them."""
    with pytest.raises(BackendError) as caught:
        serve_it()
    assert "\n" not in str(caught.value)
    return f"{type(caught.value).__name__}: {caught.value}"


TYPO = {"parameters": {"MODULE_METHOD_NAME": "twize"}}
PACKAGES = {"platform": "torch_aoti"}


@pytest.mark.parametrize(
    ("module", "inputs", "output", "more", "expected"),
    [
        (
            Encoder(),
            ["input_ids__0", "attention_mask__1", "token_type_ids__2"],
            "RESULT",
            {},
            "NamingError: 'attention_mask__1' contradicts itself: 'attention_mask' is attention_mask (INPUT__2), and ",
        ),
        (Detector(), ["image"], "labels__0", {}, "NamingError: 'labels__0' contradicts itself: 'labels' is RESULT[lab"),
        (
            ReadsKeys(),
            ["INPUT__0"],
            "a",
            {},
            "NamingError: 'INPUT__0' is a container and not a tensor: expected one of",
        ),
        (Nested(), ["x"], "RESULT[1]", {}, "NamingError: 'RESULT[1]' is a container and not a tensor: expected one of"),
        (Arithmetic(), ["x"], "RESULT", TYPO, "ConfigError: the model has no method 'twize': name one of forward, twi"),
        (Arithmetic(), ["x", "y"], "RESULT", PACKAGES, "ConfigError: platform is 'torch_aoti', but '{file}' is a Torc"),
    ],
)
def test_refused_config(
    serve: Serve,
    tmp_path: Path,
    module: torch.nn.Module,
    inputs: list[str],
    output: str,
    more: dict[str, Any],
    expected: str,
) -> None:
    archive = scripted(module, tmp_path / "archive.pt")
    config = {"file_name": "model.pt", "platform": "pytorch_libtorch", **more}
    said = refusal(lambda: serve(archive, [tensor_config(it) for it in inputs], [tensor_config(output)], **config))
    assert said.startswith(expected.format(file=tmp_path / "model" / "1" / "model.pt"))


def checkpoint(path: Path) -> None:
    torch.save(Arithmetic().state_dict(), path)


def pickled_module(path: Path) -> None:
    torch.save(Arithmetic(), path)


def first_half(path: Path) -> None:
    content = scripted(Arithmetic(), path).read_bytes()
    path.write_bytes(content[: len(content) // 2])


def lfs_pointer(path: Path) -> None:
    path.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", encoding="utf-8")


def text(path: Path) -> None:
    path.write_text("the weights are at https://example.com\n", encoding="utf-8")


def package(path: Path) -> None:
    path.symlink_to(package_path("looks_up"))


def unknown_operator(path: Path) -> None:
    source = scripted(Arithmetic(), path.with_suffix(".source"))
    with_text(source, path, b"torch.sub(", b"ops.mine.of_tests(", ending=".py")


def optimized_for_inference(path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        module = torch.jit.load(scripted(torch.nn.Conv2d(1, 1, 1), path))  # type: ignore[no-untyped-call]
        torch.jit.optimize_for_inference(module.eval()).save(path)


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (
            checkpoint,
            "ArtifactError: '{file}' is a checkpoint or pickled module (torch.save), which holds no program: ",
        ),
        (pickled_module, "ArtifactError: '{file}' is a checkpoint or pickled module (torch.save), which holds no pro"),
        (first_half, "ArtifactError: '{file}' is the beginning of a zip archive whose end is missing: copy it again"),
        (lfs_pointer, "ArtifactError: '{file}' is a Git LFS pointer: run `git lfs pull`"),
        (text, "ArtifactError: '{file}' is a text file: expected an AOTInductor package, made by "),
        (package, "ConfigError: platform is 'pytorch_libtorch', but '{file}' is an AOTInductor package: expected pla"),
        (
            optimized_for_inference,
            "ArtifactError: '{file}' was saved after torch.jit.optimize_for_inference, which converts weights to a lay",
        ),
        (unknown_operator, "ArtifactError: '{file}' uses mine::of_tests, which torch "),
    ],
    ids=lambda it: getattr(it, "__name__", ""),
)
def test_refused_file(serve: Serve, tmp_path: Path, make: Callable[[Path], None], expected: str) -> None:
    make(tmp_path / "archive")
    entries = [tensor_config("x"), tensor_config("y")], [tensor_config("RESULT")]
    said = refusal(lambda: serve(tmp_path / "archive", *entries, file_name="model.pt", platform="pytorch_libtorch"))
    assert said.startswith(expected.format(file=tmp_path / "model" / "1" / "model.pt"))


def test_config_for_the_file_beside(serve_script: Any, tmp_path: Path) -> None:
    stray = tmp_path / "model" / "1" / "model.pt2"
    stray.parent.mkdir(parents=True)
    stray.touch()
    said = refusal(lambda: serve_script(Nested(), [tensor_config("ARGS[1]")], [tensor_config("RESULT[0]")]))
    assert said.endswith(
        " The model is model.pt; model.pt2 beside it is not used (the parameter DEFAULT_MODEL_FILENAME names another "
        "file)."
    )
