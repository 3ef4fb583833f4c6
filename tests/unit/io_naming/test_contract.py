"""A config and a model agree, or everything that can be known to be wrong is told at once."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch

from triton_pytorch.contract.binding import agree
from triton_pytorch.contract.leaves import Dimension, Leaf
from triton_pytorch.io_naming.names import LeafPath
from triton_pytorch.contract.shape_rules import Rule
from triton_pytorch.contract.sizes import dynamic_size, size_of
from triton_pytorch.model_config.configuration import ModelConfig, read_config
from triton_pytorch.model_config.errors import ConfigError, NamingError
from triton_pytorch.tests.assets.configs import model_config, tensor_config

BATCH = Dimension(dynamic_size("s1"), 1, 64)
THREE = Dimension(size_of(3), 3, 3)
LENGTH = Dimension(dynamic_size("s2"), 1)
INPUTS = (
    Leaf(LeafPath("ARGS", ("0",)), "float32", (BATCH, THREE)),
    Leaf(LeafPath("KWARGS", ("mask",)), "bool", (BATCH, LENGTH)),
)
OUTPUTS = (Leaf(LeafPath("RESULT", ("a",))), Leaf(LeafPath("RESULT", ("b",))))
MASK, X = tensor_config("KWARGS[mask]", torch.bool, (-1,)), tensor_config("INPUT__0", dims=(3,))
B = tensor_config("OUTPUT__1")


def config(inputs: list[Any], outputs: list[Any], max_batch_size: int = 8, **more: Any) -> ModelConfig:
    document = model_config(inputs, outputs, max_batch_size=max_batch_size, **more)
    return read_config(json.dumps({"name": "m", **document}))


def broken(rules: Sequence[Rule], *shapes: tuple[int, ...] | None) -> list[str]:
    return [sentence for rule in rules if (sentence := rule(shapes)) is not None]


def test_an_agreement() -> None:
    contract = agree(config([MASK, X], [B]), INPUTS, OUTPUTS)
    assert (contract.inputs, contract.batch_inputs, contract.outputs) == ((1, 0), (), (1,))
    assert (contract.call_rules, contract.warnings) == ((), ())
    assert broken(contract.request_rules, (4, 3), (4, 5)) == []
    assert broken(contract.request_rules, (4, 3), (4, 0)) == [
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
    assert (contract.inputs, contract.request_rules, contract.call_rules, contract.warnings) == ((1, 0), (), (), ())


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


class TestRagged:
    """Values of any length, flat, with where each request ends, and a number for each row."""

    ROWS = Dimension(dynamic_size("s0"), 1)
    INPUTS = (
        Leaf(LeafPath("KWARGS", ("values",)), "float32", (LENGTH,)),
        Leaf(LeafPath("KWARGS", ("ends",)), "int32", (Dimension(dynamic_size("s1"), 1),)),
        Leaf(LeafPath("KWARGS", ("counts",)), "int32", (ROWS,)),
        Leaf(LeafPath("KWARGS", ("scale",)), "float32", (ROWS, Dimension(size_of(1), 1, 1))),
    )
    VALUES = tensor_config("KWARGS[values]", allow_ragged_batch=True)
    SCALE = tensor_config("KWARGS[scale]", dims=(1,))

    @staticmethod
    def counted(kind: str, *targets: str, data_type: str = "TYPE_INT32") -> Any:
        names = {"target_name": list(targets), "source_input": ["KWARGS[values]"]}
        return {"kind": kind, "data_type": data_type, **names}

    def test_an_agreement(self) -> None:
        ends = self.counted("BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO", "INPUT__1")
        counts = self.counted("BATCH_ELEMENT_COUNT", "KWARGS[counts]")
        declared = config([self.SCALE, self.VALUES], [B], batch_input=[counts, ends])
        contract = agree(declared, self.INPUTS, OUTPUTS)
        assert (contract.inputs, contract.batch_inputs, contract.outputs) == ((3, 0), (2, 1), (1,))
        assert broken(contract.request_rules, (1, 7), None, None, (1, 1)) == []
        assert broken(contract.call_rules, (7,), (4,), (3,), (3, 1)) == []
        empty, other = broken(contract.call_rules, (0,), (3,), (2,), (3, 1))  # of two requests, one with two rows
        assert empty == "dimension 0 of input 'KWARGS[values]' is 0, but the model takes at least 1"
        assert other.startswith("dimension 0 of input 'KWARGS[counts]' is 2, but the model takes 3 (s0) there, since")

    def test_a_leaf_that_nobody_fills_and_one_that_two_do(self) -> None:
        twice = self.counted("BATCH_ELEMENT_COUNT", "KWARGS[counts]", "INPUT__2")
        with pytest.raises(NamingError) as caught:
            agree(config([self.SCALE, self.VALUES], [B], batch_input=[twice]), self.INPUTS, OUTPUTS)
        assert "'KWARGS[counts]' and 'INPUT__2' name one and the same input KWARGS[counts]" in str(caught.value)
        assert "no tensor for KWARGS[ends] (INPUT__1)" in str(caught.value)

    def test_faults_of_batch_inputs_come_with_the_others(self) -> None:
        ends = self.counted("BATCH_ITEM_SHAPE", "KWARGS[ends]", data_type="TYPE_FP32")
        counts = self.counted("BATCH_ELEMENT_COUNT", "KWARGS[counts]")
        scale = {**self.SCALE, "allow_ragged_batch": True}
        with pytest.raises(ConfigError) as caught:
            agree(config([scale, self.VALUES], [B], batch_input=[counts, ends]), self.INPUTS, OUTPUTS)
        assert str(caught.value) == (
            "Input 'KWARGS[scale]' is ragged, so that all requests arrive flat, in 1 dimension, but the model takes 2"
            " dimensions, [s0, 1]: export a model that takes it flat, or remove `allow_ragged_batch: true`."
            " Input 'KWARGS[ends]' is declared TYPE_FP32, but the model takes TYPE_INT32."
            " Input 'KWARGS[ends]' is made by batch_input of kind BATCH_ITEM_SHAPE, which has 2 dimensions, but the"
            " model takes 1 dimension, [s1]."
        )


class TestDefaults:
    """The mask has a default, as arguments of TorchScript can have."""

    INPUTS = (INPUTS[0], replace(INPUTS[1], has_default=True))

    def test_it_need_not_be_declared(self) -> None:
        assert agree(config([X], [B]), self.INPUTS, OUTPUTS).inputs == (0,)

    def test_it_may_be_optional(self) -> None:
        contract = agree(config([{**MASK, "optional": True}, X], [B]), self.INPUTS, OUTPUTS)
        assert contract.inputs == (1, 0)
        assert broken(contract.request_rules, (4, 3), None) == []
        assert len(broken(contract.request_rules, (4, 3), (4, 0))) == 1

    def test_all_others_must_be_there(self) -> None:
        with pytest.raises(NamingError, match=r"no tensor for ARGS\[0\] \(INPUT__0\): every input needs one"):
            agree(config([MASK], [B]), self.INPUTS, OUTPUTS)
        with pytest.raises(ConfigError, match=r"^input 'INPUT__0' is optional, but the model has no default for it"):
            agree(config([MASK, {**X, "optional": True}], [B]), self.INPUTS, OUTPUTS)
