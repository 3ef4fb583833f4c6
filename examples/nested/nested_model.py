"""The example model of the documentation: positional, dictionary and keyword inputs, nested outputs."""

from pathlib import Path

import torch

Tree = dict[str, object]

# The leaves in flat order, as config.pbtxt may name them.
INPUT_PATHS = ("ARGS[0]", "ARGS[1]", "ARGS[2][keyA]", "ARGS[2][key2]", "KWARGS[kwarg1]", "KWARGS[kw_arg2]")
OUTPUT_PATHS = (
    "RESULT[AAA]",
    "RESULT[ZZZ]",
    "RESULT[BBB][0]",
    "RESULT[BBB][1]",
    "RESULT[CCC][keyA]",
    "RESULT[CCC][key2]",
    "RESULT[DDD][KA]",
    "RESULT[DDD][KB]",
)
INPUT_ORDINALS = tuple(f"INPUT__{index}" for index in range(len(INPUT_PATHS)))
OUTPUT_ORDINALS = tuple(f"OUTPUT__{index}" for index in range(len(OUTPUT_PATHS)))


class NestedModel(torch.nn.Module):
    """Adds and subtracts two tensors and hands the others through, in one nested result."""

    def forward(
        self,
        hdata: torch.Tensor,
        vdata: torch.Tensor,
        options: dict[str, torch.Tensor],
        *,
        kwarg1: torch.Tensor,
        kw_arg2: torch.Tensor,
    ) -> Tree:
        """Take tensors of shape [batch, 3]; every leaf of the result has that shape too."""
        return {
            "AAA": hdata + vdata,
            "ZZZ": hdata - vdata,
            "BBB": (hdata, vdata),
            "CCC": options,
            "DDD": {"KA": kwarg1, "KB": kw_arg2},
        }


def example_inputs(rows: int) -> tuple[tuple[object, ...], dict[str, torch.Tensor]]:
    """Return arguments and keyword arguments of `forward`, each a random tensor of shape [rows, 3]."""
    hdata, vdata, key_a, key_2, kwarg1, kw_arg2 = torch.randn(6, rows, 3).unbind()
    return (hdata, vdata, {"keyA": key_a, "key2": key_2}), {"kwarg1": kwarg1, "kw_arg2": kw_arg2}


def build_package(path: Path) -> None:
    """Export the model with an open batch dimension and compile it into an AOTInductor package at `path`."""
    args, kwargs = example_inputs(rows=2)
    batch = {0: torch.export.Dim("batch", min=1, max=64)}
    program = torch.export.export(
        NestedModel(),
        args,
        kwargs,
        dynamic_shapes={
            "hdata": batch,
            "vdata": batch,
            "options": {"keyA": batch, "key2": batch},
            "kwarg1": batch,
            "kw_arg2": batch,
        },
    )
    torch._inductor.aoti_compile_and_package(program, package_path=str(path))
