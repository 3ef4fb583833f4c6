"""Packages served through model.py: data types, odd results, weights, several models, and requests that fail."""

import gc
import json
import platform
import re
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch

from triton_pytorch.tests.assets.archives import rewritten, with_text
from triton_pytorch.tests.assets.configs import TYPES, from_pbtxt, sample, tensor_config
from triton_pytorch.tests.assets.documents import ROOT, block
from triton_pytorch.tests.assets.packages import package_path
from triton_pytorch.tests.integration.conftest import Serve

VECTOR = [tensor_config("INPUT__0")]
RESULT = [tensor_config("OUTPUT__0")]


def stripped(directory: Path) -> Path:
    """Make a package without its source."""

    def without_source(name: str, content: bytes) -> tuple[str, bytes] | None:
        return None if name.endswith(".wrapper.cpp") else (name, content)

    return rewritten(package_path("looks_up"), directory / "stripped", without_source)


def without_calls(directory: Path) -> Path:
    """Make a package whose list of weights lacks one."""

    def without(name: str, content: bytes) -> tuple[str, bytes]:
        if not name.endswith("weights_config.json"):
            return name, content
        weights = json.loads(content)
        del weights["calls"]
        return name, json.dumps(weights).encode()

    return rewritten(package_path("weights_beside_the_library"), directory / "without_calls", without)


def test_inputs_of_one_and_of_no_dimensions(serve: Serve) -> None:
    document = (ROOT / "docs" / "packages.md").read_text(encoding="utf-8")
    config = from_pbtxt(block(document, "### One number in each row"))
    model = serve("scores", config.pop("input"), config.pop("output"), **config)
    x, labels = torch.randn(5, 3), torch.tensor([0, 2, 1, 1, 0])
    cuts, temperatures = ((0, 2), (2, 3), (3, 5)), (0.5, 4.0, 0.5)
    responses = model.execute(
        *[
            model.request(
                {
                    "ARGS[0]": x[start:end],
                    "ARGS[1]": labels[start:end],  # as Triton's core has reshaped it
                    "ARGS[2]": torch.full((end - start, 1), temperature),
                }
            )
            for (start, end), temperature in zip(cuts, temperatures, strict=True)
        ]
    )
    for (start, end), temperature, response in zip(cuts, temperatures, responses, strict=True):
        assert response.error() is None
        expected = x.gather(1, labels.unsqueeze(1)).squeeze(1)[start:end] / temperature
        assert torch.equal(response.output_tensors()[0].data, expected)


def test_wrong_dims_of_one_and_of_no_dimensions(serve: Serve) -> None:
    inputs = [
        tensor_config("ARGS[0]", dims=(3,)),
        tensor_config("ARGS[1]", torch.int64, (1,)),
        tensor_config("ARGS[2]", dims=(-1,)),
    ]
    with pytest.raises(Exception, match="Input 'ARGS") as caught:
        serve("scores", inputs, [tensor_config("RESULT", dims=(1,))], max_batch_size=8)
    assert re.sub(r"\[s\d+\]", "[s]", str(caught.value)) == (
        "Input 'ARGS[1]' is declared with dims [1] after the batch dimension, but the model takes 1 dimension, [s]: "
        "declare dims: [ 1 ] and reshape: { shape: [ ] }, or set max_batch_size: 0."
        " Input 'ARGS[2]' is declared with dims [-1] after the batch dimension, but the model takes 0 dimensions, []: "
        "declare dims: [ 1 ]."
    )


def test_every_dtype(serve: Serve) -> None:
    names = {str(dtype).removeprefix("torch."): dtype for dtype in TYPES}
    model = serve(
        "all_dtypes",
        [tensor_config(f"ARGS[0][{name}]", dtype, (4,)) for name, dtype in names.items()],
        [tensor_config(f"RESULT[{name}]", dtype, (4,)) for name, dtype in names.items()],
        max_batch_size=8,
    )
    answer = model.infer({f"ARGS[0][{name}]": sample(dtype) for name, dtype in names.items()})
    for name, dtype in names.items():
        expected = sample(dtype)[:, [2, 3, 0, 1]]
        assert answer[f"RESULT[{name}]"].dtype is dtype
        assert torch.equal(answer[f"RESULT[{name}]"], expected), name


