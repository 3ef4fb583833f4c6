"""The example of SPEC.md through model.py: both namings, mixed, in any order, against eager torch."""

import random

import pytest
import torch

from triton_pytorch.tests.assets.configs import tensor_config
from triton_pytorch.tests.integration.conftest import Serve

INPUTS = ("ARGS[0]", "ARGS[1]", "ARGS[2][keyA]", "ARGS[2][key2]", "KWARGS[kwarg1]", "KWARGS[kw_arg2]")
OUTPUTS = (
    "RESULT[AAA]",
    "RESULT[ZZZ]",
    "RESULT[BBB][0]",
    "RESULT[BBB][1]",
    "RESULT[CCC][keyA]",
    "RESULT[CCC][key2]",
    "RESULT[DDD][KA]",
    "RESULT[DDD][KB]",
)
ORDINALS = ([f"INPUT__{i}" for i in range(6)], [f"OUTPUT__{i}" for i in range(8)])


def expected_leaves(leaves: list[torch.Tensor]) -> list[torch.Tensor]:
    """What the forward of SPEC.md returns for six inputs, in flat order."""
    h, v, key_a, key_2, kwarg1, kw_arg2 = leaves
    return [h + v, h - v, h, v, key_a, key_2, kwarg1, kw_arg2]


def mixed(names: tuple[str, ...], ordinals: list[str]) -> list[str]:
    return [ordinals[i] if i % 2 else name for i, name in enumerate(names)]


@pytest.mark.parametrize(
    ("inputs", "outputs"),
    [
        (list(INPUTS), list(OUTPUTS)),
        ORDINALS,
        (mixed(INPUTS, ORDINALS[0]), mixed(OUTPUTS, ORDINALS[1])),
    ],
    ids=["by path", "by ordinal", "mixed"],
)
def test_each_leaf_gets_its_own_data(serve: Serve, inputs: list[str], outputs: list[str]) -> None:
    shuffled = random.Random(7)
    model = serve(
        "nested",
        [tensor_config(name, dims=(3,)) for name in shuffled.sample(inputs, len(inputs))],
        [tensor_config(name, dims=(3,)) for name in shuffled.sample(outputs, len(outputs))],
        max_batch_size=64,
    )
    leaves = [torch.full((5, 3), 10.0**i) + torch.arange(15.0).reshape(5, 3) for i in range(6)]
    sent = list(zip(inputs, leaves, strict=True))
    shuffled.shuffle(sent)

    answer = model.infer(dict(sent))

    assert answer.keys() == set(outputs)
    for name, expected in zip(outputs, expected_leaves(leaves), strict=True):
        assert torch.equal(answer[name], expected), name


def test_only_requested_outputs_are_returned(serve: Serve) -> None:
    model = serve(
        "nested",
        [tensor_config(name, dims=(3,)) for name in INPUTS],
        [tensor_config("RESULT[ZZZ]", dims=(3,)), tensor_config("RESULT[AAA]", dims=(3,))],
        max_batch_size=64,
    )
    leaves = [torch.randn(1, 3) for _ in INPUTS]
    inputs = dict(zip(INPUTS, leaves, strict=True))
    assert model.infer(inputs, ["RESULT[ZZZ]"]).keys() == {"RESULT[ZZZ]"}
    assert model.infer(inputs, []) == {}
