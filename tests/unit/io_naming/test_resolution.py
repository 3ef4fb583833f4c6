"""Declared names find their leaves, by the same rules for every format; all that cannot be meant is told at once."""

import json
import random
from collections.abc import Sequence

import pytest

from triton_pytorch.contract.leaves import Leaf, ValueKind
from triton_pytorch.io_naming.call_spec import read_call_spec
from triton_pytorch.io_naming.names import Direction
from triton_pytorch.io_naming.resolution import NameTable, Resolution
from triton_pytorch.io_naming.unknown_names import inventory
from triton_pytorch.tests.assets.call_specs.generate import SPECS_FILE
from triton_pytorch.tests.assets.leaves import argument, entry, keyword, part, positional

SERVED = json.loads(SPECS_FILE.read_text(encoding="utf-8"))["served"]
INPUT, OUTPUT = Direction.INPUT, Direction.OUTPUT


def table(direction: Direction, leaves: Sequence[Leaf], *, in_order: bool = True, has_more: bool = False) -> NameTable:
    opaque = {position for position, leaf in enumerate(leaves) if leaf.kind is ValueKind.UNKNOWN}
    sendable = [position for position, leaf in enumerate(leaves) if leaf.kind is not ValueKind.OTHER]
    names = [leaf.names for leaf in leaves]
    return NameTable(direction, names, opaque=opaque, has_more=has_more, in_order=sendable if in_order else None)


def texts(resolution: Resolution) -> list[str]:
    """Return the path of each name, or its index where only the answer can tell."""
    assert resolution.errors == ()
    return [
        str(target.path) if target.position is not None else f"index {target.index}"
        for target in resolution.targets
        if target is not None
    ]


def inputs(declared: list[str], *leaves: Leaf) -> list[str]:
    resolution = table(INPUT, leaves).resolve(declared)
    assert resolution.warnings == ()
    return texts(resolution)


def outputs(declared: list[str], *leaves: Leaf, has_more: bool = False) -> list[str]:
    resolution = table(OUTPUT, leaves, has_more=has_more).resolve(declared)
    assert resolution.warnings == ()
    return texts(resolution)