def test_keyword_only_trees(serve: Serve) -> None:
    names = ("KWARGS[options][b]", "KWARGS[options][a][0]", "KWARGS[table][5]", "KWARGS[table][3]")
    model = serve(
        "keyword_trees",
        [tensor_config(name, dims=(3,)) for name in reversed(names)],
        [tensor_config("RESULT[0][7]", dims=(3,)), tensor_config("RESULT[0][sum]", dims=(3,))],
    )
    b, a, five, three = (torch.arange(3.0) + 10**i for i in range(4))
    answer = model.infer(dict(zip(names, (b, a, five, three), strict=True)))
    assert torch.equal(answer["RESULT[0][sum]"], b + 10 * a)
    assert torch.equal(answer["RESULT[0][7]"], three + 100 * five)


SCALARS = [tensor_config(f"RESULT[{i}]", dims=(-1, -1) if i == 2 else (-1,)) for i in range(4)]


@pytest.mark.parametrize("length", [0, 1, 5])
def test_odd_results(serve: Serve, length: int) -> None:
    model = serve("scalars", VECTOR, SCALARS, parameters={"ALLOW_EMPTY_INPUTS": "true"})
    x = torch.arange(float(length))
    answer = model.infer({"INPUT__0": x})
    assert torch.equal(answer["RESULT[0]"], x.sum().reshape(1))
    assert answer["RESULT[1]"].shape == (0,)
    assert torch.equal(answer["RESULT[2]"], (x + 1).reshape(1, -1).expand(3, -1).t())
    assert torch.equal(answer["RESULT[3]"], x)


def test_empty_inputs_refused(serve: Serve) -> None:
    model = serve("scalars", VECTOR, SCALARS)
    assert model.failure({"INPUT__0": torch.ones(0)}).startswith(
        "INVALID_ARG: model 'm': dimension 0 of input 'INPUT__0' is 0, but the model takes 1 to 1000"
    )


def test_written_inputs(serve: Serve) -> None:
    model = serve(
        "writes_to_its_input",
        [tensor_config("INPUT__1", dims=(2, 3)), tensor_config("INPUT__0", dims=(2, 3))],
        [tensor_config("OUTPUT__0", dims=(2, 3))],
    )
    x, y = torch.randn(2, 3), torch.randn(2, 3)
    for _ in range(2):
        answer = model.infer({"INPUT__0": x, "INPUT__1": y})
        assert torch.allclose(answer["OUTPUT__0"], (x + 1) * 2 + y)


def test_outputs_not_batched(serve: Serve) -> None:
    outputs = [tensor_config(f"RESULT[{i}]", dims=(3,)) for i in range(3)]
    model = serve("reduces_the_batch", [tensor_config("INPUT__0", dims=(3,))], outputs, max_batch_size=8)
    x = torch.randn(4, 3)
    (mean,) = model.execute(model.request({"INPUT__0": x}, ["RESULT[0]"]))
    (total,) = model.execute(model.request({"INPUT__0": x}, ["RESULT[1]"]))
    assert "output 'RESULT[0]' is not batched: 4 rows went in and 1 row came out" in mean.error().message()
    assert "a single number came out" in total.error().message()
    assert "max_batch_size: 0" in total.error().message()
    assert torch.equal(model.infer({"INPUT__0": x}, ["RESULT[2]"])["RESULT[2]"], x + 1)


