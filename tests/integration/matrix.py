"""Small packages of every kind with their right configs, and what comes of each config with one entry changed.

Each changed config has to be refused at load, or to be served with answers equal to eager torch's. A request may be
refused too, but not one that is right under the config as it is. All else is a third outcome, a crash too: so
`try_changes` does it in a process of its own.

A package is described and opened once; each config is bound to it as at a load, and served by a run loop.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from triton_pytorch.artifact_store.model_file import open_model_file
from triton_pytorch.contract.binding import bind
from triton_pytorch.execution.loop import RunLoop
from triton_pytorch.model_config.configuration import read_config
from triton_pytorch.model_config.errors import BackendError
from triton_pytorch.model_config.parameters import Parameters
from triton_pytorch.pt2_loader.description import PackageDescription, describe
from triton_pytorch.pt2_loader.package import open_package
from triton_pytorch.tests.assets.configs import TYPES, model_config, tensor_config
from triton_pytorch.tests.assets.packages import package_path
from triton_pytorch.tests.integration import fake_triton
from triton_pytorch.tests.integration.conftest import ROOT
from triton_pytorch.tests.integration.function_model import FunctionModel
from triton_pytorch.torch_runtime.placement import CPU
from triton_pytorch.torch_runtime.session import RunMode

FP16, BF16, FP32 = torch.float16, torch.bfloat16, torch.float32
BOOL, UINT8, INT64 = torch.bool, torch.uint8, torch.int64
DTYPES = {spelling: dtype for dtype, spelling in TYPES.items()}
INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
NAMED_DTYPES = {name: getattr(torch, name) for name in ("bool", *INTEGERS, "float16", "bfloat16", "float32", "float64")}
TABLE = torch.arange(30.0).reshape(10, 3)
BEYOND = 500  # beyond the bounds of most dynamic dimensions
LIMIT_S = 120
EMPTY_REFUSED = " is 0, but the model takes "

Entry = dict[str, Any]
Shape = tuple[int, ...]
Outcomes = dict[str, "Outcome"]


@dataclass(frozen=True)
class Row:
    """A package, its right config with entries in the order of the leaves, and what eager torch makes of its inputs.

    `shapes` makes the shapes of the inputs from each of `sizes`. `eager` takes `calls`, the number of calls before,
    where the model counts them. `takes_empty`: the model is made for sizes of 0.
    """

    package: str
    inputs: list[Entry]
    outputs: list[Entry]
    shapes: Callable[..., list[Shape]]
    sizes: list[Shape]
    eager: Callable[..., Sequence[torch.Tensor]]
    max_batch_size: int = 0
    is_counting: bool = False
    takes_empty: bool = True

    @property
    def ranks(self) -> list[int]:
        return [len(shape) for shape in self.shapes(*self.sizes[0])]

    def sent_shapes(self, sizes: Shape, inputs: Sequence[Entry]) -> tuple[Shape, ...]:
        """Return the shapes that a request has for entries of `input`."""
        of_leaf = self.shapes(*sizes)
        return tuple(of_leaf[self.leaf_of(entry["name"])] or (1,) for entry in inputs)

    def leaf_of(self, name: str) -> int:
        """Return the position of the leaf that a name means, by path or by ordinal."""
        _, _, ordinal = name.partition("__")
        paths = [entry["name"] for entry in (self.outputs if "RESULT" in name else self.inputs)]
        return int(ordinal) if ordinal else paths.index(name)


def writes(x: torch.Tensor, y: torch.Tensor) -> Sequence[torch.Tensor]:
    return ((x + 1) * 2 + y,)


def counts(x: torch.Tensor, y: torch.Tensor, calls: int) -> Sequence[torch.Tensor]:
    return (x + 1) * y, y + torch.tensor([1.0, 2.0]) * (calls + 1) + torch.tensor([0.0, 5.0])


def convolves(image: torch.Tensor, rows: torch.Tensor) -> Sequence[torch.Tensor]:
    torch.manual_seed(0)
    return torch.nn.Conv2d(3, 4, 3)(image + torch.arange(3.0).reshape(3, 1, 1)), rows * torch.arange(4.0)


def attends(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> Sequence[torch.Tensor]:
    return (torch.softmax(query @ key.transpose(1, 2), -1) @ value,)


def picks(b: torch.Tensor, a: torch.Tensor, five: torch.Tensor, three: torch.Tensor) -> Sequence[torch.Tensor]:
    return b + 10 * a, three + 100 * five


ROWS = [
    Row(
        "typed",
        [
            tensor_config("KWARGS[half]", FP16, (3,)),
            tensor_config("KWARGS[brain]", BF16, (3,)),
            tensor_config("KWARGS[mask]", BOOL, (3,)),
            tensor_config("KWARGS[pixels]", UINT8, (3,)),
            tensor_config("KWARGS[ids]", INT64, (2,)),
        ],
        [
            tensor_config("RESULT[0]", FP16, (3,)),
            tensor_config("RESULT[1]", BF16, (3,)),
            tensor_config("RESULT[2]", UINT8, (3,)),
            tensor_config("RESULT[3]", FP32, (2,)),
        ],
        shapes=lambda b: [(b, 3), (b, 3), (b, 3), (b, 3), (b, 2)],
        sizes=[(1,), (2,), (4,)],
        eager=lambda half, brain, mask, pixels, ids: (
            half * 2,
            brain + 1,
            torch.where(mask, pixels, pixels + 1),
            TABLE[ids].sum(-1),
        ),
        max_batch_size=4,
    ),
    Row(
        "scalar_inputs",
        [
            tensor_config("ARGS[0]", dims=(-1,)),
            tensor_config("ARGS[1]", dims=(1,)),
            tensor_config("ARGS[2]", dims=(-1, -1)),
        ],
        [
            tensor_config("RESULT[0]", dims=(-1,)),
            tensor_config("RESULT[1]", dims=(1,)),
            tensor_config("RESULT[2]", dims=(1,)),
        ],
        shapes=lambda n, u, m: [(n,), (), (u, m)],
        sizes=[(4, 5, 3), (1, 1, 1), (7, 2, 6)],
        eager=lambda x, k, _: (x * k, x.sum(), k + 1),
    ),
    Row(
        "aliases",
        [tensor_config("ARGS[0]", dims=(4,)), tensor_config("ARGS[1]", dims=(-1, 3))],
        [
            tensor_config("RESULT[0]", dims=(4,)),
            tensor_config("RESULT[1]", dims=(2,)),
            tensor_config("RESULT[2]", dims=(4,)),
            tensor_config("RESULT[3]", dims=(-1,)),
        ],
        shapes=lambda b, m: [(b, 4), (b, m, 3)],
        sizes=[(1, 2), (3, 1), (4, 6)],
        eager=lambda x, _: (x, x[:, :2], x + 1, x + 1),
        max_batch_size=4,
    ),
    Row(
        "relations",
        [
            tensor_config("ARGS[0]"),
            tensor_config("ARGS[1]"),
            tensor_config("KWARGS[longer]"),
            tensor_config("KWARGS[table]", dims=(-1, -1)),
            tensor_config("KWARGS[quads]"),
        ],
        [
            tensor_config("RESULT[0]"),
            tensor_config("RESULT[1]"),
            tensor_config("RESULT[2]", dims=(-1, -1)),
            tensor_config("RESULT[3]", dims=(-1, 4)),
        ],
        shapes=lambda n, m, q: [(n,), (2 * n,), (n + 1,), (m, n), (4 * q,)],
        sizes=[(3, 5, 2), (1, 1, 1), (6, 2, 3)],
        eager=lambda a, twice, longer, table, quads: (
            torch.cat([a, a]) + twice,
            a + longer[1:],
            table * a,
            quads.view(-1, 4) + 1,
        ),
    ),
    Row(
        "sum_of_two",
        [tensor_config(f"ARGS[{i}]") for i in range(3)],
        [tensor_config("RESULT")],
        shapes=lambda n, m: [(n,), (m,), (n + m,)],
        sizes=[(3, 4), (1, 1), (2, 6)],
        eager=lambda x, y, both: (torch.cat([x, y]) + both,),
    ),
    Row(
        "attention",
        [tensor_config(f"ARGS[{i}]", dims=(-1, 4)) for i in range(3)],
        [tensor_config("RESULT", dims=(-1, 4))],
        shapes=lambda b, n, m: [(b, n, 4), (b, m, 4), (b, m, 4)],
        sizes=[(2, 5, 7), (1, 1, 1), (4, 6, 2)],
        eager=attends,
        max_batch_size=4,
    ),
    Row(
        "laid_out",
        [tensor_config("ARGS[0]", dims=(3, -1, -1)), tensor_config("ARGS[1]", dims=(4,))],
        [tensor_config("RESULT[0]", dims=(4, -1, -1)), tensor_config("RESULT[1]", dims=(4,))],
        shapes=lambda b, h, w: [(b, 3, h, w), (b, 4)],
        sizes=[(2, 8, 8), (1, 5, 9), (4, 3, 6)],
        eager=convolves,
        max_batch_size=4,
    ),
    Row(
        "counting",
        [tensor_config("ARGS[0]", dims=(2,)), tensor_config("ARGS[1]", dims=(2,))],
        [tensor_config("RESULT[0]", dims=(2,)), tensor_config("RESULT[1]", dims=(2,))],
        shapes=lambda b: [(b, 2), (b, 2)],
        sizes=[(1,), (3,), (4,)],
        eager=counts,
        max_batch_size=4,
        is_counting=True,
    ),
    Row(
        "edges",
        [
            tensor_config("ARGS[0]", dims=(1, 3)),
            tensor_config("ARGS[1]", dims=(-1, 3)),
            tensor_config("ARGS[2]", dims=(-1, 3)),
        ],
        [
            tensor_config("RESULT[0]", dims=(-1, 3)),
            tensor_config("RESULT[1]", dims=(-1, 3)),
            tensor_config("RESULT[2]", dims=(3,)),
        ],
        shapes=lambda n: [(1, 3), (n, 3), (0, 3)],
        sizes=[(4,), (1,), (6,)],
        eager=lambda one, rows, none: (one + rows, torch.cat([none, rows]), rows.amax(0)),
        takes_empty=False,
    ),
    Row(
        "writes_to_its_input",  # a static batch of two rows
        [tensor_config("ARGS[0]", dims=(2, 3)), tensor_config("ARGS[1]", dims=(2, 3))],
        [tensor_config("RESULT", dims=(2, 3))],
        shapes=lambda: [(2, 3), (2, 3)],
        sizes=[()],
        eager=writes,
    ),
    Row(
        "keyword_trees",
        [
            tensor_config("KWARGS[options][b]", dims=(3,)),
            tensor_config("KWARGS[options][a][0]", dims=(3,)),
            tensor_config("KWARGS[table][5]", dims=(3,)),
            tensor_config("KWARGS[table][3]", dims=(3,)),
        ],
        [tensor_config("RESULT[0][sum]", dims=(3,)), tensor_config("RESULT[0][7]", dims=(3,))],
        shapes=lambda: [(3,)] * 4,
        sizes=[()],
        eager=picks,
    ),
    Row(
        "all_dtypes",
        [tensor_config(f"ARGS[0][{name}]", dtype, (4,)) for name, dtype in NAMED_DTYPES.items()],
        [tensor_config(f"RESULT[{name}]", dtype, (4,)) for name, dtype in NAMED_DTYPES.items()],
        shapes=lambda b: [(b, 4)] * len(NAMED_DTYPES),
        sizes=[(1,), (3,)],
        eager=lambda *inputs: [torch.cat([x[:, 2:], x[:, :2]], 1) for x in inputs],
        max_batch_size=4,
    ),
    Row(
        "unstated",
        [tensor_config(f"ARGS[{i}]") for i in range(3)],
        [tensor_config("RESULT[0]"), tensor_config("RESULT[1]", dims=(-1, 4))],
        shapes=lambda n, q: [(2 * n,), (n,), (4 * q,)],
        sizes=[(4, 3), (3, 1)],
        eager=lambda x, half, quads: (x[::2] + half, quads.view(-1, 4) + 1),
        takes_empty=False,
    ),
    Row(
        "fixed_rows",
        [tensor_config("ARGS[0]", dims=(-1, -1, 4)), tensor_config("ARGS[1]", dims=(-1, 3))],
        [tensor_config("RESULT[0]", dims=(-1, 4)), tensor_config("RESULT[1]", dims=(3,))],
        shapes=lambda b, n, m: [(b, n, 4), (m, 3)],
        sizes=[(1, 3, 4), (3, 1, 2)],
        eager=lambda tokens, rows: (tokens[:, 0] + tokens[:, -1], rows[1] * 2),
        takes_empty=False,
    ),
]


def a_tensor(data_type: str, shape: Shape, generator: torch.Generator) -> torch.Tensor:
    """Make random data that every dtype holds exactly, and that is an index into a table of ten."""
    dtype = DTYPES[data_type]
    if dtype.is_floating_point:
        return torch.randn(shape, generator=generator).to(dtype)
    return torch.randint(0, 2 if dtype is BOOL else 10, shape, generator=generator).to(dtype)


def as_sent(tensor: torch.Tensor) -> torch.Tensor:
    """Return the tensor as requests and responses have it: a single number has one dimension there."""
    return tensor.reshape(1) if tensor.dim() == 0 else tensor


def eager_results(row: Row, tensors: Sequence[torch.Tensor], calls: int) -> Sequence[torch.Tensor] | None:
    """Return what eager torch makes of the inputs, or None where it refuses them."""
    state = {"calls": calls} if row.is_counting else {}
    try:
        return row.eager(*(tensor.clone() for tensor in tensors), **state)
    except (RuntimeError, IndexError):
        return None


def is_equal(got: torch.Tensor, expected: torch.Tensor) -> bool:
    if got.dtype is not expected.dtype or got.shape != expected.shape:
        return False
    return torch.allclose(got, expected, 1e-4, 1e-4) if got.is_floating_point() else torch.equal(got, expected)


@dataclass(frozen=True)
class Change:
    """A config with one entry changed; the text of a refusal has to hold `subject`."""

    kind: str
    what: str
    subject: str
    inputs: list[Entry]
    outputs: list[Entry]
    max_batch_size: int
    allows_empty: bool = False

    @property
    def parameters(self) -> dict[str, str]:
        return {"ALLOW_EMPTY_INPUTS": "true"} if self.allows_empty else {}


def changes(row: Row) -> Iterator[Change]:
    """Yield the right config with one thing changed, each in turn."""
    size = row.max_batch_size
    for position, entry in enumerate(row.inputs):
        for kind, changed in changed_entries(row.inputs, position):
            inputs = [*row.inputs[:position], changed, *row.inputs[position + 1 :]]
            yield Change(kind, f"{entry} -> {changed}", changed["name"], inputs, row.outputs, size)
    for position, entry in enumerate(row.outputs):
        for kind, changed in changed_entries(row.outputs, position):
            outputs = [*row.outputs[:position], changed, *row.outputs[position + 1 :]]
            yield Change(kind, f"{entry} -> {changed}", changed["name"], row.inputs, outputs, size)
            if kind == "name":  # alone, another leaf's name is no second one for that leaf
                yield Change(kind, f"only {entry} -> {changed}", changed["name"], row.inputs, [changed], size)
    for position in range(1, len(row.inputs)):
        inputs = swapped_names(row.inputs, position)
        yield Change("name", f"names swapped at {position}", "ARGS", inputs, row.outputs, size)
    yield Change("batch", "0 <-> 4", "dims", row.inputs, row.outputs, 0 if size else 4)
    if size:
        inputs, outputs = with_batch_in_dims(row.inputs), with_batch_in_dims(row.outputs)
        yield Change("batch", "in dims", "dims", inputs, outputs, 0)
    if any(row.sizes):
        yield Change("empty", "not allowed", "", row.inputs, row.outputs, size)
    if any(row.sizes) and row.takes_empty:
        yield Change("empty", "allowed", "", row.inputs, row.outputs, size, allows_empty=True)


def changed_entries(entries: list[Entry], position: int) -> Iterator[tuple[str, Entry]]:
    entry = entries[position]
    dims, name, direction = entry["dims"], entry["name"], "OUTPUT" if "RESULT" in entry["name"] else "INPUT"
    for number, size in enumerate(dims):
        for other in (1, 2, 3, 6, BEYOND) if size == -1 else (size + 1, size - 1, -1):
            yield "dim", {**entry, "dims": [*dims[:number], other, *dims[number + 1 :]]}
    for data_type in (*DTYPES, "TYPE_STRING"):
        if data_type != entry["data_type"]:
            yield "dtype", {**entry, "data_type": data_type}
    for other in ([*dims, 1], [-1, *dims], *([dims[:-1]] if len(dims) > 1 else [])):  # core refuses empty dims
        yield "rank", {**entry, "dims": other}
    others = {other["name"] for other in entries} - {name}
    wrong_indices = [f"{text}__{position + 1}" for text in (direction, "tensor", *owners(name))]
    for renamed in (*sorted(others), name.replace("[", "[x"), name.lower(), *wrong_indices):
        if renamed != name:
            yield "name", {**entry, "name": renamed}
    for text in (direction, "tensor", *owners(name)):
        yield "index", {**entry, "name": f"{text}__{position}"}


def owners(path: str) -> list[str]:
    """Return the argument or the entry of the result that a path leads into, where it has a name."""
    root, _, key = path.partition("]")[0].partition("[")
    return [key] if root != "ARGS" and key and not key.isdecimal() else []


def swapped_names(entries: list[Entry], position: int) -> list[Entry]:
    changed = list(entries)
    changed[position] = {**entries[position], "name": entries[position - 1]["name"]}
    changed[position - 1] = {**entries[position - 1], "name": entries[position]["name"]}
    return changed


def with_batch_in_dims(entries: list[Entry]) -> list[Entry]:
    return [{**entry, "dims": [-1, *entry["dims"]]} for entry in entries]


@dataclass
class Outcome:
    """What came of the changed configs of one row: how many of each kind, and every third outcome in words."""

    counts: Counter[str] = field(default_factory=Counter)
    third: list[str] = field(default_factory=list)


def try_changes(packages: Sequence[str]) -> Outcomes:
    """Try every change of the rows of these packages, in a process of its own; another one goes on where it dies."""
    outcomes: Outcomes = {}
    waiting = list(packages)
    while waiting:
        code, lines = _run_child(waiting)
        for line in lines:
            document = json.loads(line)
            outcomes[waiting.pop(0)] = Outcome(Counter(document["counts"]), document["third"])
        if waiting:
            assert code < 0, "expected to be killed or to end: see its traceback above"
            outcomes[waiting.pop(0)] = Outcome(third=[f"the process died of {signal.Signals(-code).name}"])
    return outcomes


def _run_child(packages: Sequence[str]) -> tuple[int, list[str]]:
    script = (
        "import runpy, sys; runpy.run_path(sys.argv[1]);"
        "from triton_pytorch.tests.integration.matrix import main; main(sys.argv[2:])"
    )
    command = [sys.executable, "-c", script, str(ROOT / "tests" / "conftest.py"), *packages]
    with tempfile.TemporaryDirectory() as store:
        environment = {**os.environ, "TRITON_PYTORCH_STORE": str(Path(store) / "store")}
        child = subprocess.run(
            command, stdout=subprocess.PIPE, text=True, timeout=LIMIT_S, env=environment, check=False
        )
    return child.returncode, child.stdout.splitlines()


def main(packages: Sequence[str]) -> None:
    """Print the outcome of each row as a line of JSON, as soon as it is known."""
    torch.set_num_threads(1)  # eager's; small tensors are slower with more
    for package in packages:
        row = next(row for row in ROWS if row.package == package)
        print(json.dumps(vars(_outcome(row))), flush=True)


def _outcome(row: Row) -> Outcome:
    with open_model_file(package_path(row.package)) as file:
        attempts = Attempts(row, describe(file, Parameters(), CPU))
        for change in changes(row):
            attempts.attempt(change)
    return attempts.outcome


class Attempts:
    """Serves one changed config after another, and counts what comes of it by kind."""

    def __init__(self, row: Row, description: PackageDescription) -> None:
        self.outcome = Outcome()
        self._row = row
        self._description = description
        self._calls: list[int] = []  # of the package under all configs: it may count them
        self._generator = torch.Generator().manual_seed(0)

    def attempt(self, change: Change) -> None:
        try:
            outcome = self._outcome(change)
        except ThirdOutcomeError as error:
            self.outcome.third.append(f"{change.kind} {change.what}: {error}")
            outcome = "third"
        self.outcome.counts[f"{change.kind}: {outcome}"] += 1

    def _outcome(self, change: Change) -> str:
        try:
            loop = self._loaded(change)
        except BackendError as error:
            if "\n" in str(error) or change.subject not in str(error):
                raise ThirdOutcomeError(f"refused with a text that does not name it: {error}") from error
            return "refused"
        except Exception as error:
            raise ThirdOutcomeError(f"refused with an error that is not ours: {error!r}") from error
        answered = [self._is_answered(loop, change, request) for request in requests(self._row, change)]
        return "right" if any(answered) else "every request refused"

    def _loaded(self, change: Change) -> RunLoop:
        config = model_config(
            change.inputs, change.outputs, max_batch_size=change.max_batch_size, parameters=change.parameters
        )
        plan = bind(read_config(json.dumps({"name": "m", **config})), self._description.signature)
        package = open_package(self._description, plan.leaves, RunMode())
        model = FunctionModel(lambda *leaves: package.run([*leaves]), package.device, package.session, self._calls)
        return RunLoop(plan, model, fake_triton.names(), "1")

    def _is_answered(self, loop: RunLoop, change: Change, request: "Request") -> bool:
        """Return whether a request is answered right; False where it is refused, as it has to be."""
        tensors = [
            a_tensor(entry["data_type"], shape, self._generator)
            for entry, shape in zip(change.inputs, request.shapes, strict=True)
        ]
        expected = self._expected(change, tensors)
        sent = [
            fake_triton.Tensor(entry["name"], fake_triton.unaligned(tensor))
            for entry, tensor in zip(change.inputs, tensors, strict=True)
        ]
        (response,) = loop.execute([fake_triton.InferenceRequest(sent, [entry["name"] for entry in change.outputs])])
        if response.error() is not None:
            text = response.error().message()
            if request.is_right and expected is not None and is_declared(expected, change):
                raise ThirdOutcomeError(f"a right request {request.shapes} is refused: {text}")
            if not text.startswith("model 'm': ") or "\n" in text:
                raise ThirdOutcomeError(f"{request.shapes} fails with a text that is not ours: {text}")
            if request.is_empty and not change.allows_empty and EMPTY_REFUSED not in text:
                raise ThirdOutcomeError(f"{request.shapes} is refused, but not for a size of 0: {text}")
            return False
        answer = {tensor.name(): tensor.data for tensor in response.output_tensors()}
        if request.is_empty and not change.allows_empty:
            raise ThirdOutcomeError(f"{request.shapes} is answered, though no size of 0 is allowed")
        if expected is None:
            raise ThirdOutcomeError(f"{request.shapes} is answered, where eager torch refuses it")
        if not is_declared(expected, change):
            raise ThirdOutcomeError(f"{request.shapes} is answered with another type or shape than declared")
        wrong = [name for name, tensor in expected.items() if not is_equal(answer[name], tensor)]
        if wrong:
            raise ThirdOutcomeError(f"{request.shapes} gets wrong values of {wrong}")
        return True

    def _expected(self, change: Change, tensors: Sequence[torch.Tensor]) -> dict[str, torch.Tensor] | None:
        """Return eager torch's outputs by their names, None where it refuses the inputs."""
        leaves = dict(zip((self._row.leaf_of(entry["name"]) for entry in change.inputs), tensors, strict=True))
        in_order = [
            tensor.reshape(()) if rank == 0 and tensor.shape == (1,) else tensor
            for rank, (_, tensor) in zip(self._row.ranks, sorted(leaves.items()), strict=True)
        ]
        results = eager_results(self._row, in_order, len(self._calls))
        if results is None:
            return None
        return {entry["name"]: as_sent(results[self._row.leaf_of(entry["name"])]) for entry in change.outputs}


