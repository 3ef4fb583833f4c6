"""A config and a model agree, or everything that can be known to be wrong is told at once."""

import json
from typing import Any

import pytest
import torch

from triton_pytorch.io_naming.contract import agree
from triton_pytorch.io_naming.leaves import Dimension, Leaf
from triton_pytorch.io_naming.names import LeafPath
from triton_pytorch.io_naming.sizes import open_size, size_of
from triton_pytorch.model_config.configuration import ModelConfig, read_config
from triton_pytorch.model_config.errors import ConfigError, NamingError
from triton_pytorch.tests.assets.configs import model_config, tensor_config

BATCH = Dimension(open_size("s1"), 1, 64)
THREE = Dimension(size_of(3), 3, 3)
LENGTH = Dimension(open_size("s2"), 1)
INPUTS = (
    Leaf(LeafPath("ARGS", ("0",)), "float32", (BATCH, THREE)),
    Leaf(LeafPath("KWARGS", ("mask",)), "bool", (BATCH, LENGTH)),
)
OUTPUTS = (Leaf(LeafPath("RESULT", ("a",))), Leaf(LeafPath("RESULT", ("b",))))
MASK, X = tensor_config("KWARGS[mask]", torch.bool, (-1,)), tensor_config("INPUT__0", dims=(3,))
B = tensor_config("OUTPUT__1")


def config(inputs: list[Any], outputs: list[Any], max_batch_size: int = 8) -> ModelConfig:
    return read_config(json.dumps({"name": "m", **model_config(inputs, outputs, max_batch_size=max_batch_size)}))


def test_an_agreement() -> None:
    contract = agree(config([MASK, X], [B]), INPUTS, OUTPUTS)
    assert (contract.inputs, contract.outputs, contract.warnings) == ((1, 0), (1,), ())
    assert [rule([(4, 3), (4, 5)]) for rule in contract.shape_rules] == [None] * len(contract.shape_rules)
    assert [sentence for rule in contract.shape_rules if (sentence := rule([(4, 3), (4, 0)]))] == [
        "dimension 1 of input 'KWARGS[mask]' is 0, but the model takes at least 1"
    ]


def test_a_batch_above_the_exporter_s_is_a_warning_for_each_input() -> None:
    contract = agree(config([MASK, X], [B], 65), INPUTS, OUTPUTS)
    assert contract.warnings == tuple(
        f"the config has max_batch_size: 65, but the model was exported for at most 64 rows of input '{name}'"
        for name in ("KWARGS[mask]", "INPUT__0")
    )


def test_a_model_that_says_nothing_is_trusted_with_any_config() -> None:
    silent = [Leaf(leaf.path) for leaf in INPUTS]
    contract = agree(config([MASK, tensor_config("INPUT__0", torch.int8, (1, 2))], [B]), silent, OUTPUTS)
    assert (contract.inputs, contract.shape_rules, contract.warnings) == ((1, 0), (), ())


def test_all_faults_come_together() -> None:
    wrong = [
        tensor_config("KWARGS[mask]", torch.uint8, (-1, -1)),
        tensor_config("INPUT__0", torch.float64, (4,), optional=True),
    ]
    with pytest.raises(ConfigError) as caught:
        agree(config(wrong, [B]), INPUTS, OUTPUTS)
    assert str(caught.value) == (
        "Input 'INPUT__0' is optional, but the model has no default for it: remove `optional: true`."
        " Input 'KWARGS[mask]' is declared TYPE_UINT8, but the model takes TYPE_BOOL."
        " Input 'KWARGS[mask]' is declared with dims [-1, -1] behind the batch dimension, but the model takes"
        " 2 dimensions, [s1, s2]: leave the batch dimension out of dims, or set max_batch_size: 0."
        " Input 'INPUT__0' is declared TYPE_FP64, but the model takes TYPE_FP32."
        " Dimension 1 of input 'INPUT__0' is declared 4, but the model takes 3 in [s1, 3]."
    )


def test_a_single_fault_is_one_sentence() -> None:
    with pytest.raises(ConfigError) as caught:
        agree(config([MASK, {**X, "optional": True}], [B]), INPUTS, OUTPUTS)
    assert str(caught.value) == (
        "input 'INPUT__0' is optional, but the model has no default for it: remove `optional: true`"
    )


def test_a_config_without_outputs_answers_nothing() -> None:
    with pytest.raises(ConfigError, match=r"declares no output.*RESULT\[a\], RESULT\[b\]"):
        agree(config([MASK, X], []), INPUTS, OUTPUTS)


def test_sizes_that_contradict_each_other_are_a_fault() -> None:
    square = [Leaf(leaf.path, leaf.dtype, (LENGTH, LENGTH)) for leaf in INPUTS]
    tensors = [tensor_config("KWARGS[mask]", torch.bool, (4, 4)), tensor_config("INPUT__0", dims=(5, 4))]
    with pytest.raises(ConfigError) as caught:
        agree(config(tensors, [B], 0), square, OUTPUTS)
    assert str(caught.value) == (
        "dimension 0 of input 'INPUT__0' is 5, but the model takes 4 (s2) there, "
        "since dimension 0 of input 'KWARGS[mask]' is 4 (s2)"
    )


def test_names_come_first_and_those_of_inputs_and_outputs_together() -> None:
    with pytest.raises(NamingError) as caught:
        agree(config([tensor_config("INPUT__7", torch.float64)], [tensor_config("RESULT[c]")]), INPUTS, OUTPUTS)
    text = str(caught.value)
    assert "'INPUT__7' is out of range" in text
    assert "no tensor for ARGS[0] (INPUT__0), KWARGS[mask] (INPUT__1)" in text
    assert "'RESULT[c]' is no output of the model" in text
    assert "TYPE_FP64" not in text
