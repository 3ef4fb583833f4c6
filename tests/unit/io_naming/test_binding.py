"""Every declared tensor finds its leaf, in any order and naming; all faults of a config come in one message."""

import json
import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from triton_pytorch.io_naming.binding import bind
from triton_pytorch.io_naming.call_spec import read_call_spec
from triton_pytorch.contract.leaves import Leaf
from triton_pytorch.io_naming.names import Direction, LeafPath
from triton_pytorch.model_config.errors import NamingError
from triton_pytorch.tests.assets.call_specs.generate import SPECS_FILE

SERVED = json.loads(SPECS_FILE.read_text(encoding="utf-8"))["served"]
INPUT, OUTPUT = Direction.INPUT, Direction.OUTPUT


def as_leaves(paths: Sequence[LeafPath]) -> list[Leaf]:
    return [Leaf(path) for path in paths]


@pytest.mark.parametrize("naming", ["paths", "ordinals", "mixed"])
@pytest.mark.parametrize("direction", Direction)
@pytest.mark.parametrize("shape", SERVED)
def test_tensors_declared_in_any_order_find_their_leaves(shape: str, direction: Direction, naming: str) -> None:
    kept = SERVED[shape]
    call_spec = read_call_spec(kept["in_spec"], kept["out_spec"])
    leaves, paths = (call_spec.inputs, kept["inputs"]) if direction is INPUT else (call_spec.outputs, kept["outputs"])
    dice = random.Random(f"{shape} {naming}")
    share_of_paths = {"paths": 1.0, "ordinals": 0.0, "mixed": 0.5}[naming]
    names = [
        path if dice.random() < share_of_paths else f"{direction.value}__{index}" for index, path in enumerate(paths)
    ]
    order = list(range(len(names)))
    dice.shuffle(order)
    assert bind([names[index] for index in order], as_leaves(leaves), direction) == tuple(order)


EXAMPLE = read_call_spec(
    SERVED["example of the specification"]["in_spec"], SERVED["example of the specification"]["out_spec"]
)
INPUT_LEAVES, OUTPUT_LEAVES = as_leaves(EXAMPLE.inputs), as_leaves(EXAMPLE.outputs)
INPUTS = ["ARGS[0]", "ARGS[1]", "ARGS[2][keyA]", "ARGS[2][key2]", "KWARGS[kwarg1]", "KWARGS[kw_arg2]"]


def test_outputs_may_stay_undeclared() -> None:
    assert bind(["RESULT[DDD][KB]", "OUTPUT__0"], OUTPUT_LEAVES, OUTPUT) == (7, 0)
    assert bind([], OUTPUT_LEAVES, OUTPUT) == ()


def fault(declared: list[str], direction: Direction) -> str:
    with pytest.raises(NamingError) as caught:
        bind(declared, INPUT_LEAVES if direction is INPUT else OUTPUT_LEAVES, direction)
    return str(caught.value)


@pytest.mark.parametrize(
    ("wrong", "fragments"),
    [
        ("x", ["'x' is no name of an input", "The inputs of the model are ARGS[0] (INPUT__0), ARGS[1] (INPUT__1), "]),
        ("INPUT__6", ["'INPUT__6' is out of range: the number of inputs is 6, counted from 0"]),
        ("INPUT_5", ["did you mean 'INPUT__5'?"]),
        ("OUTPUT__5", ["'OUTPUT__5' names an output but is declared as an input"]),
        ("KWARGS[kw_arg3]", ["'KWARGS[kw_arg3]' is no input of the model; did you mean 'KWARGS[kw_arg2]'?"]),
        ("KWARGS[KW_ARG2]", ["did you mean 'KWARGS[kw_arg2]'?"]),
        ("kwargs[kw_arg2]", ["did you mean 'KWARGS[kw_arg2]'?"]),
        ("KWARGS['kw_arg2']", ["did you mean 'KWARGS[kw_arg2]'?"]),
        ('KWARGS["kw_arg2"]', ["did you mean 'KWARGS[kw_arg2]'?"]),
        ("KWARGS[ kw_arg2 ]", ["did you mean 'KWARGS[kw_arg2]'?"]),
        ("ARGS[2]", ["'ARGS[2]' is a container and no tensor", "one of its leaves, ARGS[2][keyA], ARGS[2][key2]"]),
        ("ARGS[3]", ["'ARGS[3]' is no input of the model; did you mean"]),
        ("ARGS[0][0]", ["'ARGS[0][0]' is no input of the model"]),
        ("KWARGS", ["'KWARGS' is no name of an input"]),
    ],
)
def test_a_wrong_name_of_an_input_is_told_with_the_right_ones(wrong: str, fragments: list[str]) -> None:
    message = fault([*INPUTS[:5], wrong], INPUT)
    assert [fragment for fragment in fragments if fragment not in message] == []
    assert "no tensor for KWARGS[kw_arg2] (INPUT__5): every input needs one" in message


@pytest.mark.parametrize(
    ("wrong", "fragments"),
    [
        ("output", ["'output' is no name of an output", "The outputs of the model are RESULT[AAA] (OUTPUT__0), "]),
        ("OUTPUT__8", ["out of range: the number of outputs is 8"]),
        ("RESULT", ["'RESULT' is a container and no tensor", "RESULT[AAA], RESULT[ZZZ], RESULT[BBB][0]"]),
        ("RESULT[BBB]", ["one of its leaves, RESULT[BBB][0], RESULT[BBB][1]."]),
        ("RESULT[B]", ["is no output of the model"]),  # part of a key is no container
        ("RESULT[BBB][2]", ["is no output of the model; did you mean 'RESULT[BBB]["]),
        ("result[bbb][1]", ["did you mean 'RESULT[BBB][1]'?"]),
    ],
)
def test_a_wrong_name_of_an_output_is_told_with_the_right_ones(wrong: str, fragments: list[str]) -> None:
    message = fault([wrong], OUTPUT)
    assert [fragment for fragment in fragments if fragment not in message] == []