class TestPackages:
    """Leaves go by path and index, in any order of the config."""

    @pytest.mark.parametrize("naming", ["paths", "ordinals", "mixed"])
    @pytest.mark.parametrize("direction", Direction)
    @pytest.mark.parametrize("shape", SERVED)
    def test_any_order(self, shape: str, direction: Direction, naming: str) -> None:
        kept = SERVED[shape]
        call_spec = read_call_spec(kept["in_spec"], kept["out_spec"])
        leaves = call_spec.inputs if direction is INPUT else call_spec.outputs
        dice = random.Random(f"{shape} {naming}")
        share_of_paths = {"paths": 1.0, "ordinals": 0.0, "mixed": 0.5}[naming]
        names = [
            str(leaf.path) if dice.random() < share_of_paths else f"{direction.value}__{index}"
            for index, leaf in enumerate(leaves)
        ]
        order = list(range(len(names)))
        dice.shuffle(order)
        resolution = NameTable(direction, leaves).resolve([names[index] for index in order])
        assert resolution.errors == ()
        assert [target and target.position for target in resolution.targets] == order

    EXAMPLE = read_call_spec(
        SERVED["example of the specification"]["in_spec"], SERVED["example of the specification"]["out_spec"]
    )
    NAMES = ("ARGS[0]", "ARGS[1]", "ARGS[2][keyA]", "ARGS[2][key2]", "KWARGS[kwarg1]", "KWARGS[kw_arg2]")

    def errors(self, *declared: str, direction: Direction = INPUT) -> str:
        leaves = self.EXAMPLE.inputs if direction is INPUT else self.EXAMPLE.outputs
        resolution = NameTable(direction, leaves).resolve(declared)
        assert len(resolution.errors) <= resolution.targets.count(None) + 1
        return " | ".join(resolution.errors)

    @pytest.mark.parametrize(
        ("wrong", "fragments"),
        [
            ("x", ["unknown input 'x'"]),
            ("INPUT__6", ["'INPUT__6' is out of range: the number of inputs is 6, counted from 0"]),
            ("INPUT_5", ["unknown input 'INPUT_5'; did you mean 'INPUT__5'?"]),
            ("input__5 ", ["did you mean 'INPUT__5'?"]),
            ("OUTPUT__5", ["'OUTPUT__5' names an output, but is declared as an input"]),
            ("RESULT[AAA]", ["'RESULT[AAA]' names an output, but is declared as an input"]),
            ("kwarg1", ["unknown input 'kwarg1'; did you mean 'KWARGS[kwarg1]'?"]),
            ("KWARG1", ["did you mean 'KWARGS[kwarg1]'?"]),
            ("keyA", ["did you mean 'ARGS[2][keyA]'?"]),
            (
                "KWARGS[kw_arg3]",
                ["unknown input 'KWARGS[kw_arg3]': KWARGS has [kwarg1], [kw_arg2]", "'KWARGS[kw_arg2]'?"],
            ),
            ("KWARGS[KW_ARG2]", ["did you mean 'KWARGS[kw_arg2]'?"]),
            ("kwargs[kw_arg2]", ["did you mean 'KWARGS[kw_arg2]'?"]),
            ("KWARGS['kw_arg2']", ["KWARGS has [kwarg1], [kw_arg2]; did you mean 'KWARGS[kw_arg2]'?"]),
            ('KWARGS["kw_arg2"]', ["did you mean 'KWARGS[kw_arg2]'?"]),
            ("KWARGS[ kw_arg2 ]", ["did you mean 'KWARGS[kw_arg2]'?"]),
            (
                "ARGS[2]",
                ["'ARGS[2]' is a container and not a tensor: expected one of its leaves, ARGS[2][keyA] (INPUT__"],
            ),
            ("ARGS[3]", ["unknown input 'ARGS[3]': ARGS has [0], [1], [2]"]),
            ("ARGS[0][0]", ["unknown input 'ARGS[0][0]': ARGS[0] is a leaf; did you mean 'ARGS[0]'?"]),
            ("KWARGS", ["'KWARGS' is a container and not a tensor"]),
            ("ARGS[0", ["'ARGS[0' is not the name of an input: expected INPUT__<n>, ARGS[<i>].. or KWARGS[<key>].."]),
            (
                "kwarg1__5",
                ["'kwarg1__5' contradicts itself: 'kwarg1' is KWARGS[kwarg1] (INPUT__4), and index 5 is KWARGS"],
            ),
            ("keyA__5", ["'keyA__5' contradicts itself: 'keyA' is ARGS[2][keyA] (INPUT__2), and index 5 is KWARGS"]),
        ],
    )
    def test_wrong_input(self, wrong: str, fragments: list[str]) -> None:
        errors = self.errors(*self.NAMES[:5], wrong)
        assert [fragment for fragment in fragments if fragment not in errors] == []
        assert "\n" not in errors

    @pytest.mark.parametrize("name", ["INPUT__5", "START__5", "__5", "kw_arg2__5", "KWARGS__5", "x__05"])
    def test_any_text_before_an_index(self, name: str) -> None:
        assert self.errors(*self.NAMES[:5], name) == ""

    def test_two_names_for_one_leaf(self) -> None:
        errors = self.errors(*self.NAMES, "INPUT__0")
        assert (
            errors
            == "'ARGS[0]' and 'INPUT__0' name one and the same input ARGS[0] (INPUT__0): expected one tensor for it"
        )

    def test_slip_in_an_output(self) -> None:
        errors = self.errors("AAA__1", "CCC__4", direction=OUTPUT)
        assert errors == (
            "'AAA__1' contradicts itself: 'AAA' is RESULT[AAA] (OUTPUT__0), and index 1 is RESULT[ZZZ] (OUTPUT__1); "
            "write the one that is meant"
        )

    def test_slip_in_the_key_of_a_dictionary(self) -> None:
        errors = self.errors("ARGS[0]", "ARGS[1]", "key2__2", "keyA__3", *self.NAMES[4:])
        assert (
            "'key2__2' contradicts itself: 'key2' is ARGS[2][key2] (INPUT__3), and index 2 is ARGS[2][keyA]" in errors
        )
        assert "'keyA__3' contradicts itself" in errors
        assert "'KB__6' contradicts itself" in self.errors("KB__6", direction=OUTPUT)
        assert self.errors("ARGS[0]", "ARGS[1]", "keyA__2", "key2__3", *self.NAMES[4:]) == ""

    def test_many_unknown_names(self) -> None:
        errors = self.errors(*(f"n{index}" for index in range(30)))
        assert errors.count("unknown input") == 8
        assert "22 more names are unknown" in errors

    def test_order_of_the_config_means_nothing(self) -> None:
        leaves = [positional(0), keyword("mask", 1)]
        resolution = table(INPUT, leaves, in_order=False).resolve(["a", "INPUT__1"])
        assert resolution.targets[0] is None