def is_declared(results: dict[str, torch.Tensor], change: Change) -> bool:
    """Return whether eager's results are what the config declares of them."""
    return all(
        entry["data_type"] == TYPES[results[entry["name"]].dtype]
        and is_admitted(tuple(results[entry["name"]].shape), declared_shape(entry, change))
        for entry in change.outputs
    )


@dataclass(frozen=True)
class Request:
    """The shapes to send, in the order of the config.

    `is_right`: they are those of the row. `is_empty`: there is a size of 0 where the row has another.
    """

    shapes: tuple[Shape, ...]
    is_right: bool
    is_empty: bool = False


def requests(row: Row, change: Change) -> set[Request]:
    """Make requests that the config admits: right ones where it does, and those with one dynamic size changed."""
    if change.kind == "empty":
        return set(empty_requests(row, is_right=change.allows_empty))
    made = set()
    for sizes in row.sizes:
        right = row.sent_shapes(sizes, change.inputs)
        declared = [declared_shape(entry, change) for entry in change.inputs]
        shapes = tuple(map(admitted, right, declared))
        made.add(Request(shapes, shapes == right))
        if change.inputs is row.inputs:  # the config admits what it admitted before
            continue
        is_batched = change.max_batch_size > 0
        for position, dims in enumerate(declared):
            for number in range(1 if is_batched else 0, len(dims)):
                size = shapes[position][number]
                for other in {0, 1, abs(size - 1), size + 1} if dims[number] == -1 else ():
                    shape = (*shapes[position][:number], other, *shapes[position][number + 1 :])
                    made.add(Request((*shapes[:position], shape, *shapes[position + 1 :]), False))
    return made


def empty_requests(row: Row, *, is_right: bool) -> Iterator[Request]:
    """Yield requests in which all is right but that one of the row's sizes is 0."""
    for sizes in row.sizes:
        for position in range(len(sizes)):
            emptied = (*sizes[:position], 0, *sizes[position + 1 :])
            yield Request(row.sent_shapes(emptied, row.inputs), is_right, is_empty=True)


def declared_shape(entry: Entry, change: Change) -> Shape:
    return (-1, *entry["dims"]) if change.max_batch_size else tuple(entry["dims"])


def is_admitted(shape: Shape, declared: Shape) -> bool:
    return len(shape) == len(declared) and all(other in (-1, size) for size, other in zip(shape, declared, strict=True))


def admitted(shape: Shape, declared: Shape) -> Shape:
    """Return the shape, changed where the config does not admit it."""
    if len(shape) != len(declared):
        return tuple(2 if size == -1 else size for size in declared)
    return tuple(size if other == -1 else other for size, other in zip(shape, declared, strict=True))


class ThirdOutcomeError(Exception):
    """A config or a request that was neither refused in one sentence nor answered right."""
