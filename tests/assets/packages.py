"""Compiled packages that tests and benchmarks serve: compiled once, and again when builder, torch or CPU change.

`python tests/assets/packages.py NAME=PATH ...` compiles in a process of its own, so that inductor stays out of the
tests; `package_path(NAME)` calls it where the cache has no such package. Without arguments it compiles all that the
tests serve and that is missing, which `make test` does first: faster than one after the other.
"""

import hashlib
import inspect
import os
import platform
import runpy
import subprocess
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
CACHE = Path(os.environ.get("TRITON_PYTORCH_TEST_CACHE", ROOT / ".cache" / "packages"))
NESTED_EXAMPLE = ROOT / "examples" / "nested"
REAL_MODELS = ROOT / "tests" / "assets" / "real_models.py"
HUGGINGFACE = ROOT / "tests" / "assets" / "huggingface.py"
# Where the model of a builder is defined, unless that is the builder itself.
MODULES = {
    "nested": NESTED_EXAMPLE / "nested_model.py",
    "small_resnet": REAL_MODELS,
    "small_encoder": REAL_MODELS,
    "bert": HUGGINGFACE,
    "gpt2": HUGGINGFACE,
}
# What only benchmarks load; they compile it themselves.
OF_BENCHMARKS = ("add_sub", "linear_65_mb", "mlp", "small_encoder", "small_resnet")
_COMPILE_LIMIT_S = 1200
_COMPILERS = 2

Builder = Callable[[Path], None]
BUILDERS: dict[str, Builder] = {}


def builder(build: Builder) -> Builder:
    """Add a builder to the table, under the function's name."""
    BUILDERS[build.__name__] = build
    return build


def package_path(name: str) -> Path:
    """Return the path of a compiled package, compiling it first where that was not done before."""
    return package_paths([name])[name]


def package_paths(names: Iterable[str]) -> dict[str, Path]:
    """Return the paths of compiled packages; the missing ones are compiled in a process for each of two cores."""
    paths = {name: CACHE / f"{name}-{_key(BUILDERS[name])}.pt2" for name in names}
    missing = [f"{name}={path}" for name, path in paths.items() if not path.exists()]
    if missing:
        CACHE.mkdir(parents=True, exist_ok=True)
        names = ", ".join(argument.partition("=")[0] for argument in missing)
        announce(f"compiling {names} (5 to 40 s each, kept in {CACHE})")
        with ThreadPoolExecutor(_COMPILERS) as pool:
            list(pool.map(_compile, [part for i in range(_COMPILERS) if (part := missing[i::_COMPILERS])]))
    return paths


def _compile(arguments: list[str]) -> None:
    command = [sys.executable, "-W", "ignore", __file__, *arguments]
    subprocess.run(command, check=True, timeout=_COMPILE_LIMIT_S, cwd=CACHE)


def announce(text: str) -> None:
    """Tell the user why it takes so long; tests/conftest.py puts pytest's terminal in place of this."""
    print(text, flush=True)


def _key(build: Builder) -> str:
    module_file = MODULES.get(build.__name__)
    model = module_file.read_text(encoding="utf-8") if module_file else ""
    source = inspect.getsource(build) + inspect.getsource(compile_to) + model
    machine = f"{platform.machine()} {_cpu_flags()}"
    return hashlib.sha256(f"{source}|{version('torch')}|{sys.version_info[:2]}|{machine}".encode()).hexdigest()[:16]


def _cpu_flags() -> str:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    return next((line for line in lines if line.startswith("flags")), "")


def module(forward: Callable[..., Any], **attributes: Any) -> Any:
    """Make an nn.Module of a function whose first argument is the module."""
    import torch

    model = type("Model", (torch.nn.Module,), {"forward": forward})()
    for name, value in attributes.items():
        setattr(model, name, value)
    return model


def compile_to(
    path: Path,
    model: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    inductor_configs: dict[str, Any] | None = None,
) -> None:
    """Export and compile a module into a package."""
    import torch

    program = torch.export.export(model.eval(), args, kwargs, dynamic_shapes=dynamic_shapes)
    torch._inductor.aoti_compile_and_package(program, package_path=str(path), inductor_configs=inductor_configs)


