"""TorchScript archives as files: damaged, saved elsewhere, in need of operators, on devices; how they are inspected."""

import os
import re
import shutil
import sys
import warnings
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch
from torch import Tensor, nn

from triton_pytorch.contract.sections import Fact, Line, Table
from triton_pytorch.contract.value_checks import SENDABLE
from triton_pytorch.model_config.errors import ArtifactError, ConfigError, UnsupportedError
from triton_pytorch.tests.assets import scripts
from triton_pytorch.tests.assets.archives import rewritten, with_text
from triton_pytorch.tests.integration.script_models import described, opened
from triton_pytorch.torch_runtime.placement import CPU

X, Y = torch.tensor([1.0, 2.0]), torch.tensor([30.0, 40.0])


class TwoKindsOfWeights(nn.Module):
    """A parameter and a buffer."""

    offset: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.arange(6.0).reshape(2, 3))
        self.register_buffer("offset", torch.tensor([1, 2], dtype=torch.int16))

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.weight @ x + self.offset
        return result


class OnlyABuffer(nn.Module):
    """A buffer and no parameter."""

    offset: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("offset", torch.ones(1))

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = x + self.offset
        return result


class Counts(nn.Module):
    """A number and a buffer that each call changes."""

    total: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(1))
        self.steps = 0

    def forward(self, x: Tensor) -> Tensor:
        self.steps += 1
        self.total += x.sum()
        return self.total + self.steps


class Packed(nn.Module):
    """A buffer, and a linear layer of 64 x 16 weights of one byte each with a bias, packed as quantising does it."""

    shift: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("shift", torch.ones(16))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # quantised tensors are deprecated
            weight = torch.quantize_per_tensor(torch.randn(16, 64), 0.1, 0, torch.qint8)
            self.packed = torch.ops.quantized.linear_prepack(weight, torch.zeros(16))

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = torch.ops.quantized.linear_dynamic(x, self.packed, False) + self.shift
        return result


class Entry:
    """An object of a class of the model's own."""

    def __init__(self, value: Tensor) -> None:
        self.value = value


_fork: Any = torch.jit.fork  # without types, and TorchScript reads comments on types as its own


class CannotBeServed(nn.Module):
    """Methods with arguments that no request can send, and results that no response can hold."""

    def forward(self, x: Tensor) -> Tensor:
        return x

    @torch.jit.export
    def sizes(self, x: Tensor, sizes: list[list[int]], tables: dict[str, dict[str, Tensor]]) -> Tensor:
        return x.reshape(sizes[0]) + tables["a"]["b"]

    @torch.jit.export
    def records(self, x: Tensor) -> tuple[Entry, torch.device]:
        return Entry(x), x.device

    @torch.jit.export
    def nothing(self, x: Tensor) -> None:
        x.add_(1)

    @torch.jit.export
    def waits(self, x: Tensor) -> torch.jit.Future[Tensor]:
        future: torch.jit.Future[Tensor] = _fork(torch.neg, x)
        return future

    @torch.jit.export
    def some_parts(self, x: Tensor) -> tuple[Tensor, torch.device, None, Tensor]:
        return x, x.device, None, x + 1


_SENDABLE = f"but requests can send only {SENDABLE}"
_REMEDY = "give it a default, or serve a module around this one"
_ANSWERABLE = (
    "but responses can hold only tensors, numbers and strings: serve a module around this one that returns them"
)
CANNOT_BE_SERVED = {
    "sizes": (
        f"argument 'sizes' is of type List[List[int]] and has no default, {_SENDABLE}: {_REMEDY}",
        f"argument 'tables' is of type Dict[str, Dict[str, Tensor]] and has no default, {_SENDABLE}: {_REMEDY}",
    ),
    "records": (f"the result is of type Tuple[__torch__.{Entry.__module__}.Entry, Device], {_ANSWERABLE}",),
    "nothing": (f"the result is of type NoneType, {_ANSWERABLE}",),
    "waits": (f"the result is of type Future[Tensor], {_ANSWERABLE}",),
}


