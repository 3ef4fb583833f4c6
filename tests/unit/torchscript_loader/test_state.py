"""Attributes that a method changes, as its graph shows them."""

import warnings
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from triton_pytorch.artifact_store.model_file import open_model_file
from triton_pytorch.tests.assets.scripts import scripted
from triton_pytorch.torch_runtime.placement import CPU
from triton_pytorch.torchscript_loader.archive import load_archive
from triton_pytorch.torchscript_loader.state import kept_state, state_warnings


class Keeps(nn.Module):
    """State of every kind, and what only looks like it."""

    cache: list[Tensor]
    by_key: dict[str, Tensor]
    last: Tensor | None
    total: Tensor
    window: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(4))
        self.register_buffer("window", torch.zeros(4, 2))
        self.weight = nn.Parameter(torch.ones(4))
        self.counter = 0
        self.cache = []
        self.by_key = {}
        self.last = None
        self.seen = 0
        self.is_adaptive = False
        self.inner = Inner()

    def forward(self, x: Tensor) -> Tensor:
        return x

    @torch.jit.export
    def counts(self, x: Tensor) -> Tensor:
        self.counter += 1
        return x + self.counter

    @torch.jit.export
    def adds(self, x: Tensor) -> Tensor:
        self.total.add_(x)
        return self.total + 0

    @torch.jit.export
    def writes_parts(self, x: Tensor) -> Tensor:
        self.window[1:, 0] = x[0]
        return self.window + 0

    @torch.jit.export
    def appends(self, x: Tensor) -> Tensor:
        self.cache.append(x)
        return self.cache[0] + len(self.cache)

    @torch.jit.export
    def puts(self, x: Tensor) -> Tensor:
        self.by_key["x"] = x
        return x + len(self.by_key)

    @torch.jit.export
    def remembers(self, x: Tensor) -> Tensor:
        last = self.last
        self.last = x
        return x if last is None else x - last

    @torch.jit.export
    def in_a_loop_of_a_submodule(self, x: Tensor) -> Tensor:
        for _ in range(3):
            x = self.inner(x)
        return x

    @torch.jit.export
    def two(self, x: Tensor) -> Tensor:
        self.counter += 1
        self.inner.steps += self.counter
        return x

    @torch.jit.export
    def only_reads(self, x: Tensor) -> Tensor:
        y = x + self.total.select(0, 1) + self.window.sum() + self.counter + len(self.cache)
        y.add_(self.weight)
        y[0] = self.total[0]
        x.mul_(2)
        return y

    @torch.jit.export
    def changes_copies(self, x: Tensor) -> Tensor:
        total = self.total.clone()
        total.add_(x)
        parts = [self.total + 1]
        parts.append(total)
        record = Record(1)
        record.count += 1
        return parts[1].sub_(record.count)

    @torch.jit.export
    def notes_what_nobody_reads(self, x: Tensor) -> Tensor:
        self.seen = int(x.shape[0])
        return x

    @torch.jit.export
    def in_training(self, x: Tensor) -> Tensor:
        if self.training and self.counter > 0:
            self.total.add_(x)
        if not self.training:
            x = x + 1
        else:
            self.counter += 1
        if self.training or self.is_adaptive:
            self.window.add_(1)
        return x


class Record:
    """An object that a call makes for itself."""

    def __init__(self, count: int) -> None:
        self.count = count


class Inner(nn.Module):
    """A submodule with state."""

    def __init__(self) -> None:
        super().__init__()
        self.steps = 0

    def forward(self, x: Tensor) -> Tensor:
        self.steps += 1
        return x + self.steps


class Switches(nn.Module):
    """A flag that the code itself sets, so that what it had at load says nothing."""

    total: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.is_running = False
        self.register_buffer("total", torch.zeros(1))

    def forward(self, x: Tensor) -> Tensor:
        if self.is_running:
            self.total.add_(1)
        self.is_running = True
        return x + self.total


def kept(module: nn.Module, method: str = "forward") -> list[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        script: Any = torch.jit.script(module.eval())
    found = script._c._get_method(method)
    return kept_state(found.inlined_graph, found.owner)


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("counts", ["counter"]),
        ("adds", ["total"]),
        ("writes_parts", ["window"]),
        ("appends", ["cache"]),
        ("puts", ["by_key"]),
        ("remembers", ["last"]),
        ("in_a_loop_of_a_submodule", ["inner.steps"]),
        ("two", ["counter", "inner.steps"]),
        ("forward", []),
        ("only_reads", []),
        ("changes_copies", []),
        ("notes_what_nobody_reads", []),
        ("in_training", []),
    ],
)
def test_state_of_a_method(method: str, expected: list[str]) -> None:
    assert kept(Keeps(), method) == expected


def test_flag_that_the_code_sets() -> None:
    assert kept(Switches()) == ["total", "is_running"]


@pytest.mark.parametrize(
    "module",
    [
        nn.Sequential(nn.Conv2d(3, 3, 1), nn.BatchNorm2d(3), nn.ReLU(inplace=True), nn.Dropout(inplace=True)),
        nn.Sequential(nn.BatchNorm1d(3, track_running_stats=False), nn.InstanceNorm1d(3, track_running_stats=True)),
        nn.GRUCell(3, 3),
        nn.TransformerEncoderLayer(4, 2),
        nn.Embedding(4, 2),
    ],
)
def test_layers_of_torch_in_evaluation(module: nn.Module) -> None:
    assert kept(module) == []


def test_statistics_that_tracing_in_training_writes_down() -> None:
    module = nn.Sequential(nn.BatchNorm1d(3)).train()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        traced: Any = torch.jit.trace(module, torch.randn(4, 3))  # type: ignore[no-untyped-call]
    method = traced.eval()._c._get_method("forward")
    assert kept_state(method.inlined_graph, method.owner) == ["0.num_batches_tracked"]


def test_frozen_module(tmp_path: Any) -> None:
    archive = scripted(FrozenTotal().eval(), tmp_path / "m.pt", is_frozen=True)
    with open_model_file(archive) as file:
        assert file.archive is not None
        loaded = load_archive(file, CPU)
    method = loaded._c._get_method("forward")
    assert kept_state(method.inlined_graph, method.owner) == ["inner.total"]


class FrozenTotal(nn.Module):
    """A buffer of a submodule that freezing must leave as it is, since the code changes it."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = Totals()

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.inner(x)
        return result


class Totals(nn.Module):
    """A sum of all that came."""

    total: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(1))

    def forward(self, x: Tensor) -> Tensor:
        self.total += x.sum()
        return self.total + 0


def test_warning_names_the_attributes() -> None:
    assert state_warnings(()) == []
    (warning,) = state_warnings(("counter", "inner.steps"))
    assert warning == (
        "the model keeps state in self.counter, self.inner.steps: the requests of all clients change it, in the order"
        " in which they come, a call of merged requests changes it once, and each instance has its own; where it"
        " belongs to one client, take it as an input and return it"
    )