@builder
def nested(path: Path) -> None:
    runpy.run_path(str(NESTED_EXAMPLE / "nested_model.py"))["build_package"](path)


@builder
def all_dtypes(path: Path) -> None:
    """Every dtype that Triton and torch share, each turned around, so that no output is its input."""
    import torch

    integers = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
    names = ["bool", *integers, "float16", "bfloat16", "float32", "float64"]
    inputs = {name: torch.zeros(2, 4).to(getattr(torch, name)) for name in names}
    batch = {0: torch.export.Dim("batch")}
    compile_to(
        path,
        module(lambda self, d: {name: torch.cat([x[:, 2:], x[:, :2]], 1) for name, x in d.items()}),
        (inputs,),
        dynamic_shapes=(dict.fromkeys(names, batch),),
    )


@builder
def keyword_trees(path: Path) -> None:
    """Keyword-only, with nested, empty and oddly keyed containers; the result is a tuple of one."""
    import torch

    def forward(self: Any, *, options: Any, table: Any, empty: Any) -> Any:
        first, (second,) = options["b"], options["a"]
        result = {"sum": first + 10 * second, 7: table[3] + 100 * table[5]}
        return (OrderedDict(sorted(result.items(), key=str)),)

    x = torch.ones(3)
    kwargs = {"options": {"b": x, "a": (x + 1,)}, "table": OrderedDict([(5, x + 2), (3, x + 3)]), "empty": {}}
    compile_to(path, module(forward), (), kwargs)


@builder
def scalars(path: Path) -> None:
    """A 0-d result, a zero-size result, a transposed and an expanded one."""
    import torch

    open_length = {0: torch.export.Dim("length", min=1, max=1000)}
    compile_to(
        path,
        module(lambda self, x: (x.sum(), x[:0], (x + 1).reshape(1, -1).expand(3, -1).t(), x)),
        (torch.arange(4.0),),
        dynamic_shapes=(open_length,),
    )


@builder
def writes_to_its_input(path: Path) -> None:
    import torch

    def forward(self: Any, x: Any, y: Any) -> Any:
        x.add_(1)
        return x * 2 + y

    compile_to(path, module(forward), (torch.randn(2, 3), torch.randn(2, 3)))


@builder
def reduces_the_batch(path: Path) -> None:
    import torch

    model = module(lambda self, x: (x.mean(0, keepdim=True), x.sum(), x + 1))
    compile_to(path, model, (torch.randn(4, 3),), dynamic_shapes=({0: torch.export.Dim("batch", min=1)},))


@builder
def looks_up(path: Path) -> None:
    """Rows of a small table by index; an index out of range raises, where a larger kernel would abort."""
    import torch

    compile_to(path, module(lambda self, index: self.table[index], table=torch.arange(10.0)), (torch.tensor([1, 2]),))