def test_failing_request_among_others(serve: Serve) -> None:
    index = [tensor_config("INPUT__0", torch.int64, (2,))]
    model = serve("looks_up", index, RESULT)
    good, bad = {"INPUT__0": torch.tensor([3, 4])}, {"INPUT__0": torch.tensor([3, 400])}

    responses = model.execute(model.request(good), model.request(bad), model.request(good))

    message = responses[1].error().message()
    assert message.startswith("model 'm': ")
    assert "\n" not in message
    assert "frame #" not in message
    for response in (responses[0], responses[2]):
        assert torch.equal(response.output_tensors()[0].data, torch.tensor([3.0, 4.0]))


def test_failure_without_the_place_in_the_code(serve: Serve) -> None:
    model = serve(
        "divides",
        [tensor_config(f"ARGS[{i}]", torch.int64, (2,)) for i in (0, 1)],
        [tensor_config("RESULT", torch.int64, (2,))],
    )
    x = torch.tensor([7, -7])
    assert model.failure({"ARGS[0]": x, "ARGS[1]": torch.tensor([2, 0])}) == "INTERNAL: model 'm': ZeroDivisionError"
    (logged,) = [text for level, text in model.logger.lines if level == "error"]
    assert logged.startswith("a request failed: model 'm': ZeroDivisionError\n")
    assert ".h:" in logged
    assert model.infer({"ARGS[0]": x, "ARGS[1]": torch.tensor([2, 2])})["RESULT"].tolist() == [3, -4]


def test_missing_input(serve: Serve) -> None:
    inputs = [tensor_config("ARGS[0]", dims=(2, 3)), tensor_config("ARGS[1]", dims=(2, 3))]
    model = serve("writes_to_its_input", inputs, [tensor_config("RESULT", dims=(2, 3))])
    assert model.failure({"ARGS[0]": torch.ones(2, 3)}) == "INVALID_ARG: model 'm': the request lacks input ARGS[1]"


def test_unforeseen_error(serve: Serve) -> None:
    model = serve("looks_up", [tensor_config("INPUT__0", torch.int64, (2,))], RESULT)
    assert model.failure({"no such": torch.ones(1)}) == "INTERNAL: internal error in model 'm': see the server's log"
    assert any(level == "error" and "KeyError" in text for level, text in model.logger.lines)


def test_output_dtype(serve: Serve) -> None:
    model = serve("scalars", VECTOR, [tensor_config("RESULT[3]", torch.float16)])
    message = model.failure({"INPUT__0": torch.ones(2)})
    assert "output 'RESULT[3]' is declared TYPE_FP16, but the model returned TYPE_FP32" in message


