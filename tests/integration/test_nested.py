"""The nested example through model.py: all namings, mixed, in any order, against eager torch."""

import random

import pytest
import torch

from triton_pytorch.examples.nested.nested_model import INPUT_ORDINALS, INPUT_PATHS, OUTPUT_ORDINALS, OUTPUT_PATHS
from triton_pytorch.tests.assets.configs import tensor_config
from triton_pytorch.tests.integration.conftest import Serve


def expected_leaves(leaves: list[torch.Tensor]) -> list[torch.Tensor]:
    """Return what the example's forward does for six inputs, in flat order."""
    h, v, key_a, key_2, kwarg1, kw_arg2 = leaves
    return [h + v, h - v, h, v, key_a, key_2, kwarg1, kw_arg2]


def mixed(names: tuple[str, ...], ordinals: tuple[str, ...]) -> list[str]:
    return [(name, ordinals[i], f"tensor__{i}")[i % 3] for i, name in enumerate(names)]


@pytest.mark.parametrize(
    ("inputs", "outputs"),
    [
        (list(INPUT_PATHS), list(OUTPUT_PATHS)),
        (list(INPUT_ORDINALS), list(OUTPUT_ORDINALS)),
        (mixed(INPUT_PATHS, INPUT_ORDINALS), mixed(OUTPUT_PATHS, OUTPUT_ORDINALS)),
    ],
    ids=["by path", "by ordinal", "mixed"],
)
def test_leaves_own_data(serve: Serve, inputs: list[str], outputs: list[str]) -> None:
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


def test_outputs_requested(serve: Serve) -> None:
    model = serve(
        "nested",
        [tensor_config(name, dims=(3,)) for name in INPUT_PATHS],
        [tensor_config("RESULT[ZZZ]", dims=(3,)), tensor_config("RESULT[AAA]", dims=(3,))],
        max_batch_size=64,
    )
    leaves = [torch.randn(1, 3) for _ in INPUT_PATHS]
    inputs = dict(zip(INPUT_PATHS, leaves, strict=True))
    assert model.infer(inputs, ["RESULT[ZZZ]"]).keys() == {"RESULT[ZZZ]"}
    assert model.infer(inputs, []) == {}