X, Y = argument("x", 0), argument("y", 1)
MASK = argument("mask", 2, has_default=True)
POWER = argument("power", 1, ValueKind.OTHER, type="complex", has_default=True)
A, B, C = (entry("options", 0, key) for key in "abc")
ANY = entry("options", 0, "<key>")
ENTRY_OF_1 = entry("options", 1, "a")


class TestArguments:
    """Arguments go by name and index, entries of dictionaries by key."""

    @pytest.mark.parametrize(
        ("declared", "leaves", "expected"),
        [
            (["INPUT__0", "INPUT__1"], [X, Y], ["x", "y"]),
            (["b__1", "a__0"], [X, Y], ["y", "x"]),
            (["__0", "any__thing__1"], [X, Y], ["x", "y"]),
            (["y", "x"], [X, Y], ["y", "x"]),
            (["y", "INPUT__0"], [X, Y], ["y", "x"]),
            (["x__00", "y__1"], [X, Y], ["x", "y"]),
            (["KWARGS[y]", "ARGS[0]"], [X, Y], ["y", "x"]),
            (["mask__2", "x"], [X, POWER, MASK], ["mask", "x"]),
            ([], [MASK], []),
        ],
    )
    def test_index_and_name(self, declared: list[str], leaves: list[Leaf], expected: list[str]) -> None:
        assert inputs(declared, *leaves) == [f"KWARGS[{name}]" for name in expected]

    @pytest.mark.parametrize(
        ("declared", "leaves", "expected"),
        [
            (["b", "a"], [A, B], ["b", "a"]),
            (["a", "options[b]", "ARGS[0][c]"], [A, B, C], ["a", "b", "c"]),
            (["a__0", "b__1"], [A, B], ["a", "b"]),
            (["a__7", "KWARGS[options][b]"], [A, B], ["a", "b"]),  # the index behind a key says nothing
            (["anything", "like__7"], [ANY], ["anything", "like__7"]),
            (["a__0", "b__1"], [ANY], ["a__0", "b__1"]),  # nobody says that the code reads another key
            (["a__0", "b__1"], [A, ANY], ["a", "b__1"]),
            (["options[options]"], [ANY], ["options"]),
            (["options[a b]", "a,b"], [ANY], ["a b", "a,b"]),
        ],
    )
    def test_keys(self, declared: list[str], leaves: list[Leaf], expected: list[str]) -> None:
        assert inputs(declared, *leaves) == [f"KWARGS[options][{key}]" for key in expected]

    @pytest.mark.parametrize(
        ("declared", "expected"),
        [
            (["a__0", "options[a]"], ["a", "options][a"]),  # text and index agree on the argument
            (["ARGS[0]", "a__1"], ["a", "options][a"]),  # and here on the entry
            (["INPUT__0", "options[a]"], ["a", "options][a"]),
        ],
    )
    def test_key_named_like_an_argument(self, declared: list[str], expected: list[str]) -> None:
        leaves = [argument("a", 0), entry("options", 1, "a")]
        assert inputs(declared, *leaves) == [f"KWARGS[{name}]" for name in expected]

    @pytest.mark.parametrize(
        ("declared", "leaves", "expected"),
        [
            (["INPUT__1", "INPUT__0"], [argument("INPUT", 0), Y], ["y", "INPUT"]),
            (["INPUT__0", "INPUT"], [X, entry("options", 1, "INPUT")], ["x", "options][INPUT"]),
        ],
    )
    def test_ordinal_beside_its_text(self, declared: list[str], leaves: list[Leaf], expected: list[str]) -> None:
        assert inputs(declared, *leaves) == [f"KWARGS[{name}]" for name in expected]

    def test_arguments_beside_a_dictionary(self) -> None:
        options = [entry("options", 1, key) for key in "ab"]
        assert inputs(["x__0", "a__1", "b__2"], X, *options) == [
            "KWARGS[x]",
            "KWARGS[options][a]",
            "KWARGS[options][b]",
        ]

    def test_two_dictionaries(self) -> None:
        left, right = (entry(name, index, "a", is_only=False) for index, name in enumerate(("left", "right")))
        assert inputs(["right[a]", "left[a]"], left, right) == ["KWARGS[right][a]", "KWARGS[left][a]"]
        (error,) = table(INPUT, [left, right]).resolve(["a"]).errors
        assert error == "unknown input 'a'"  # either could be meant

    def test_key_that_ends_in_an_index(self) -> None:
        assert inputs(["a__1", "a"], entry("options", 0, "a__1"), A) == ["KWARGS[options][a__1]", "KWARGS[options][a]"]

    @pytest.mark.parametrize(
        ("declared", "leaves", "fragment"),
        [
            (["x", "maks", "y"], [X, Y, MASK], "unknown input 'maks'; did you mean 'mask'?"),
            (["x", "z__2", "y"], [X, Y], "'z__2' is out of range: the number of inputs is 2, counted from 0"),
            (["x", "y__0"], [X, Y], "'y__0' contradicts itself: 'y' is y (INPUT__1), and index 0 is x (INPUT__0)"),
            (["y", "x__7"], [X, Y], "'x__7' contradicts itself: 'x' is x (INPUT__0), and index 7 is out of range"),
            (
                ["x__1"],
                [X, ENTRY_OF_1],
                "'x__1' contradicts itself: 'x' is x (INPUT__0), and index 1 is options; write",
            ),
            (["x[0]", "y"], [X, Y], "unknown input 'x[0]': x is a leaf"),
            (["x]", "y"], [X, Y], "unknown input 'x]'"),
            (["ARGS[2]", "y"], [X, Y], "unknown input 'ARGS[2]': ARGS has [0], [1]"),
            (["x", "x", "y"], [X, Y], "'x' is declared 2 times: expected one tensor of that name"),
            (["x", "INPUT__0"], [X, Y], "'x' and 'INPUT__0' name one and the same input x (INPUT__0): expected one"),
            (["a", "bb"], [A, B], "unknown input 'bb'; did you mean 'b'?"),
            (["a", "options[d]"], [A, B], "unknown input 'options[d]': options has [a], [b]"),
            (
                ["options"],
                [A, B],
                "'options' is a container and not a tensor: expected one of its leaves, options[a], opt",
            ),
            (
                ["options"],
                [ANY],
                "'options' is a container and not a tensor: expected one of its leaves, options[<key>]",
            ),
            (["INPUT__0"], [A, B], "'INPUT__0' is a container and not a tensor"),
            (["INPUT__5"], [ANY], "'INPUT__5' is out of range: the number of inputs is 1"),  # and not a key
            (["a", "a__0"], [A, B], "'a' and 'a__0' name one and the same input options[a]"),
        ],
    )
    def test_wrong_input(self, declared: list[str], leaves: list[Leaf], fragment: str) -> None:
        errors = table(INPUT, leaves).resolve(declared).errors
        assert [error for error in errors if error.startswith(fragment)], errors

    def test_name_that_two_arguments_answer_to(self) -> None:
        leaves = [X, Y, argument("z__1", 2)]
        (error,) = table(INPUT, leaves).resolve(["z__1"]).errors
        assert error == "'z__1' can mean z__1 (INPUT__2) or y (INPUT__1): expected a name that only one of them has"