class TestWeightsBesideTheLibrary:
    IO: tuple[list[Any], list[Any]] = (
        [tensor_config("INPUT__0", dims=(-1, 64))],
        [tensor_config("RESULT[0]", dims=(-1, 64)), tensor_config("RESULT[1]", dims=(2,))],
    )

    def expected(self, x: torch.Tensor) -> torch.Tensor:
        torch.manual_seed(0)
        linear = torch.nn.Linear(64, 64)
        scale = torch.arange(15, dtype=torch.float16)
        result: torch.Tensor = linear(x) + linear.weight[3:5].sum(0) + scale.float().sum()
        return result

    def test_values_and_written_buffers(self, serve: Serve) -> None:
        model = serve("weights_beside_the_library", *self.IO)
        x = torch.randn(2, 64)
        for call in (1, 2):
            answer = model.infer({"INPUT__0": x})
            assert torch.allclose(answer["RESULT[0]"], self.expected(x), rtol=1e-4, atol=1e-4)
            assert torch.equal(answer["RESULT[1]"], torch.tensor([1.0 * call, 5.0 + 2.0 * call]))

    def test_mapped_privately(self, serve: Serve, store: Path) -> None:
        serve("weights_beside_the_library", *self.IO)
        maps = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
        mapped = [line for line in maps if f"{store}/" in line and "/data/weights/" in line]
        assert len(mapped) == 4
        assert all(line.split()[1].endswith("p") for line in mapped), "shared mappings would change the file for all"

    def test_writes_stay_private(self, serve: Serve, store: Path) -> None:
        model = serve("weights_beside_the_library", *self.IO)
        before = {path: path.read_bytes() for path in store.rglob("weight_*")}
        model.infer({"INPUT__0": torch.randn(2, 64)})
        assert len(before) == 4
        assert {path: path.read_bytes() for path in before} == before

    def test_weights_missing(self, serve: Serve) -> None:
        with pytest.raises(Exception, match="was built without its weights"):
            serve("without_its_weights", VECTOR, RESULT)

    def test_weights_incomplete(self, serve: Serve, tmp_path: Path) -> None:
        with pytest.raises(Exception, match="lacks the weights calls: build it again"):
            serve(without_calls(tmp_path), *self.IO)

    @pytest.mark.parametrize("content", [b"[]", b"null", b'{"calls": 1}', b"{", b'{"calls": ["no", [2], [1], 0]}'])
    def test_weights_list_damaged(self, serve: Serve, tmp_path: Path, content: bytes) -> None:
        package = rewritten(
            package_path("weights_beside_the_library"),
            tmp_path / "p",
            lambda name, old: (name, content if name.endswith("weights_config.json") else old),
        )
        with pytest.raises(Exception, match="the weights beside the library cannot be read"):
            serve(package, *self.IO)

    def test_weights_in_a_blob(self, serve: Serve) -> None:
        vector = [tensor_config("INPUT__0", dims=(2, 8))], [tensor_config("OUTPUT__0", dims=(2, 8))]
        x = torch.randn(2, 8)
        torch.manual_seed(3)
        expected = torch.nn.Linear(8, 8)(x)
        answer = serve("weights_in_a_blob", *vector).infer({"INPUT__0": x})
        assert torch.allclose(answer["OUTPUT__0"], expected, atol=1e-5)


class TestSeveralModels:
    def test_chosen_by_name(self, serve: Serve) -> None:
        for name, expected in (("doubles", 6.0), ("squares", 9.0)):
            vector = [tensor_config("INPUT__0", dims=(3,))]
            model = serve("two_models", vector, RESULT, parameters={"AOTI_MODEL_NAME": name})
            assert torch.equal(
                model.infer({"INPUT__0": torch.full((3,), 3.0)})["OUTPUT__0"], torch.full((3,), expected)
            )

    @pytest.mark.parametrize(
        ("parameters", "sentence"),
        [
            ({}, r"holds several models \(doubles, squares\): choose one with the parameter AOTI_MODEL_NAME"),
            ({"AOTI_MODEL_NAME": "squared"}, "holds doubles, squares; did you mean 'squares'?"),
            ({"AOTI_MODEL_NAME": " "}, "parameter AOTI_MODEL_NAME is empty"),
        ],
    )
    def test_wrong_choice(self, serve: Serve, parameters: dict[str, str], sentence: str) -> None:
        with pytest.raises(Exception, match=sentence):
            serve("two_models", VECTOR, RESULT, parameters=parameters)