@builder
def divides(path: Path) -> None:
    """Whole numbers by others; a zero among these is an error of the compiled code, with the place of its source."""
    import torch

    x, y = torch.tensor([6, 8]), torch.tensor([2, 3])
    compile_to(path, module(lambda self, x, y: x // y), (x, y))


@builder
def weights_beside_the_library(path: Path) -> None:
    """Tied weights, a transposed half-precision buffer, and a buffer that the model writes to."""
    import torch

    torch.manual_seed(0)
    linear = torch.nn.Linear(64, 64)

    def forward(self: Any, x: Any) -> Any:
        self.calls.add_(torch.tensor([1.0, 2.0]))
        return self.linear(x) + self.rows.sum(0) + self.scale.float().sum(), self.calls + 0

    model = module(forward, linear=linear, rows=torch.nn.Parameter(linear.weight.detach()[3:5]))
    model.register_buffer("calls", torch.tensor([0.0, 5.0]))
    model.register_buffer("scale", torch.arange(15, dtype=torch.float16).reshape(3, 5).t())
    compile_to(
        path,
        model,
        (torch.randn(2, 64),),
        dynamic_shapes=({0: torch.export.Dim("batch")},),
        inductor_configs={
            "aot_inductor.package_constants_in_so": False,
            "aot_inductor.package_constants_on_disk_format": "pickle_weights",
        },
    )


@builder
def without_its_weights(path: Path) -> None:
    import torch

    compile_to(
        path,
        torch.nn.Linear(8, 8),
        (torch.randn(2, 8),),
        inductor_configs={"aot_inductor.package_constants_in_so": False},
    )


@builder
def weights_in_a_blob(path: Path) -> None:
    import torch

    torch.manual_seed(3)
    in_a_blob = {
        "aot_inductor.package_constants_in_so": False,
        "aot_inductor.package_constants_on_disk_format": "binary_blob",
    }
    compile_to(path, torch.nn.Linear(8, 8), (torch.randn(2, 8),), inductor_configs=in_a_blob)


@builder
def none_argument(path: Path) -> None:
    import torch

    def forward(self: Any, x: Any, skipped: Any, y: Any) -> Any:
        return x - y

    compile_to(path, module(forward), (torch.ones(3), None, torch.ones(3)))


@builder
def two_models(path: Path) -> None:
    """Two models in one package, neither named "model"."""
    import torch
    from torch._inductor.package.package import package_aoti

    def files(forward: Any) -> Any:
        x = torch.ones(3)
        program = torch.export.export(module(forward), (x,))
        return torch._inductor.aot_compile(program.module(), (x,), options={"aot_inductor.package": True})

    package_aoti(str(path), {"doubles": files(lambda self, x: x * 2), "squares": files(lambda self, x: x * x)})


@builder
def linear_65_mb(path: Path) -> None:
    """A linear layer of 4096 x 4096 float32 weights (64 MiB) inside its library, as torch packages them by default."""
    import torch

    batch = {0: torch.export.Dim("batch", min=1, max=64)}
    compile_to(path, torch.nn.Linear(4096, 4096), (torch.randn(2, 4096),), dynamic_shapes=(batch,))


@builder
def typed(path: Path) -> None:
    """Inputs of fp16, bf16, bool, uint8 and int64 in one batch; the ids look up rows of a table of ten."""
    import torch

    def forward(self: Any, *, half: Any, brain: Any, mask: Any, pixels: Any, ids: Any) -> Any:
        return half * 2, brain + 1, torch.where(mask, pixels, pixels + 1), self.table[ids].sum(-1)

    model = module(forward)
    model.register_buffer("table", torch.arange(30.0).reshape(10, 3))
    kwargs = {
        "half": torch.ones(2, 3, dtype=torch.float16),
        "brain": torch.ones(2, 3, dtype=torch.bfloat16),
        "mask": torch.ones(2, 3, dtype=torch.bool),
        "pixels": torch.ones(2, 3, dtype=torch.uint8),
        "ids": torch.ones(2, 2, dtype=torch.int64),
    }
    batch = torch.export.Dim("batch")
    compile_to(path, model, (), kwargs, dynamic_shapes={name: {0: batch} for name in kwargs})


@builder
def scalar_inputs(path: Path) -> None:
    """A 0-d input between one that is read and one that is not."""
    import torch

    n, m = torch.export.Dim("n", min=1, max=1000), torch.export.Dim("m", min=1, max=500)
    compile_to(
        path,
        module(lambda self, x, k, unused: (x * k, x.sum(), k + 1)),
        (torch.randn(4), torch.tensor(2.0), torch.randn(5, 3)),
        dynamic_shapes=({0: n}, {}, {0: torch.export.Dim("u", min=1, max=64), 1: m}),
    )


@builder
def aliases(path: Path) -> None:
    """Outputs that are the input, a view of it, and one tensor twice; and an input that is not read."""
    import torch

    def forward(self: Any, x: Any, unused: Any) -> Any:
        y = x + 1
        return x, x[:, :2], y, y

    batch, m = torch.export.Dim("batch"), torch.export.Dim("m", min=1, max=500)
    compile_to(
        path,
        module(forward),
        (torch.randn(2, 4), torch.randn(2, 5, 3)),
        dynamic_shapes=({0: batch}, {0: batch, 1: m}),
    )


@builder
def relations(path: Path) -> None:
    """Dynamic dimensions that are equal, twice another, one more than another, and a multiple of four."""
    import torch

    def forward(self: Any, a: Any, twice: Any, *, longer: Any, table: Any, quads: Any) -> Any:
        return torch.cat([a, a]) + twice, a + longer[1:], table * a, quads.view(-1, 4) + 1

    n, m = torch.export.Dim("n", min=1, max=100), torch.export.Dim("m", min=1, max=50)
    q = torch.export.Dim("q", min=1, max=100)
    compile_to(
        path,
        module(forward),
        (torch.randn(3), torch.randn(6)),
        {"longer": torch.randn(4), "table": torch.randn(5, 3), "quads": torch.randn(8)},
        dynamic_shapes={
            "a": {0: n},
            "twice": {0: 2 * n},
            "longer": {0: n + 1},
            "table": {0: m, 1: n},
            "quads": {0: 4 * q},
        },
    )


@builder
def sum_of_two(path: Path) -> None:
    """A dynamic dimension that the exporter found to be the sum of two others."""
    import torch

    compile_to(
        path,
        module(lambda self, x, y, both: torch.cat([x, y]) + both),
        (torch.randn(3), torch.randn(4), torch.randn(7)),
        dynamic_shapes=({0: torch.export.Dim.AUTO},) * 3,
    )


@builder
def attention(path: Path) -> None:
    """A batch, and two lengths of which one is shared by two inputs."""
    import torch

    def forward(self: Any, query: Any, key: Any, value: Any) -> Any:
        return torch.softmax(query @ key.transpose(1, 2), -1) @ value

    batch, n, m = torch.export.Dim("batch"), torch.export.Dim("n", max=1000), torch.export.Dim("m", max=500)
    compile_to(
        path,
        module(forward),
        (torch.randn(2, 5, 4), torch.randn(2, 7, 4), torch.randn(2, 7, 4)),
        dynamic_shapes=({0: batch, 1: n}, {0: batch, 1: m}, {0: batch, 1: m}),
    )


@builder
def laid_out(path: Path) -> None:
    """An image in channels_last, and a transposed matrix, both read by kernels that count on it.

    The exporter makes up a bound of 15 for the batch, because of the convolution.
    """
    import torch

    torch.manual_seed(0)
    model = module(lambda self, image, rows: (self.convolution(image + self.shift), rows * self.factors))
    model.convolution = torch.nn.Conv2d(3, 4, 3)
    model.register_buffer("shift", torch.arange(3.0).reshape(3, 1, 1))
    model.register_buffer("factors", torch.arange(4.0))
    auto, batch = torch.export.Dim.AUTO, torch.export.Dim("batch")
    compile_to(
        path,
        model,
        (torch.randn(2, 3, 8, 8).to(memory_format=torch.channels_last), torch.randn(4, 2).t()),
        dynamic_shapes=({0: batch, 2: auto, 3: auto}, {0: batch}),
    )


@builder
def counting(path: Path) -> None:
    """A model that writes to its input and to a buffer, which counts over requests."""
    import torch

    def forward(self: Any, x: Any, y: Any) -> Any:
        x.add_(1)
        self.calls.add_(torch.tensor([1.0, 2.0]))
        return x * y, y + self.calls

    model = module(forward)
    model.register_buffer("calls", torch.tensor([0.0, 5.0]))
    batch = {0: torch.export.Dim("batch")}
    compile_to(path, model, (torch.randn(3, 2), torch.randn(3, 2)), dynamic_shapes=(batch, batch))


@builder
def edges(path: Path) -> None:
    """Fixed sizes of 1 and 0, and a maximum, which nothing at all does not have."""
    import torch

    compile_to(
        path,
        module(lambda self, one, rows, none: (one + rows, torch.cat([none, rows]), rows.amax(0))),
        (torch.randn(1, 3), torch.randn(4, 3), torch.randn(0, 3)),
        dynamic_shapes=({}, {0: torch.export.Dim("n", max=1000)}, {}),
    )


@builder
def fixed_rows(path: Path) -> None:
    """The first and the last token, and the second row: none of them is there for every dynamic size."""
    import torch

    n, m = torch.export.Dim("n", max=1000), torch.export.Dim("m", max=500)
    compile_to(
        path,
        module(lambda self, tokens, rows: (tokens[:, 0] + tokens[:, -1], rows[1] * 2)),
        (torch.randn(2, 5, 4), torch.randn(4, 3)),
        dynamic_shapes=({0: torch.export.Dim("batch"), 1: n}, {0: m}),
    )


@builder
def unstated(path: Path) -> None:
    """Relations that the exporter finds and the package does not state: half another, a multiple of four."""
    import torch

    compile_to(
        path,
        module(lambda self, x, half, quads: (x[::2] + half, quads.view(-1, 4) + 1)),
        (torch.randn(8), torch.randn(4), torch.randn(12)),
        dynamic_shapes=({0: torch.export.Dim.AUTO},) * 3,
    )


@builder
def ragged(path: Path) -> None:
    """Requests of any length, flat, with where each ends and how long it is; what comes back is a row each, or flat.

    Values are picked by comparison: an index out of range could end the process. For the sums, inductor makes up a
    bound of 4096 values.
    """
    import torch

    def forward(self: Any, *, values: Any, ends: Any, shapes: Any, scale: Any) -> Any:
        starts, stops = ends[:-1].unsqueeze(1), ends[1:].unsqueeze(1)
        positions = torch.arange(values.shape[0])
        own = torch.where((starts <= positions) & (positions < stops), values, 0.0)
        return {
            "sums": own.sum(1, keepdim=True) * scale,
            "lengths": 2 * shapes - (stops - starts),
            "doubled": 2 * values,
        }

    rows, total = torch.export.Dim("rows", max=1000), torch.export.Dim("total", max=100_000)
    compile_to(
        path,
        module(forward),
        (),
        {
            "values": torch.randn(7),
            "ends": torch.tensor([0, 2, 2, 7], dtype=torch.int32),
            "shapes": torch.tensor([[2], [0], [5]], dtype=torch.int32),
            "scale": torch.randn(3, 1),
        },
        dynamic_shapes={"values": {0: total}, "ends": {0: rows + 1}, "shapes": {0: rows}, "scale": {0: rows}},
    )


@builder
def first_rows(path: Path) -> None:
    """Adds the first rows of a table to its batch, each [1, 2]; it has 16, a bound that is real."""
    import torch

    model = module(lambda self, x: self.table[: x.shape[0]] + x)
    model.register_buffer("table", torch.tensor([[1.0, 2.0]]).repeat(16, 1))
    compile_to(path, model, (torch.randn(3, 2),), dynamic_shapes=({0: torch.export.Dim("batch", max=16)},))


@builder
def fixed_widths(path: Path) -> None:
    """A width that torch fixes at 8 though it was exported as any even one, and one that stands as the half of another.

    `rows` is read through a view alone, of a width that the code works out of its own.
    """
    import torch

    def forward(self: Any, x: Any, rows: Any, half: Any) -> Any:
        return torch.nn.functional.glu(x, 1), rows[:, : half.shape[1]], half + 1

    batch, width, k = torch.export.Dim("batch"), torch.export.Dim("width", max=500), torch.export.Dim("k", max=500)
    example = torch.randn(3, 8), torch.randn(3, 6), torch.randn(3, 3)
    dynamic_shapes = {0: batch, 1: 2 * width}, {0: batch, 1: 2 * k}, {0: batch, 1: k}
    compile_to(path, module(forward), example, dynamic_shapes=dynamic_shapes)


@builder
def scatters(path: Path) -> None:
    """The largest of each row's values that go to a place; torch 2.13 does not look at the operator's errors."""
    import torch

    batch = {0: torch.export.Dim("batch")}
    model = module(lambda self, x, index, values: x.scatter_reduce(1, index, values, "amax"))
    example = torch.randn(3, 4), torch.ones(3, 2, dtype=torch.int64), torch.randn(3, 2)
    compile_to(path, model, example, dynamic_shapes=(batch, batch, batch))


@builder
def custom_operators(path: Path) -> None:
    """Two operators that are not torch's, one of them an overload, and one of torch's that has no C function."""
    import torch

    for name, arguments in (("twice", "(Tensor x)"), ("shifted.by", "(Tensor x, int k)")):
        torch.library.define(f"test_operators::{name}", f"{arguments} -> Tensor")
        torch.library.register_fake(f"test_operators::{name}", lambda x, k=0: torch.empty_like(x))
    operators = torch.ops.test_operators
    model = module(lambda self, x: (operators.twice(x), operators.shifted.by(x, 3), torch.unique(x)))
    compile_to(path, model, (torch.randn(2, 3),), dynamic_shapes=({0: torch.export.Dim("batch")},))


@builder
def table_rows(path: Path) -> None:
    """Writes to its first input, then reads rows of a small table; an index out of range raises, as in looks_up."""
    import torch

    def forward(self: Any, x: Any, index: Any) -> Any:
        x.add_(1)
        return x * 2, self.table[index].sum(-1)

    model = module(forward)
    model.register_buffer("table", torch.arange(20.0).reshape(10, 2))
    batch = {0: torch.export.Dim("batch")}
    example = torch.randn(2, 3), torch.ones(2, 2, dtype=torch.int64)
    compile_to(path, model, example, dynamic_shapes=(batch, batch))


@builder
def slow(path: Path) -> None:
    """Adds the number of its calls to every row, and takes tens of milliseconds for a matrix that nobody wants."""
    import torch

    def forward(self: Any, x: Any) -> Any:
        self.calls.add_(1)
        product = self.matrix + self.calls[0]
        for _ in range(30):
            product = torch.tanh(self.matrix @ product)
        return x + self.calls, x + product[0, 0]

    model = module(forward)
    model.register_buffer("calls", torch.zeros(3))  # torch 2.13 forgets what is added to a buffer of one element
    model.register_buffer("matrix", torch.eye(512) / 2)
    compile_to(path, model, (torch.randn(2, 3),), dynamic_shapes=({0: torch.export.Dim("batch")},))


@builder
def reshaped(path: Path) -> None:
    """Matrices of [2, 2] and a number for each row, and both again as results."""
    import torch

    batch = {0: torch.export.Dim("batch")}
    model = module(lambda self, x, k: (x.transpose(1, 2) * k.reshape(-1, 1, 1), x[:, 0, 1] + k))
    compile_to(path, model, (torch.randn(3, 2, 2), torch.randn(3)), dynamic_shapes=(batch, batch))


@builder
def scores(path: Path) -> None:
    """The score of the label of each row, by a temperature that all rows share: inputs of one and of no dimensions."""
    import torch

    def forward(self: Any, x: Any, labels: Any, temperature: Any) -> Any:
        return x.gather(1, labels.unsqueeze(1)).squeeze(1) / temperature

    batch = {0: torch.export.Dim("batch", min=1, max=1000)}
    example = torch.randn(2, 3), torch.tensor([0, 2]), torch.tensor(2.0)
    compile_to(path, module(forward), example, dynamic_shapes=(batch, batch, {}))


@builder
def strided_outputs(path: Path) -> None:
    """Results that are transposed, expanded, cut out of the input, and with the batch innermost in memory."""
    import torch

    def forward(self: Any, x: Any, y: Any) -> Any:
        expanded = (y + 1).unsqueeze(1).expand(-1, 3, -1)
        return (x + 1).transpose(1, 2), expanded, y[:, ::2], (self.weight @ y.t()).t()

    model = module(forward)
    model.register_buffer("weight", torch.arange(12.0).reshape(3, 4))
    batch, length = torch.export.Dim("batch"), torch.export.Dim("length", max=100)
    example = torch.randn(2, 5, 3), torch.randn(2, 4)
    compile_to(path, model, example, dynamic_shapes=({0: batch, 1: length}, {0: batch}))


@builder
def add_sub(path: Path) -> None:
    """The sum and the difference of two rows: a model whose call costs next to nothing beside its serving."""
    import torch

    batch = {0: torch.export.Dim("batch")}
    model = module(lambda self, x, y: (x + y, x - y))
    compile_to(path, model, (torch.randn(2, 4), torch.randn(2, 4)), dynamic_shapes=(batch, batch))


@builder
def mlp(path: Path) -> None:
    """Six linear layers of 1024 x 1024, each with a ReLU: about 3 ms for eight rows on one core of 2023."""
    import torch

    torch.manual_seed(0)
    layers = [layer for _ in range(6) for layer in (torch.nn.Linear(1024, 1024), torch.nn.ReLU())]
    batch = {0: torch.export.Dim("batch")}
    compile_to(path, torch.nn.Sequential(*layers), (torch.randn(8, 1024),), dynamic_shapes=(batch,))


@builder
def small_resnet(path: Path) -> None:
    _compile_real_model(path)


@builder
def small_encoder(path: Path) -> None:
    _compile_real_model(path)


def _compile_real_model(path: Path) -> None:
    """Compile the model of real_models.py that bears the package's name."""
    import torch

    name = path.name.partition("-")[0]
    model, shape = runpy.run_path(str(REAL_MODELS))[name]()
    compile_to(path, model, (torch.randn(2, *shape),), dynamic_shapes=({0: torch.export.Dim("batch")},))


@builder
def bert(path: Path) -> None:
    """An encoder of HuggingFace's; what eager torch answers to some requests lies beside it, with suffix .pt."""
    _compile_from_huggingface(path)


@builder
def gpt2(path: Path) -> None:
    """A decoder of HuggingFace's, with its cache among the results; its answers lie beside it too."""
    _compile_from_huggingface(path)


def _compile_from_huggingface(path: Path) -> None:
    """Compile the model of huggingface.py that bears the package's name, and keep what eager torch answers beside it.

    The tests need not import transformers then, which takes seconds.
    """
    import torch

    made = runpy.run_path(str(HUGGINGFACE))
    model = made[path.name.partition("-")[0]]().eval()
    requests = [made["tokens"](rows, length) for rows, length in ((1, 7), (3, 7), (2, 4))]
    with torch.no_grad():
        answers = [torch.utils._pytree.tree_leaves(model(**request)) for request in requests]
    torch.save(list(zip(requests, answers, strict=True)), answers_of(path))
    sizes = {0: torch.export.Dim("batch", max=64), 1: torch.export.Dim("length", max=32)}
    compile_to(path, model, (), requests[1], dynamic_shapes=dict.fromkeys(requests[1], sizes))


def answers_of(path: Path) -> Path:
    """Return where the answers for a package of a HuggingFace model lie: pairs of a request and the result's leaves."""
    return path.with_name(f"{path.name.partition('.')[0]}.pt")


@builder
def eight_threads(path: Path) -> None:
    """As compiled on a machine of eight CPUs: its kernel asks for eight threads, whatever torch is set to."""
    import torch

    compile_to(path, module(lambda self, x: torch.sin(x)), (torch.ones(128, 128),), inductor_configs={"cpp.threads": 8})


def main(arguments: list[str]) -> None:
    """Compile each NAME=PATH; a package appears under its path only when it is whole."""
    for argument in arguments:
        name, _, path = argument.partition("=")
        unfinished = Path(path).with_suffix(f".{os.getpid()}.pt2")
        BUILDERS[name](unfinished)
        unfinished.replace(path)
        print(f"compiled {name}", flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(sys.argv[1:])
    else:
        package_paths(name for name in BUILDERS if name not in OF_BENCHMARKS)