class TestOrder:
    """Names that mean nothing are taken in the order of the config, never beside entries of a dictionary."""

    @pytest.mark.parametrize(
        ("declared", "leaves", "expected", "unknown"),
        [
            (["first", "second"], [X, POWER, MASK], ["x", "mask"], "'first', 'second'"),
            (["first"], [X, MASK], ["x"], "'first'"),
            (["INPUTA", "INPUT__1"], [X, Y], ["x", "y"], "'INPUTA'"),
            (["x", "INPUTB", "mask"], [X, Y, MASK], ["x", "y", "mask"], "'INPUTB'"),
        ],
    )
    def test_inputs(self, declared: list[str], leaves: list[Leaf], expected: list[str], unknown: str) -> None:
        resolution = table(INPUT, leaves).resolve(declared)
        assert texts(resolution) == [f"KWARGS[{name}]" for name in expected]
        (warning,) = resolution.warnings
        assert warning.startswith(f"the model has no input named {unknown}: the order of the config decides, so '")
        assert f"'{declared[0]}' is x (INPUT__0)" in warning

    @pytest.mark.parametrize(
        ("declared", "leaves", "error"),
        [
            (["INPUT__1", "INPUTA"], [X, Y], "unknown input 'INPUTA'"),  # not at its own place
            (["INPUTA", "INPUT__1"], [X, Y, MASK], "unknown input 'INPUTA'"),  # another number of tensors
            (["a", "b", "c"], [X, Y], "the number of declared inputs is 3, but the model takes 2"),
            (["a"], [], "the number of declared inputs is 1, but the model takes 0"),
            (["a", "a"], [X, Y], "'a' is declared 2 times: expected one tensor of that name"),
            (["p", "q"], [A, B], "unknown input 'p'"),
            (["p", "q"], [X, entry("options", 1, "a")], "unknown input 'p'"),
        ],
    )
    def test_refused(self, declared: list[str], leaves: list[Leaf], error: str) -> None:
        resolution = table(INPUT, leaves).resolve(declared)
        assert resolution.errors[0].startswith(error)

    @pytest.mark.parametrize(
        ("declared", "leaves", "has_more", "expected"),
        [
            (["y"], [part(index=0)], False, ["RESULT"]),
            (["y", "z"], [part(str(index), index=index) for index in range(3)], False, ["RESULT[0]", "RESULT[1]"]),
            (["y", "z"], [part("<index>")], True, ["index 0", "index 1"]),
            (["y", "z"], [part("0", index=0), part("1", "<index>")], True, ["RESULT[0]", "index 1"]),
            (["y"], [part(kind=ValueKind.UNKNOWN)], True, ["index 0"]),
        ],
    )
    def test_outputs(self, declared: list[str], leaves: list[Leaf], has_more: bool, expected: list[str]) -> None:
        resolution = table(OUTPUT, leaves, has_more=has_more).resolve(declared)
        assert texts(resolution) == expected
        assert len(resolution.warnings) == 1