class TestLoadErrors:
    def test_none_arguments(self, serve: Serve) -> None:
        with pytest.raises(Exception, match=r"3 input leaves .* takes 2 tensors.*export with tensors only"):
            serve("none_argument", [tensor_config(f"INPUT__{i}", dims=(3,)) for i in range(3)], RESULT)

    def test_naming_errors_together(self, serve: Serve) -> None:
        with pytest.raises(Exception, match=r"'INPUT__1' is out of range.*no tensor for ARGS\[0\] \(INPUT__0\)"):
            serve("looks_up", [tensor_config("INPUT__1", torch.int64, (2,))], RESULT)

    def test_optional_inputs(self, serve: Serve) -> None:
        with pytest.raises(Exception, match="input 'INPUT__0' is optional, but the model has no default"):
            serve("looks_up", [tensor_config("INPUT__0", torch.int64, (2,), optional=True)], RESULT)

    def test_no_outputs(self, serve: Serve) -> None:
        with pytest.raises(Exception, match=r"declares no output, so that nothing would be answered: .* RESULT"):
            serve("looks_up", [tensor_config("INPUT__0", torch.int64, (2,))], [])

    def test_strings(self, serve: Serve) -> None:
        strings = [{**tensor_config("INPUT__0"), "data_type": "TYPE_STRING"}]
        with pytest.raises(Exception, match="TYPE_STRING, but the model takes a tensor there: declare TYPE_INT64"):
            serve("looks_up", strings, RESULT)

    def test_missing_gpu(self, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
        with pytest.raises(Exception, match=r"KIND_GPU on GPU 0, but torch .* finds 0 GPUs"):
            serve("looks_up", [tensor_config("INPUT__0", torch.int64, (2,))], RESULT, kind="GPU")

    @pytest.mark.parametrize(
        ("device", "kind", "sentence"),
        [
            ("cuda", "CPU", "was compiled for cuda, but its instance group is KIND_CPU: use KIND_GPU"),
            ("cuda", "MODEL", "was compiled for cuda, but torch .* finds no GPU here"),
            ("banana", "MODEL", "was compiled for banana: expected one of cpu, cuda"),
        ],
    )
    def test_other_device(
        self, serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, device: str, kind: str, sentence: str
    ) -> None:
        monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
        new = f'"{device}"'.encode()
        package = with_text(package_path("looks_up"), tmp_path / "p", b'"cpu"', new, ending="_metadata.json")
        with pytest.raises(Exception, match=sentence):
            serve(package, [tensor_config("INPUT__0", torch.int64, (2,))], RESULT, kind=kind)

    def test_load_after_a_refused_one(self, serve: Serve, tmp_path: Path) -> None:
        refused = tmp_path / "refused"
        shutil.copy(package_path("looks_up"), refused)
        with zipfile.ZipFile(refused, "a") as archive:
            archive.writestr("../f", "")
        index = [tensor_config("INPUT__0", torch.int64, (2,))]
        with pytest.raises(Exception, match=r"entry '\.\./f'"):
            serve(refused, index, RESULT)
        answer = serve("looks_up", index, RESULT).infer({"INPUT__0": torch.tensor([3, 4])})
        assert torch.equal(answer["OUTPUT__0"], torch.tensor([3.0, 4.0]))

    def test_parameters_without_effect(self, serve: Serve) -> None:
        index = [tensor_config("INPUT__0", torch.int64, (2,))]
        model = serve("looks_up", index, RESULT, parameters={"ENABLE_WEIGHT_SHARING": "true"})
        assert (
            "warn",
            "model 'm': parameters without effect in this version: ENABLE_WEIGHT_SHARING",
        ) in model.logger.lines

    def test_stripped_source(self, serve: Serve, tmp_path: Path) -> None:
        model = serve(stripped(tmp_path), [tensor_config("INPUT__0", torch.int64, (2,))], RESULT)
        (warning,) = [text for level, text in model.logger.lines if level == "warn"]
        assert "holds no source that describes its inputs: the config is trusted" in warning
        answer = model.infer({"INPUT__0": torch.tensor([8, 9])})
        assert torch.equal(answer["OUTPUT__0"], torch.tensor([8.0, 9.0]))

    def test_source_of_another_model(self, serve: Serve, tmp_path: Path) -> None:
        package = with_text(
            package_path("looks_up"), tmp_path / "p", b'"context": "[]"', b'"context": "[ ]"', ending=".wrapper.cpp"
        )
        with pytest.raises(Exception, match=r"'.*' holds the source of another model than that of its library"):
            serve(package, [tensor_config("INPUT__0", torch.int64, (2,))], RESULT)

    def test_kind_model(self, serve: Serve) -> None:
        model = serve("looks_up", [tensor_config("INPUT__0", torch.int64, (2,))], RESULT, kind="MODEL")
        answer = model.infer({"INPUT__0": torch.tensor([8, 9])})
        assert torch.equal(answer["OUTPUT__0"], torch.tensor([8.0, 9.0]))

    def test_failed_load_leaves_nothing_in_the_store(self, serve: Serve, store: Path, tmp_path: Path) -> None:
        unknown = [tensor_config("INPUT__1", torch.int64, (2,))]
        with pytest.raises(Exception, match="out of range"):
            serve(stripped(tmp_path), unknown, RESULT)  # it is opened to be asked for its names
        with pytest.raises(Exception, match="lacks the weights calls"):
            serve(without_calls(tmp_path), *TestWeightsBesideTheLibrary.IO)
        gc.collect()
        assert list(store.iterdir()) == []

    @pytest.mark.parametrize(
        ("changes", "sentence"),
        [
            ({"AOTI_MACHINE": "pdp11"}, f"it was compiled for pdp11 CPUs, but this machine's is {platform.machine()}"),
            ({"AOTI_PLATFORM": "win32"}, "it was compiled for win32, not for Linux"),
        ],
    )
    def test_other_host(self, serve: Serve, tmp_path: Path, changes: dict[str, str], sentence: str) -> None:
        def changed(name: str, content: bytes) -> tuple[str, bytes]:
            is_metadata = name.endswith("_metadata.json")
            return name, json.dumps(json.loads(content) | changes).encode() if is_metadata else content

        file = rewritten(package_path("looks_up"), tmp_path / "file", changed)
        with pytest.raises(Exception, match=f"cannot be served: {sentence}"):
            serve(file, [tensor_config("INPUT__0", torch.int64, (2,))], RESULT)

    def test_fixed_batch(self, serve: Serve) -> None:
        inputs = [tensor_config(f"ARGS[{i}]", dims=(3,)) for i in range(2)]
        with pytest.raises(Exception, match="max_batch_size: 4, but the model was exported with a fixed first dimens"):
            serve("writes_to_its_input", inputs, [tensor_config("RESULT", dims=(3,))], max_batch_size=4)

    def test_exported_program(self, serve: Serve, tmp_path: Path) -> None:
        torch.export.save(torch.export.export(torch.nn.ReLU(), (torch.ones(2),)), tmp_path / "file.pt2")
        with pytest.raises(Exception, match=r"is an exported program \(torch.export.save\): compile it into"):
            serve(tmp_path / "file.pt2", VECTOR, RESULT)


class TestFileNames:
    INDEX = (tensor_config("INPUT__0", torch.int64, (2,)),)

    @pytest.mark.parametrize(
        ("file_name", "config"),
        [
            ("model.pt", {}),  # the content decides, not the name
            ("chosen.bin", {"parameters": {"DEFAULT_MODEL_FILENAME": "chosen.bin"}}),
        ],
    )
    def test_content_decides(self, serve: Serve, file_name: str, config: dict[str, Any]) -> None:
        model = serve("looks_up", list(self.INDEX), RESULT, file_name=file_name, **config)
        answer = model.infer({"INPUT__0": torch.tensor([1, 2])})
        assert torch.equal(answer["OUTPUT__0"], torch.tensor([1.0, 2.0]))

    @pytest.mark.parametrize(
        "config",
        [
            {"parameters": {"DEFAULT_MODEL_FILENAME": "../model.pt2"}},
            {"parameters": {"DEFAULT_MODEL_FILENAME": "/etc/passwd"}},
            {"default_model_filename": "../../secret.pt2"},
        ],
    )
    def test_names_outside(self, serve: Serve, config: dict[str, Any]) -> None:
        with pytest.raises(Exception, match="expected the name of a file in the model's"):
            serve("looks_up", list(self.INDEX), RESULT, **config)


def test_last_instance_leaves_nothing(
    serve: Serve, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    index = [tensor_config("INPUT__0", torch.int64, (2,))]
    first, second = serve("looks_up", index, RESULT), serve("looks_up", index, RESULT)
    assert len(list(store.iterdir())) == 1
    first.entry.finalize()
    assert torch.equal(second.infer({"INPUT__0": torch.tensor([5, 6])})["OUTPUT__0"], torch.tensor([5.0, 6.0]))
    second.entry.finalize()
    gc.collect()
    assert [*store.iterdir(), *temporary.iterdir()] == []


@pytest.fixture(scope="module")
def registered() -> None:
    """The operators of the package, as importing a Python package that defines them would register them."""
    torch.library.define("test_operators::twice", "(Tensor x) -> Tensor")
    torch.library.impl("test_operators::twice", "cpu", lambda x: 2 * x)
    torch.library.define("test_operators::shifted.by", "(Tensor x, int k) -> Tensor")
    torch.library.impl("test_operators::shifted.by", "cpu", lambda x, k: x + k)


class TestCustomOperators:
    """A package that calls operators which torch does not bring."""

    IO = [tensor_config("INPUT__0", dims=(3,))], [tensor_config(f"OUTPUT__{i}", dims=(3,)) for i in range(2)]

    @pytest.mark.parametrize(
        ("old", "new", "sentence"),
        [
            (
                b"test_operators::",
                b"other_operators::",
                (
                    "calls other_operators::twice, other_operators::shifted.by, not registered in this process: the "
                    "Python package or shared library that defines the operators of 'other_operators' brings them, "
                    "but this version of the backend loads none: "
                    "import it in a model.py of your own (docs/packages.md), or "
                    "build without them"
                ),
            ),
            (
                b"aten::_unique2",
                b"aten::_unique2.other",
                f"calls aten::_unique2.other, which torch {torch.__version__} lacks: build it again with this torch",
            ),
        ],
    )
    def test_missing(
        self, serve: Serve, registered: None, tmp_path: Path, old: bytes, new: bytes, sentence: str
    ) -> None:
        package = with_text(package_path("custom_operators"), tmp_path / "p", old, new, ending=".wrapper.json")
        with pytest.raises(Exception, match=rf"^'.*/model\.pt2' {re.escape(sentence)}$"):
            serve(package, *self.IO, max_batch_size=8)

    def test_registered(self, serve: Serve, registered: None) -> None:
        model = serve("custom_operators", *self.IO, max_batch_size=8)
        x = torch.arange(6.0).reshape(2, 3)
        answer = model.infer({"INPUT__0": x})
        assert torch.equal(answer["OUTPUT__0"], 2 * x)
        assert torch.equal(answer["OUTPUT__1"], x + 3)


SCATTERED = (
    [
        tensor_config("ARGS[0]", dims=(4,)),
        tensor_config("ARGS[1]", torch.int64, (2,)),
        tensor_config("ARGS[2]", dims=(2,)),
    ],
    [tensor_config("RESULT", dims=(4,))],
)


def scattering(x: list[list[float]], index: list[list[int]], values: list[list[float]]) -> dict[str, torch.Tensor]:
    return {"ARGS[0]": torch.tensor(x), "ARGS[1]": torch.tensor(index), "ARGS[2]": torch.tensor(values)}


def test_operators_whose_errors_are_dropped(serve: Serve) -> None:
    model = serve("scatters", *SCATTERED, max_batch_size=8)
    right = [scattering([[i, 1.0, 2.0, 3.0]], [[1, 3]], [[7.0, i]]) for i in range(3)]
    wrong = scattering([[1.0, 1.0, 1.0, 1.0]], [[0, 400]], [[7.0, 7.0]])

    responses = model.execute(*map(model.request, [right[0], wrong, *right[1:]]))

    assert [response.error() for response in responses] == [None] * 4
    for response, inputs in zip([responses[0], *responses[2:]], right, strict=True):
        (result,) = response.output_tensors()
        x, index, values = inputs.values()
        assert torch.equal(result.data, x.scatter_reduce(1, index, values, "amax"))
    warnings = [text for level, text in model.logger.lines if level == "warn"]
    assert len(warnings) == 1
    assert warnings[0].startswith("model 'm': the model calls scatter_reduce without looking at errors, ")


def test_operators_whose_errors_are_dropped_without_batching(serve: Serve) -> None:
    inputs, outputs = ([{**it, "dims": [-1, *it["dims"]]} for it in tensors] for tensors in SCATTERED)
    assert [level for level, _ in serve("scatters", inputs, outputs).logger.lines if level == "warn"] == []


FIXED_WIDTHS = (
    [tensor_config(f"ARGS[{i}]", dims=(-1,)) for i in range(3)],
    [tensor_config(f"RESULT[{i}]", dims=(-1,)) for i in range(3)],
)


def widths(x: int, rows: int, half: int) -> dict[str, torch.Tensor]:
    return {f"ARGS[{i}]": torch.arange(2.0 * width).reshape(2, width) for i, width in enumerate((x, rows, half))}


class TestFixedWidths:
    """A size that torch fixed although it was exported as dynamic, and one that it works out of another input."""

    @pytest.mark.parametrize("half", [1, 3, 7])
    def test_right_widths(self, serve: Serve, half: int) -> None:
        model = serve("fixed_widths", *FIXED_WIDTHS, max_batch_size=8)
        assert [level for level, _ in model.logger.lines if level == "warn"] == []
        inputs = widths(8, 2 * half, half)
        x, rows, _ = inputs.values()
        answer = model.infer(inputs)
        assert torch.allclose(answer["RESULT[0]"], torch.nn.functional.glu(x, 1))
        assert torch.equal(answer["RESULT[1]"], rows[:, :half])
        assert torch.equal(answer["RESULT[2]"], inputs["ARGS[2]"] + 1)

    @pytest.mark.parametrize(
        ("wrong", "sentence"),
        [
            (widths(16, 6, 3), r"dimension 1 of input 'ARGS\[0\]' is 16, but the model takes 8"),
            (widths(2, 6, 3), r"dimension 1 of input 'ARGS\[0\]' is 2, but the model takes 8"),
            (widths(0, 6, 3), r"dimension 1 of input 'ARGS\[0\]' is 0, but the model takes 8"),
            (
                widths(8, 8, 3),
                (
                    r"dimension 1 of input 'ARGS\[1\]' is 8, but the model takes 6 \(2\*s\d+\) there, since "
                    r"dimension 1 of input 'ARGS\[2\]' is 3 \(s\d+\)"
                ),
            ),
        ],
    )
    def test_wrong_widths(self, serve: Serve, wrong: dict[str, torch.Tensor], sentence: str) -> None:
        model = serve("fixed_widths", *FIXED_WIDTHS, max_batch_size=8)
        assert re.fullmatch(f"INVALID_ARG: model 'm': {sentence}", model.failure(wrong))

    @pytest.mark.parametrize(
        ("dims", "sentence"),
        [
            ((16,), r"dimension 1 of input 'ARGS\[0\]' is declared 16, but the model takes 8 in \[s\d+, 8\]"),
            ((-1, -1), r"input 'ARGS\[0\]' is declared with dims \[-1, -1\] after the batch dimension, but the model"),
        ],
    )
    def test_wrong_config(self, serve: Serve, dims: tuple[int, ...], sentence: str) -> None:
        inputs = [tensor_config("ARGS[0]", dims=dims), *FIXED_WIDTHS[0][1:]]
        with pytest.raises(Exception, match=sentence):
            serve("fixed_widths", inputs, FIXED_WIDTHS[1], max_batch_size=8)
