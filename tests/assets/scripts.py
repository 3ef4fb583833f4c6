"""TorchScript archives for tests: modules, scripted or traced when they are asked for."""

import warnings
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn


class Arithmetic(nn.Module):
    """Arguments that are told apart by the result."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, x: Tensor, y: Tensor, bias: Tensor | None = None, power: int = 1) -> Tensor:
        result = self.scale * x - y
        if bias is not None:
            result = result + 10 * bias
        return result**power

    @torch.jit.export
    def twice(self, x: Tensor) -> Tensor:
        return 2 * x


class Difference(nn.Module):
    """Two arguments, neither of which can be left out."""

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return x - y


class NeedsNumber(nn.Module):
    """An argument without default that no request can send."""

    def forward(self, x: Tensor, sizes: list[int]) -> Tensor:
        return x.reshape(sizes)


class Resamples(nn.Module):
    """Numbers of every kind, with and without a default, that the result tells apart."""

    def forward(
        self, x: Tensor, sr: int, gain: float, flips: bool = False, extra: int | None = None, share: float | None = None
    ) -> Tensor:
        result = x * sr + gain
        if flips:
            result = -result
        if extra is not None:
            result = result + extra
        return result if share is None else result * share


class NeedsOptional(nn.Module):
    """An optional number without a default."""

    def forward(self, x: Tensor, power: int | None) -> Tensor:
        return x if power is None else x**power


class Defaults(nn.Module):
    """Gaps between the arguments that are there."""

    def forward(self, a: Tensor, b: Tensor | None = None, k: int = 2, c: Tensor | None = None) -> Tensor:
        result = k * a
        if b is not None:
            result = result + 100 * b
        if c is not None:
            result = result + 10000 * c
        return result


class ReadsKeys(nn.Module):
    """A dictionary whose keys stand in the code."""

    def forward(self, options: dict[str, Tensor]) -> dict[str, Tensor]:
        result = {"difference": options["a"] - options["b"]}
        if "bias" in options:
            result["difference"] = result["difference"] + options["bias"]
        result["a"] = options["a"]
        return result


class PutsKeys(nn.Module):
    """A dictionary that gets entries of the code's own before it is read."""

    def forward(self, options: dict[str, Tensor]) -> Tensor:
        if "b" not in options:
            options["b"] = options["a"] * 10
        return options["a"] + options["b"]


class GrowsWithin(nn.Module):
    """A list that grows, sometimes, inside another container; what comes after it moves."""

    def forward(self, x: Tensor) -> tuple[list[Tensor], Tensor]:
        inner = [x, x + 1]
        outer = [inner]
        if bool(x.sum() > 0):
            outer[0].append(x + 2)
        return inner, x * 100


class GrowsAsValue(nn.Module):
    """The same, inside a dictionary whose values are changed."""

    def forward(self, x: Tensor) -> tuple[list[Tensor], Tensor]:
        inner = [x, x + 1]
        holder = {"k": inner}
        for value in holder.values():
            value.append(x + 2)
        return inner, x * 100


class TwoResults(nn.Module):
    """Two dictionaries, each with entries of its own."""

    def forward(self, x: Tensor) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        one = {"a": x}
        other = {"b": x * 2}
        one["c"] = x * 3
        other["d"] = x * 4
        return one, other


class PutsSometimes(nn.Module):
    """An entry that is there in some answers only, before one that always is."""

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        result: dict[str, Tensor] = {}
        if bool(x.sum() > 0):
            result["first"] = x
        result["second"] = x * 2
        return result


class KeysInSubmodule(nn.Module):
    """The keys are read a call further down, after another argument."""

    def __init__(self) -> None:
        super().__init__()
        self.reader = ReadsKeys()

    def forward(self, x: Tensor, options: dict[str, Tensor], shift: Tensor | None = None) -> Tensor:
        result: Tensor = x + self.reader(options)["difference"]
        return result if shift is None else result + shift


class AnyKeys(nn.Module):
    """A dictionary of whatever keys there are, handed back with each value doubled."""

    def forward(self, options: dict[str, Tensor]) -> dict[str, Tensor]:
        result: dict[str, Tensor] = {}
        for key, value in options.items():
            result[key] = 2 * value
        return result


class TwoDictionaries(nn.Module):
    """Keys that do not say whose they are."""

    def forward(self, left: dict[str, Tensor], right: dict[str, Tensor]) -> Tensor:
        return left["x"] - right["x"]


class Strings(nn.Module):
    """Strings beside a tensor, each with its row."""

    def forward(self, words: list[str], x: Tensor) -> tuple[list[str], Tensor]:
        return [word + "!" for word in words], x + torch.tensor(
            [len(word) for word in words], dtype=torch.int64
        ).reshape(-1, 1)


class CutsStrings(nn.Module):
    """TorchScript counts bytes."""

    def forward(self, words: list[str]) -> list[str]:
        return [word[:1] for word in words]


class Nested(nn.Module):
    """Tuples, lists and dictionaries in each other; one of the lists is as long as the argument says."""

    def forward(self, x: Tensor) -> tuple[Tensor, list[Tensor], dict[str, list[str]], list[dict[str, Tensor]]]:
        parts = [x * i for i in range(int(x[0]))]
        return x, parts, {"names": ["p", "q"]}, [{"k": x + 1}, {"k": x + 2, "l": x + 3}]