PAIR = (part("0", index=0), part("1", index=1))
NAMED = tuple(
    part(str(index), index=index, others=(f"RESULT[{name}]", name), owner=name)
    for index, name in enumerate(("first", "second"))
)
KEYED = tuple(
    part(key, index=index, others=(key,), owner=key, is_entry=True) for index, key in enumerate(("boxes", "labels"))
)
OPEN_KEYS = part("<key>", others=("<key>",), is_entry=True)
OPEN_LIST = part("<index>")


class TestResults:
    """Parts of a result go by path and index, and those at its top by key or field."""

    @pytest.mark.parametrize(
        ("declared", "leaves", "expected"),
        [
            (["RESULT"], [part(index=0)], ["RESULT"]),
            (["anything__0"], [part(index=0)], ["RESULT"]),
            (["b__1", "RESULT[0]"], PAIR, ["RESULT[1]", "RESULT[0]"]),
            (["second", "first"], NAMED, ["RESULT[1]", "RESULT[0]"]),
            (["RESULT[second]", "first__0"], NAMED, ["RESULT[1]", "RESULT[0]"]),
            (["labels", "boxes__0"], KEYED, ["RESULT[labels]", "RESULT[boxes]"]),
            (["RESULT[labels]", "n__0"], KEYED, ["RESULT[labels]", "RESULT[boxes]"]),
            (["OUTPUT__1"], (part("OUTPUT", index=0, owner="OUTPUT"), part("b", index=1, owner="b")), ["RESULT[b]"]),
        ],
    )
    def test_known(self, declared: list[str], leaves: Sequence[Leaf], expected: list[str]) -> None:
        assert outputs(declared, *leaves) == expected

    @pytest.mark.parametrize(
        ("declared", "leaves", "expected"),
        [
            (["RESULT[7]", "a__2"], [OPEN_LIST], ["RESULT[7]", "index 2"]),
            (["a__0", "a__1"], [part("0", index=0), part("1", "<index>")], ["RESULT[0]", "index 1"]),
            (["x", "RESULT[y]", "z__1"], [OPEN_KEYS], ["RESULT[x]", "RESULT[y]", "index 1"]),
            (["RESULT[a b]", "a,b"], [OPEN_KEYS], ["RESULT[a b]", "RESULT[a,b]"]),
            (["RESULT[0][k]", "RESULT[1]"], [part(kind=ValueKind.UNKNOWN)], ["RESULT[0][k]", "RESULT[1]"]),
            (["RESULT[0][boxes]"], [part("<index>", "boxes", is_entry=True)], ["RESULT[0][boxes]"]),
        ],
    )
    def test_open(self, declared: list[str], leaves: Sequence[Leaf], expected: list[str]) -> None:
        assert outputs(declared, *leaves, has_more=True) == expected

    def test_index_that_only_the_answer_can_tell(self) -> None:
        leaves = [part("0", index=0), part("1", "0"), part("2")]  # where element 1 may be None
        assert outputs(["a__2", "a__0"], *leaves) == ["index 2", "RESULT[0]"]
        (error,) = table(OUTPUT, leaves).resolve(["a__3"]).errors
        assert error == "'a__3' is out of range: the number of outputs is 3, counted from 0"

    @pytest.mark.parametrize(
        ("declared", "leaves", "has_more", "fragment"),
        [
            (
                ["RESULT[0]"],
                [part(index=0)],
                False,
                "unknown output 'RESULT[0]': RESULT is a leaf; did you mean 'RESULT'?",
            ),
            (["RESULT[2]"], PAIR, False, "unknown output 'RESULT[2]': RESULT has [0], [1]"),
            (["RESULT[x]"], [OPEN_LIST], True, "unknown output 'RESULT[x]': RESULT has [<index>]"),
            (["RESULT[01]"], [OPEN_LIST], True, "unknown output 'RESULT[01]'"),
            (
                ["RESULT"],
                PAIR,
                False,
                "'RESULT' is a container and not a tensor: expected one of its leaves, RESULT[0] (",
            ),
            (["labls"], KEYED, False, "unknown output 'labls'; did you mean 'labels'?"),
            (
                ["labels__0"],
                KEYED,
                False,
                "'labels__0' contradicts itself: 'labels' is RESULT[labels] (OUTPUT__1), and ",
            ),
            (["first__1"], NAMED, False, "'first__1' contradicts itself"),
            (["y__2"], PAIR, False, "'y__2' is out of range: the number of outputs is 2"),
            (
                ["RESULT[0", "y"],
                PAIR,
                False,
                "'RESULT[0' is not the name of an output: expected OUTPUT__<n>, RESULT or",
            ),
            (["result[0]"], PAIR, False, "'result[0]' is not the name of an output"),
            (["ARGS[0]"], PAIR, False, "'ARGS[0]' names an input, but is declared as an output"),
            (["INPUT__0"], PAIR, False, "'INPUT__0' names an input, but is declared as an output"),
            (["RESULT[0]", "y__0"], PAIR, False, "'RESULT[0]' and 'y__0' name one and the same output RESULT[0] (OUTP"),
            (["x", "RESULT[x]"], [OPEN_KEYS], True, "'x' and 'RESULT[x]' name one and the same output"),
        ],
    )
    def test_wrong(self, declared: list[str], leaves: Sequence[Leaf], has_more: bool, fragment: str) -> None:
        errors = table(OUTPUT, leaves, has_more=has_more).resolve(declared).errors
        assert [error for error in errors if error.startswith(fragment)], errors


def test_inventory() -> None:
    assert inventory(INPUT, [leaf.names for leaf in (X, POWER, A, ANY)]) == (
        "the inputs of the model are x (INPUT__0), power (INPUT__1), options[a], options[<key>]"
    )
    assert inventory(OUTPUT, []) == "the model has no outputs"