def test_two_names_for_one_leaf_are_refused() -> None:
    both = fault([*INPUTS, "INPUT__2"], INPUT)
    assert "'ARGS[2][keyA]' and 'INPUT__2' name one and the same input ARGS[2][keyA] (INPUT__2)" in both
    twice = fault(["OUTPUT__7", "OUTPUT__7"], OUTPUT)
    assert "'OUTPUT__7' and 'OUTPUT__7' name one and the same output RESULT[DDD][KB] (OUTPUT__7)" in twice


def test_input_leaves_without_a_name_are_all_told() -> None:
    message = fault(INPUTS[1:5], INPUT)
    assert "no tensor for ARGS[0] (INPUT__0), KWARGS[kw_arg2] (INPUT__5): every input needs one" in message


def test_inputs_with_a_default_may_stay_undeclared() -> None:
    leaves = [replace(leaf, has_default=index in (0, 5)) for index, leaf in enumerate(INPUT_LEAVES)]
    assert bind(INPUTS[1:5], leaves, INPUT) == (1, 2, 3, 4)
    assert bind(INPUTS, leaves, INPUT) == (0, 1, 2, 3, 4, 5)
    with pytest.raises(NamingError, match=r"no tensor for ARGS\[1\] \(INPUT__1\): every input needs one"):
        bind(INPUTS[2:5], leaves, INPUT)


def test_all_faults_of_a_config_come_in_one_message() -> None:
    assert fault(["x", "INPUT__9", "ARGS[2]", "ARGS[0]", "INPUT__0", *INPUTS[1:5]], INPUT) == (
        "'x' is no name of an input: expected INPUT__<n>, ARGS[<i>].. or KWARGS[<key>].. (keys without quotes, and"
        ' without , " [ ] white space or unprintable characters).'
        " 'INPUT__9' is out of range: the number of inputs is 6, counted from 0."
        " 'ARGS[2]' is a container and no tensor: expected one of its leaves, ARGS[2][keyA], ARGS[2][key2]."
        " 'ARGS[0]' and 'INPUT__0' name one and the same input ARGS[0] (INPUT__0): expected one tensor for it."
        " The config declares no tensor for KWARGS[kw_arg2] (INPUT__5): every input needs one."
        " The inputs of the model are ARGS[0] (INPUT__0), ARGS[1] (INPUT__1), ARGS[2][keyA] (INPUT__2),"
        " ARGS[2][key2] (INPUT__3), KWARGS[kwarg1] (INPUT__4), KWARGS[kw_arg2] (INPUT__5)."
    )


def test_a_bare_tensor_is_no_tuple_of_one() -> None:
    with pytest.raises(NamingError, match=r"'RESULT\[0\]' is no output of the model; did you mean 'RESULT'\?"):
        bind(["RESULT[0]"], [Leaf(LeafPath("RESULT"))], OUTPUT)
    with pytest.raises(NamingError, match=r"'RESULT' is a container and no tensor: .* RESULT\[0\]"):
        bind(["RESULT"], [Leaf(LeafPath("RESULT", ("0",)))], OUTPUT)


def test_a_model_without_inputs_takes_none() -> None:
    assert bind([], [], INPUT) == ()
    with pytest.raises(NamingError, match=r"the number of inputs is 0.* The model has no inputs\.$"):
        bind(["INPUT__0"], [], INPUT)


def test_of_many_unknown_names_some_are_explained_and_the_rest_counted() -> None:
    leaves = [Leaf(LeafPath("ARGS", (str(index),))) for index in range(100)]
    with pytest.raises(NamingError, match="92 more names are unknown") as caught:
        bind([f"x{index}" for index in range(100)], leaves, INPUT)
    assert str(caught.value).count("is no name of an input") == 8


class TestNamesGivenByTheLoader:
    """The paths of these leaves are no names of theirs."""

    LEAVES = (
        Leaf(LeafPath("KWARGS", ("x",)), names=("INPUT__1",)),
        Leaf(LeafPath("KWARGS", ("options", "key")), names=("key", "options[key]"), has_default=True),
    )

    def test_they_are_the_only_ones(self) -> None:
        assert bind(["key", "INPUT__1"], self.LEAVES, INPUT) == (1, 0)
        assert bind(["INPUT__1"], self.LEAVES, INPUT) == (0,)
        assert bind(["options[key]", "INPUT__1"], self.LEAVES, INPUT) == (1, 0)
        with pytest.raises(NamingError) as caught:
            bind(["KWARGS[x]", "INPUT__0", "kez"], self.LEAVES, INPUT)
        assert str(caught.value) == (
            "'KWARGS[x]' is no input of the model."
            " 'INPUT__0' is no input of the model; did you mean 'INPUT__1'?"
            " 'kez' is no input of the model; did you mean 'key'?"
            " The config declares no tensor for INPUT__1: every input needs one."
            " The inputs of the model are INPUT__1, key (options[key])."
        )

    def test_two_of_them_for_one_leaf(self) -> None:
        with pytest.raises(NamingError, match=r"'key' and 'options\[key\]' name one and the same input key \(opt"):
            bind(["key", "options[key]", "INPUT__1"], self.LEAVES, INPUT)