class Detections(nn.Module):
    """What detection models return."""

    def forward(self, images: Tensor) -> list[dict[str, Tensor]]:
        result: list[dict[str, Tensor]] = []
        for image in images:
            result.append({"boxes": image * 2, "labels": image.to(torch.int64)})  # noqa: PERF401  # as they do
        return result


class Pair(NamedTuple):
    """A named tuple."""

    left: Tensor
    right: list[Tensor]


class Named(nn.Module):
    """A result with field names."""

    def forward(self, x: Tensor) -> Pair:
        return Pair(x, [x + 1, x + 2])


class Range(NamedTuple):
    """A named tuple within another one."""

    low: Tensor
    high: Tensor


class Scored(NamedTuple):
    """A named tuple that holds another one."""

    score: Tensor
    range: Range


class NamedParts(nn.Module):
    """Named tuples in a tuple."""

    def forward(self, x: Tensor) -> tuple[Scored, Scored]:
        return Scored(x, Range(x - 1, x + 1)), Scored(2 * x, Range(x - 2, x + 2))


class Halves(NamedTuple):
    """A named tuple whose fields may be declared in any order."""

    first: Tensor
    second: Tensor


class Splits(nn.Module):
    """A result with two field names."""

    def forward(self, x: Tensor) -> Halves:
        return Halves(x[:2], x[2:])


class Numbers(nn.Module):
    """Numbers, a string, nothing and something that may be nothing."""

    def forward(self, x: Tensor) -> tuple[int, float, bool, str, Tensor | None, None, list[int]]:
        count = x.numel()
        return count, float(x.sum()), count > 2, f"{count} elements", x if count > 2 else None, None, [count, 7]


class Anything(nn.Module):
    """A result whose type only the answer tells."""

    def forward(self, x: Tensor) -> Tensor | list[Tensor] | dict[str, list[Tensor]]:
        result: Tensor | list[Tensor] | dict[str, list[Tensor]] = x
        if x.numel() == 2:
            result = [x, x + 1]
        if x.numel() == 3:
            result = {"k": [x, x + 1], "none": [x][:0]}
        return result


class Fails(nn.Module):
    """Fails in the ways that models do; the numbers choose."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(4, 2)
        self.linear = nn.Linear(2, 2)

    def forward(self, how: Tensor, x: Tensor) -> Tensor:
        which = int(how)
        if which == 1:
            x = self.table(x.to(torch.int64))
        if which == 2:
            x = self.linear(x)
        if which == 3:
            raise ValueError("negative values, such as -1: are not taken")
        if which == 4:
            assert int(x.sum()) > 1000, "too little"
        if which == 5:
            raise KeyError("several\nlines: of text\n\nand more")
        if which == 6:
            return [x][which]
        if which == 7:
            raise RuntimeError("")
        if which == 8:
            x = x.to(torch.int64) // torch.zeros(1, dtype=torch.int64)
        if which == 9:
            x = x + which // (which - 9)
        if which == 10:
            x = x.view(2, 2)
        if which == 11:
            x, _ = x.unbind()
        if which == 12:
            x = torch.mm(x[:2].double().unsqueeze(0), self.linear.weight)
        return x


class Careless(nn.Module):
    """Counts its calls, divides whole numbers whatever they are, and has a GPU in a branch that is seldom taken."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, int]:
        self.calls += 1
        if bool(y.sum() < -1000):
            x = x.to("cuda:1")
        return x // y, self.calls


class Mixed(nn.Module):
    """Arguments and results of every kind, all with the same rows."""

    def forward(
        self, words: list[str], x: Tensor, options: dict[str, Tensor], sign: int = -1
    ) -> tuple[list[str], dict[str, Tensor]]:
        return [word + "!" for word in words], {"sum": x + options["a"], "difference": x + sign * options["b"]}


class PicksStrings(nn.Module):
    """Strings as they come, some or none of them, and their number."""

    def forward(self, words: list[str]) -> tuple[list[str], list[str], int]:
        picked: list[str] = []
        for word in words:
            if word > "m":
                picked.append(word)  # noqa: PERF401  # TorchScript knows no condition in a comprehension
        return words, picked, len(words)


class Record(nn.Module):
    """Strings beside a tensor in one dictionary."""

    def forward(self, x: Tensor) -> dict[str, list[str] | Tensor]:
        result: dict[str, list[str] | Tensor] = {}
        result["labels"] = ["low" if float(value) < 0 else "high" for value in x]
        result["scores"] = x.abs()
        return result


class BakesDevices(nn.Module):
    """Devices in the code, one of them in what it calls."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = BakesOneDevice()

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.inner(x.to("cuda")) + torch.zeros(1, device="cuda:1")
        return result

    @torch.jit.export
    def harmless(self, x: Tensor) -> Tensor:
        return x + 1


class BakesOneDevice(nn.Module):
    """A device in the code."""

    def forward(self, x: Tensor) -> Tensor:
        return x + torch.ones(1, device="cuda:1")


def scripted(module: nn.Module, path: Path, *, is_frozen: bool = False) -> Path:
    """Script a module and save it; frozen, with its weights in its code."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        script = torch.jit.script(module)
        torch.jit.save(torch.jit.freeze(script) if is_frozen else script, path)
    return path


def traced(module: nn.Module, path: Path, *examples: Any) -> Path:
    """Trace a module on examples and save it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        torch.jit.save(torch.jit.trace(module, examples, strict=False), path)  # type: ignore[no-untyped-call]
    return path