class InTraining(nn.Module):
    """Random, and dependent on the other rows, as long as it is trained."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Dropout(0.5), nn.BatchNorm1d(2))

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.layers(x)
        return result


class Minimum(nn.Module):
    """Stands for a module whose operator is then exchanged in the archive."""

    def forward(self, boxes: Tensor, scores: Tensor) -> Tensor:
        return torch.minimum(boxes, scores)


class Constant(nn.Module):
    """A method without arguments."""

    def forward(self) -> Tensor:
        return torch.ones(2)


class WithoutForward(nn.Module):
    """A method of another name than the usual one."""

    @torch.jit.export
    def twice(self, x: Tensor) -> Tensor:
        return 2 * x


class NamedCode(nn.Module):
    """A method whose name every script module has for something else."""

    def forward(self, x: Tensor) -> Tensor:
        return x

    @torch.jit.export
    def code(self, x: Tensor) -> Tensor:
        return 2 * x


def _times_a_hundred(module: nn.Module, inputs: tuple[Tensor, Tensor], output: Tensor) -> Tensor:
    return output * 100


def with_operator(directory: Path, operator: str) -> Path:
    """Make an archive that uses an operator, which need not exist."""
    source = scripts.scripted(Minimum(), directory / "source.pt")
    return with_text(source, directory / "m.pt", b"torch.minimum(", f"ops.{operator}(".encode(), ending=".py")


def refusal(archive: Path) -> str:
    with pytest.raises(ArtifactError) as caught:
        described(archive)
    assert "\n" not in str(caught.value)
    return str(caught.value)


class TestFiles:
    @pytest.mark.parametrize("name", [b"\xff\xfe.pt", "ü 日本.pt".encode(), b"a'b\"c.pt"])
    def test_file_of_any_name(self, tmp_path: Path, name: bytes) -> None:
        archive = tmp_path / os.fsdecode(name)
        shutil.copy(scripts.scripted(scripts.Arithmetic(), tmp_path / "m.pt"), archive)
        script = opened(archive, ["x", "y"], ["RESULT"])
        assert torch.equal(script.answer({"x": X, "y": Y})["RESULT"], scripts.Arithmetic()(X, Y))

    def test_damaged_weights(self, tmp_path: Path) -> None:
        module = nn.Linear(100, 100)
        archive = scripts.scripted(module, tmp_path / "m.pt")
        weight = module.weight.detach().numpy().tobytes()[200:240]
        content = archive.read_bytes()
        assert content.count(weight) == 1
        archive.write_bytes(content.replace(weight, bytes(40)))
        assert re.search(r"is damaged or not a zip archive \(.*CRC.*\); copy or export it again$", refusal(archive))

    def test_checkpoint(self, tmp_path: Path) -> None:
        torch.save({"weight": X}, tmp_path / "m.pt")
        assert "constants.pkl" in refusal(tmp_path / "m.pt")

    def test_something_else_than_an_archive(self, tmp_path: Path) -> None:
        (tmp_path / "m.pt").write_bytes(b"PK")
        assert refusal(tmp_path / "m.pt").endswith("m.pt' is not a zip archive: expected a TorchScript archive")

    def test_made_with_a_later_torch(self, tmp_path: Path) -> None:
        source = scripts.scripted(Minimum(), tmp_path / "source.pt")
        archive = rewritten(
            source,
            tmp_path / "m.pt",
            lambda name, content: (name, b"99\n" if name.endswith("/version") else content),
        )
        message = refusal(archive)
        assert message.startswith(f"'{archive}' cannot be loaded by torch {torch.__version__} (")
        assert "version 99" in message
        assert message.endswith("save it again with torch.jit.save, with this torch or an older one")

    def test_version_that_is_not_text(self, tmp_path: Path) -> None:
        source = scripts.scripted(Minimum(), tmp_path / "source.pt")
        archive = rewritten(
            source,
            tmp_path / "m.pt",
            lambda name, content: (name, b"\xff\xfe" if name.endswith("version") else content),
        )
        assert refusal(archive).startswith(f"'{archive}' cannot be loaded by torch")

    def test_code_that_cannot_be_parsed(self, tmp_path: Path) -> None:
        source = scripts.scripted(Minimum(), tmp_path / "source.pt")
        archive = with_text(source, tmp_path / "m.pt", b"torch.minimum(", b"torch.minimum((", ending=".py")
        assert f"'{archive}' cannot be loaded by torch {torch.__version__} (expected ) but found" in refusal(archive)


class TestOperators:
    def test_library_that_is_installed(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "torchvision.py").write_text(
            "import torch\n"
            'library = torch.library.Library("torchvision", "FRAGMENT")\n'
            'library.define("difference_of_tests(Tensor a, Tensor b) -> Tensor")\n'
            'library.impl("difference_of_tests", lambda a, b: a - b, "CPU")\n',
            encoding="utf-8",
        )
        archive = with_operator(tmp_path, "torchvision.difference_of_tests")
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, "torchvision", raising=False)
        script = opened(archive, ["scores", "boxes"], ["RESULT"])
        assert torch.equal(script.answer({"boxes": X, "scores": Y})["RESULT"], X - Y)
        monkeypatch.delitem(sys.modules, "torchvision")

    def test_library_that_is_not_installed(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "torchaudio", None)
        archive = with_operator(tmp_path, "torchaudio.of_tests")
        assert refusal(archive) == (
            f"'{archive}' uses torchaudio::of_tests, which torch {torch.__version__} lacks without torchaudio: install"
            " the torchaudio of this torch"
        )

    def test_library_that_cannot_be_imported(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "torchtext.py").write_text("raise ImportError('libtorch.so: undefined symbol')", encoding="utf-8")
        archive = with_operator(tmp_path, "torchtext.of_tests")
        monkeypatch.syspath_prepend(tmp_path)
        assert refusal(archive).endswith(
            "without torchtext, which is installed but cannot be imported (libtorch.so: undefined symbol): install the"
            " torchtext of this torch"
        )

    def test_library_that_lacks_the_operator(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "torchtext.py").touch()
        archive = with_operator(tmp_path, "torchtext.of_tests")
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, "torchtext", raising=False)
        assert refusal(archive).endswith("and the torchtext that is installed too: install the one it was made with")
        monkeypatch.delitem(sys.modules, "torchtext")

    def test_library_that_is_unknown(self, tmp_path: Path) -> None:
        archive = with_operator(tmp_path, "mine.of_tests")
        assert refusal(archive) == (
            f"'{archive}' uses mine::of_tests, which torch {torch.__version__} lacks: this version finds the"
            " operators of torchaudio, torchtext, torchvision only"
        )

    def test_class_of_a_library(self, tmp_path: Path) -> None:
        source = scripts.scripted(Minimum(), tmp_path / "source.pt")
        call = b'torch.minimum(__torch__.torch.classes.mine.Kept("a").next(), '
        archive = with_text(source, tmp_path / "m.pt", b"torch.minimum(", call, ending=".py")
        assert "uses mine::Kept, which torch" in refusal(archive)


class TestMethods:
    def test_hooks_that_a_method_leaves_out(self, tmp_path: Path) -> None:
        module = Minimum()
        module.register_forward_hook(_times_a_hundred)
        description = described(scripts.scripted(module, tmp_path / "m.pt"))
        with pytest.raises(UnsupportedError, match="has forward hooks of its own"):
            _ = description.signature
        assert len(description.sections()) == 2  # but it can be inspected

    def test_method_named_like_an_attribute(self, tmp_path: Path) -> None:
        script = opened(scripts.scripted(NamedCode(), tmp_path / "m.pt"), ["x"], ["RESULT"], method="code")
        assert script.answer({"x": torch.ones(2)})["RESULT"].tolist() == [2.0, 2.0]

    def test_evaluation_mode(self, tmp_path: Path) -> None:
        script = opened(scripts.scripted(InTraining().train(), tmp_path / "m.pt"), ["x"], ["RESULT"])
        x = torch.randn(8, 2)
        with torch.no_grad():
            expected = InTraining().eval()(x)
        assert torch.equal(script.answer({"x": x})["RESULT"], expected)
        assert torch.equal(script.answer({"x": x[:1]})["RESULT"], expected[:1])


class TestDevices:
    def saved_from_cuda(self, directory: Path) -> Path:
        """Make an archive whose weights say that they were on a GPU, as a pickle has it: with lengths before texts."""
        source = scripts.scripted(TwoKindsOfWeights(), directory / "source.pt")
        cpu, gpu = b"X\x03\0\0\0cpu", b"X\x06\0\0\0cuda:0"
        return with_text(source, directory / "m.pt", cpu, gpu, ending="data.pkl")

    @pytest.mark.skipif(torch.cuda.is_available(), reason="the weights would stay on the GPU")
    @pytest.mark.parametrize("device", [CPU, None])
    def test_weights_saved_from_cuda(self, tmp_path: Path, device: torch.device | None) -> None:
        script = opened(self.saved_from_cuda(tmp_path), ["x"], ["RESULT"], device=device)
        assert script.model.device == CPU
        x = torch.arange(3.0)
        assert torch.equal(script.answer({"x": x})["RESULT"], TwoKindsOfWeights()(x))

    @pytest.mark.parametrize("is_frozen", [False, True])
    @pytest.mark.parametrize("module", [TwoKindsOfWeights(), OnlyABuffer()])
    def test_unmoved_model_is_where_its_weights_are(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: nn.Module, is_frozen: bool
    ) -> None:
        archive = scripts.scripted(module.eval(), tmp_path / "m.pt", is_frozen=is_frozen)
        monkeypatch.setattr(torch.cuda, "is_available", lambda: True)  # a GPU that these weights are not on
        script = opened(archive, ["x"], ["RESULT"], device=None)
        assert script.model.device == CPU
        x = torch.arange(3.0)
        assert torch.equal(script.answer({"x": x})["RESULT"], module(x))

    @pytest.mark.parametrize("has_gpu", [False, True])
    def test_unmoved_model_without_weights(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_gpu: bool
    ) -> None:
        archive = scripts.scripted(Minimum(), tmp_path / "m.pt")
        monkeypatch.setattr(torch.cuda, "is_available", lambda: has_gpu)
        assert described(archive, None).device == (torch.device("cuda", 0) if has_gpu else CPU)

    def test_unmoved_model_may_name_devices(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        archive = scripts.scripted(scripts.BakesDevices(), tmp_path / "m.pt")
        assert len(described(archive, None).warnings) == (not torch.cuda.is_available())
        monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
        assert described(archive, None).warnings == ()

    REMEDY = "script the model with the device of an input (`x.device`) in place of names, or trace it on cpu"

    @pytest.mark.parametrize("has_gpu", [False, True])
    def test_devices_in_the_code(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_gpu: bool) -> None:
        monkeypatch.setattr(torch.cuda, "is_available", lambda: has_gpu)
        archive = scripts.scripted(scripts.BakesDevices(), tmp_path / "m.pt")
        follows = (
            ", so that tensors on different devices may meet"
            if has_gpu
            else " and this machine has no GPU, so that calls which come to such code fail"
        )
        assert described(archive).warnings == (
            f"the model's code names cuda:1, cuda, but this instance runs on cpu{follows}: {self.REMEDY}",
        )
        assert described(archive, method="harmless").warnings == ()

    def test_single_device_in_the_code_can_be_pinned(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
        archive = scripts.scripted(scripts.BakesOneDevice(), tmp_path / "m.pt")
        (warning,) = described(archive).warnings
        assert warning.endswith(f"{self.REMEDY}, or pin the instance group to cuda:1 (kind: KIND_GPU, gpus: [ 1 ])")

    def test_own_device_in_the_code(self, tmp_path: Path) -> None:
        archive = scripts.traced(OnCpu(), tmp_path / "m.pt", X)
        assert described(archive).method.baked_devices == ("cpu",)
        assert described(archive).warnings == ()


class OnCpu(nn.Module):
    """Makes a tensor, whose device tracing writes down."""

    def forward(self, x: Tensor) -> Tensor:
        return x + torch.ones(2)


class TestSections:
    """What `inspect` prints."""

    def facts(self, module: nn.Module, path: Path) -> dict[str, tuple[str, ...]]:
        """Return the facts on the one method of a module, by label."""
        _, items = described(scripts.scripted(module, path)).sections()
        return {item.label: item.texts for item in items if isinstance(item, Fact)}

    def weights(self, archive: Path) -> tuple[str, dict[str, object]]:
        """Return what is said of the weights of an archive, as text and as JSON."""
        summary, *_ = described(archive).sections()
        (fact,) = [item for item in summary if isinstance(item, Fact) and item.label == "weights"]
        kinds = ("parameters", "buffers", "constants", "others")
        return fact.texts[0], {item.key: item.value for item in summary if item.key in kinds}

    NO_TENSORS: ClassVar = {kind: {"count": 0, "bytes": 0} for kind in ("parameters", "buffers", "constants", "others")}

    def test_weights(self, tmp_path: Path) -> None:
        text, document = self.weights(scripts.scripted(TwoKindsOfWeights(), tmp_path / "m.pt"))
        assert text == "1 of 24 bytes in parameters, 1 of 4 bytes in buffers"
        assert document == {
            **self.NO_TENSORS,
            "parameters": {"count": 1, "bytes": 24},
            "buffers": {"count": 1, "bytes": 4},
        }

    def test_no_weights(self, tmp_path: Path) -> None:
        assert self.weights(scripts.scripted(Minimum(), tmp_path / "m.pt")) == ("none", self.NO_TENSORS)

    def test_tied_weights(self, tmp_path: Path) -> None:
        layers = nn.Sequential(nn.Linear(8, 8, bias=False), nn.Linear(8, 8, bias=False))
        layers[1].weight = layers[0].weight
        text, _ = self.weights(scripts.scripted(layers, tmp_path / "m.pt"))
        assert re.fullmatch(r"\d of (256|512) bytes in parameters", text)

    def test_weights_of_a_frozen_module(self, tmp_path: Path) -> None:
        module = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 3)).eval()
        text, document = self.weights(scripts.scripted(module, tmp_path / "m.pt", is_frozen=True))
        assert text == "4 of 8.5 KiB in constants of the code"
        sizes = [4 * weight.numel() for weight in module.parameters()]
        assert document == {**self.NO_TENSORS, "constants": {"count": 4, "bytes": sum(sizes)}}

    @pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor:UserWarning")
    def test_weights_of_a_quantised_module(self, tmp_path: Path) -> None:
        text, document = self.weights(scripts.scripted(Packed().eval(), tmp_path / "m.pt"))
        assert text == "1 of 64 bytes in buffers, 2 of 1.1 KiB in other attributes, such as packed weights"
        assert document == {
            **self.NO_TENSORS,
            "buffers": {"count": 1, "bytes": 4 * 16},
            "others": {"count": 2, "bytes": 16 * 64 + 4 * 16},
        }

    def test_methods(self, tmp_path: Path) -> None:
        _, forward, twice = described(scripts.scripted(scripts.Arithmetic(), tmp_path / "m.pt")).sections()
        assert forward == (
            Fact("method", ("forward",)),
            Table(
                ("argument", "type", "default"),
                (
                    ("x", "Tensor", "none"),
                    ("y", "Tensor", "none"),
                    ("bias", "Optional[Tensor]", "None"),
                    ("power", "int", "1"),
                ),
            ),
            Fact("returns", ("Tensor",)),
            Fact("error", ()),
            Fact("inputs", ("x (INPUT__0), y (INPUT__1), bias (INPUT__2), power (INPUT__3)",)),
            Fact("declare", ("power as TYPE_INT64 or another integer type, dims: [ 1 ]",)),
            Fact("outputs", ("RESULT (OUTPUT__0)",)),
            Fact("names", ()),
            Fact("keeps", ()),
        )
        assert twice[0] == Fact("method", ("twice",))

    def test_numbers(self, tmp_path: Path) -> None:
        archive = scripts.scripted(scripts.Resamples(), tmp_path / "m.pt")
        _, forward = described(archive).sections()
        assert forward[1:6] == (
            Table(
                ("argument", "type", "default"),
                (
                    ("x", "Tensor", "none"),
                    ("sr", "int", "none"),
                    ("gain", "float", "none"),
                    ("flips", "bool", "False"),
                    ("extra", "Optional[int]", "None"),
                    ("share", "Optional[float]", "None"),
                ),
            ),
            Fact("returns", ("Tensor",)),
            Fact("error", ()),
            Fact(
                "inputs",
                ("x (INPUT__0), sr (INPUT__1), gain (INPUT__2), flips (INPUT__3), extra (INPUT__4), share (INPUT__5)",),
            ),
            Fact(
                "declare",
                (
                    "sr as TYPE_INT64 or another integer type, dims: [ 1 ]",
                    "gain as TYPE_FP64 or TYPE_FP32, dims: [ 1 ]",
                    "flips as TYPE_BOOL, dims: [ 1 ]",
                    "extra as TYPE_INT64 or another integer type, dims: [ 1 ]",
                    "share as TYPE_FP64 or TYPE_FP32, dims: [ 1 ]",
                ),
            ),
        )

    def test_methods_as_json(self, tmp_path: Path) -> None:
        weights, *_ = described(scripts.scripted(scripts.Arithmetic(), tmp_path / "m.pt")).sections()
        (methods,) = [item.value for item in weights if item.key == "methods"]
        assert methods == [
            {
                "name": "forward",
                "arguments": [
                    {"name": "x", "type": "Tensor", "default": None, "data_type": None},
                    {"name": "y", "type": "Tensor", "default": None, "data_type": None},
                    {"name": "bias", "type": "Optional[Tensor]", "default": "None", "data_type": None},
                    {"name": "power", "type": "int", "default": "1", "data_type": "TYPE_INT64"},
                ],
                "result": "Tensor",
                "faults": [],
                "inputs": ["x (INPUT__0)", "y (INPUT__1)", "bias (INPUT__2)", "power (INPUT__3)"],
                "outputs": ["RESULT (OUTPUT__0)"],
                "baked_devices": [],
                "kept_state": [],
            },
            {
                "name": "twice",
                "arguments": [{"name": "x", "type": "Tensor", "default": None, "data_type": None}],
                "result": "Tensor",
                "faults": [],
                "inputs": ["x (INPUT__0)"],
                "outputs": ["RESULT (OUTPUT__0)"],
                "baked_devices": [],
                "kept_state": [],
            },
        ]

    @pytest.mark.parametrize(
        ("module", "inputs", "outputs"),
        [
            (
                scripts.KeysInSubmodule(),
                "x (INPUT__0), options[a], options[b], options[bias], shift (INPUT__2)",
                "RESULT (OUTPUT__0)",
            ),
            (scripts.AnyKeys(), "options[<key>]", "RESULT[<key>]"),
            (
                scripts.Nested(),
                "x (INPUT__0)",
                (
                    "RESULT[0] (OUTPUT__0), RESULT[1][<index>], RESULT[2][names], RESULT[3][0][k], RESULT[3][1][k], "
                    "RESULT[3][1][l]"
                ),
            ),
        ],
    )
    def test_what_can_be_declared(self, tmp_path: Path, module: nn.Module, inputs: str, outputs: str) -> None:
        facts = self.facts(module, tmp_path / "m.pt")
        assert (facts["inputs"], facts["outputs"]) == ((inputs,), (outputs,))

    @pytest.mark.parametrize(
        ("module", "returns"),
        [
            (
                scripts.Numbers(),
                "Tuple[int, float, bool, str, Optional[Tensor], NoneType, List[int]]",
            ),
            (scripts.Detections(), "List[Dict[str, Tensor]]"),
            (scripts.Named(), "NamedTuple(left: Tensor, right: List[Tensor])"),
            (
                scripts.NamedParts(),
                "Tuple[{0}, {0}]".format("NamedTuple(score: Tensor, range: NamedTuple(low: Tensor, high: Tensor))"),
            ),
        ],
    )
    def test_result_in_words(self, tmp_path: Path, module: nn.Module, returns: str) -> None:
        assert self.facts(module, tmp_path / "m.pt")["returns"] == (returns,)

    def test_devices_in_the_code(self, tmp_path: Path) -> None:
        facts = self.facts(scripts.BakesOneDevice(), tmp_path / "m.pt")
        assert facts["names"] == ("device cuda:1 in its code",)

    @pytest.mark.parametrize("method", ["sizes", "records", "nothing", "waits"])
    def test_method_that_cannot_be_served(self, tmp_path: Path, method: str) -> None:
        summary, *items = described(scripts.scripted(CannotBeServed(), tmp_path / "m.pt")).sections()
        (section,) = [each for each in items if each[0] == Fact("method", (method,))]
        facts = {item.label: item.texts for item in section if isinstance(item, Fact)}
        assert facts["error"] == CANNOT_BE_SERVED[method]
        assert facts.keys().isdisjoint({"inputs", "outputs"})
        (methods,) = [item.value for item in summary if item.key == "methods"]
        assert isinstance(methods, list)
        (document,) = [it for it in methods if isinstance(it, dict) and it["name"] == method]
        assert document["faults"] == list(facts["error"])
        assert document["inputs"] == document["outputs"] == []

    def test_parts_that_no_response_can_hold_are_not_offered(self, tmp_path: Path) -> None:
        archive = scripts.scripted(CannotBeServed(), tmp_path / "m.pt")
        (section,) = [each for each in described(archive).sections() if each[0] == Fact("method", ("some_parts",))]
        facts = {item.label: item.texts for item in section if isinstance(item, Fact)}
        assert (facts["error"], facts["outputs"]) == ((), ("RESULT[0] (OUTPUT__0), RESULT[3] (OUTPUT__3)",))
        script = opened(archive, ["x"], ["RESULT[3]", "OUTPUT__0"], method="some_parts")
        assert torch.equal(script.answer({"x": X})["RESULT[3]"], X + 1)
        with pytest.raises(
            ConfigError, match=r"^output 'RESULT\[1\]' is of type Device, which no response can hold: re"
        ):
            opened(archive, ["x"], ["RESULT[1]"], method="some_parts")

    def test_hooks_as_an_error(self, tmp_path: Path) -> None:
        module = Minimum()
        module.register_forward_hook(_times_a_hundred)
        _, items = described(scripts.scripted(module, tmp_path / "m.pt")).sections()
        (error,) = [item.texts for item in items if isinstance(item, Fact) and item.label == "error"]
        assert "has forward hooks of its own" in error[0]

    def test_state_that_a_method_keeps(self, tmp_path: Path) -> None:
        archive = scripts.scripted(Counts(), tmp_path / "m.pt")
        _, items = described(archive).sections()
        assert items[-1] == Fact("keeps", ("total, steps",))
        (warning,) = described(archive).warnings
        assert warning.startswith("the model keeps state in self.total, self.steps: the requests of all clients")

    def test_method_without_arguments(self, tmp_path: Path) -> None:
        _, items = described(scripts.scripted(Constant(), tmp_path / "m.pt")).sections()
        assert items[1] == Line("no arguments")

    def test_module_without_forward(self, tmp_path: Path) -> None:
        description = described(scripts.scripted(WithoutForward(), tmp_path / "m.pt"))
        assert [section[0] for section in description.sections()[1:]] == [Fact("method", ("twice",))]
        with pytest.raises(ConfigError, match="no method 'forward': name one of twice in the parameter MODULE_METHOD"):
            _ = description.signature
