"""TorchScript models answer what eager torch answers, under any names; what cannot be served is refused at load."""

import re
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from triton_pytorch.model_config.errors import ConfigError, ModelRunError
from triton_pytorch.tests.assets import scripts
from triton_pytorch.tests.assets.configs import tensor_config
from triton_pytorch.tests.integration.script_models import ONE_STRING, Archive, opened, strings

NUMBERS = [
    tensor_config("sr", torch.int64, (1,)),
    tensor_config("gain", torch.float64, (1,)),
    tensor_config("flips", torch.bool, (1,), optional=True),
    tensor_config("extra", torch.int16, (1,), optional=True),
    tensor_config("share", torch.float32, (1,), optional=True),
]
X, Y, Z = torch.tensor([1.0, 2.0]), torch.tensor([30.0, 40.0]), torch.tensor([5.0, 7.0])


@pytest.fixture(scope="session")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Archive:
    """A function that returns the archive of a module by the name of its class, scripted or traced on examples."""
    directory = tmp_path_factory.mktemp("scripts")

    def path_of(name: str, *examples: Any) -> Path:
        path = directory / f"{name}{'.traced' if examples else ''}.pt"
        if not path.exists():
            module = getattr(scripts, name)()
            _ = scripts.traced(module, path, *examples) if examples else scripts.scripted(module, path)
        return path

    return path_of


def assert_equal(outputs: dict[str, Any], expected: dict[str, Any]) -> None:
    assert outputs.keys() == expected.keys()
    for name, value in expected.items():
        if isinstance(value, Tensor):
            assert outputs[name].dtype is value.dtype, name
            assert torch.equal(outputs[name], value), name
        else:
            assert outputs[name] == value, name


class TestArguments:
    @pytest.mark.parametrize(("x", "y"), [("x", "y"), ("INPUT__0", "KWARGS[y]"), ("a__0", "y__1"), ("ARGS[0]", "b__1")])
    @pytest.mark.parametrize("is_turned", [False, True])
    def test_arguments_by_any_name(self, archive: Archive, x: str, y: str, is_turned: bool) -> None:
        script = opened(archive("Arithmetic"), [y, x] if is_turned else [x, y], ["RESULT"])
        assert script.warnings == ()
        assert_equal(script.answer({x: X, y: Y}), {"RESULT": scripts.Arithmetic()(X, Y)})

    @pytest.mark.parametrize(("names", "unknown"), [(("first", "second"), "'first', 'second'"), (("x", "y_"), "'y_'")])
    def test_arguments_in_config_order(self, archive: Archive, names: tuple[str, str], unknown: str) -> None:
        script = opened(archive("Difference"), names, ["difference"])
        assert_equal(script.answer(dict(zip(names, (X, Y), strict=True))), {"difference": X - Y})
        of_inputs, of_outputs = script.warnings
        assert of_inputs == (
            f"the model has no input named {unknown}: the order of the config decides, so '{names[0]}' is x (INPUT__0),"
            f" '{names[1]}' is y (INPUT__1)"
        )
        assert of_outputs.endswith("so 'difference' is RESULT (OUTPUT__0)")

    def test_optional_argument(self, archive: Archive) -> None:
        bias = tensor_config("bias", optional=True)
        script = opened(archive("Arithmetic"), [bias, "x", "y"], ["RESULT"])
        eager = scripts.Arithmetic()
        assert_equal(script.answer({"x": X, "y": Y, "bias": Z}), {"RESULT": eager(X, Y, Z)})
        assert_equal(script.answer({"x": X, "y": Y}), {"RESULT": eager(X, Y)})

    @pytest.mark.parametrize("declared", [["a"], ["b", "a"], ["c", "a"], ["c", "b", "a"]])
    def test_arguments_left_out_of_the_config(self, archive: Archive, declared: list[str]) -> None:
        script = opened(archive("Defaults"), declared, ["RESULT"])
        sent = {name: value for name, value in {"a": X, "b": Y, "c": Z}.items() if name in declared}
        eager = scripts.Defaults()
        assert_equal(script.answer(sent), {"RESULT": eager(**sent)})
        assert_equal(script.answer({"a": Z}), {"RESULT": eager(Z)})

    def test_numbers(self, archive: Archive) -> None:
        declared = ["x", *NUMBERS]
        script = opened(archive("Resamples"), declared, ["RESULT"])
        eager = scripts.Resamples()
        for sent in (
            {"sr": 8000, "gain": 0.5},
            {"sr": -1, "gain": float("inf"), "flips": True},
            {"sr": 0, "gain": 1e-300, "flips": False, "extra": 0, "share": 0.25},
        ):
            assert_equal(script.answer({"x": X, **sent}), {"RESULT": eager(X, **sent)})

    def test_numbers_left_out_of_the_config(self, archive: Archive) -> None:
        script = opened(archive("Resamples"), ["x", *NUMBERS[:2]], ["RESULT"])
        assert_equal(script.answer({"x": X, "sr": 3, "gain": 0.5}), {"RESULT": 3 * X + 0.5})

    def test_numbers_by_index_and_in_config_order(self, archive: Archive) -> None:
        sr, gain = tensor_config("b", torch.int32, (1,)), tensor_config("c", dims=(1,))
        for names in (("x__0", "sr__1", "c__2"), ("ARGS[0]", "KWARGS[sr]", "ARGS[2]"), ("a", "b", "c")):
            entries = [names[0], {**sr, "name": names[1]}, {**gain, "name": names[2]}]
            script = opened(archive("Resamples"), entries, ["RESULT"])
            assert len(script.warnings) == (len(names[0]) == 1)
            answered = script.answer(dict(zip(names, (X, 3, 0.5), strict=True)))
            assert_equal(answered, {"RESULT": 3 * X + 0.5})

    def test_optional_number_without_default(self, archive: Archive) -> None:
        power = tensor_config("power", torch.int64, (1,))
        assert_equal(
            opened(archive("NeedsOptional"), ["x", power], ["RESULT"]).answer({"x": X, "power": 2}), {"RESULT": X**2}
        )
        for inputs, said in ((["x"], "no tensor for power"), (["x", {**power, "optional": True}], "has no default")):
            with pytest.raises(ConfigError, match=said):
                opened(archive("NeedsOptional"), inputs, ["RESULT"])

    def test_method_other_than_forward(self, archive: Archive) -> None:
        script = opened(archive("Arithmetic"), ["x"], ["RESULT"], method="twice")
        assert_equal(script.answer({"x": X}), {"RESULT": 2 * X})

    def test_traced_module(self, archive: Archive) -> None:
        script = opened(archive("Arithmetic", X, Y), ["y", "x"], ["RESULT"])
        assert_equal(script.answer({"x": Y, "y": Z}), {"RESULT": scripts.Arithmetic()(Y, Z)})


class TestDictionaries:
    @pytest.mark.parametrize(("a", "b"), [("a", "b"), ("a__0", "b__1"), ("options[a]", "ARGS[0][b]")])
    @pytest.mark.parametrize("is_traced", [False, True])
    def test_keys_that_the_code_reads(self, archive: Archive, a: str, b: str, is_traced: bool) -> None:
        examples = [{"a": X, "b": Y}] if is_traced else []
        script = opened(archive("ReadsKeys", *examples), [b, a], ["difference", "RESULT[a]"])
        expected = scripts.ReadsKeys()({"a": X, "b": Y})
        assert_equal(script.answer({a: X, b: Y}), {"difference": expected["difference"], "RESULT[a]": expected["a"]})

    def test_optional_key(self, archive: Archive) -> None:
        script = opened(archive("ReadsKeys"), ["a", "b", tensor_config("bias", optional=True)], ["difference"])
        assert_equal(script.answer({"a": X, "b": Y}), {"difference": X - Y})
        assert_equal(script.answer({"a": X, "b": Y, "bias": Z}), {"difference": X - Y + Z})

    @pytest.mark.parametrize("declared", [["a"], ["a", "b"], ["a", tensor_config("b", optional=True)]])
    def test_key_that_the_code_may_put_itself(self, archive: Archive, declared: list[Any]) -> None:
        script = opened(archive("PutsKeys"), declared, ["RESULT"])
        assert_equal(script.answer({"a": X}), {"RESULT": 11 * X})
        if len(declared) > 1:
            assert_equal(script.answer({"a": X, "b": Y}), {"RESULT": X + Y})

    def test_keys_read_in_a_submodule(self, archive: Archive) -> None:
        script = opened(archive("KeysInSubmodule"), ["b", tensor_config("shift", optional=True), "x", "a"], ["RESULT"])
        eager = scripts.KeysInSubmodule()
        options = {"a": Y, "b": Z}
        assert_equal(script.answer({"x": X, **options}), {"RESULT": eager(X, options)})
        assert_equal(script.answer({"x": X, **options, "shift": X}), {"RESULT": eager(X, options, X)})

    def test_keys_that_only_the_config_knows(self, archive: Archive) -> None:
        script = opened(archive("AnyKeys"), ["p", tensor_config("q__1", optional=True)], ["q__1", "p"])
        answered = script.answer({"p": X})
        assert torch.equal(answered["p"], 2 * X)
        assert str(answered["q__1"]) == (
            "output 'q__1' (OUTPUT__1) is not in this answer: the number of outputs is 1, counted from 0"
        )

    def test_two_dictionaries(self, archive: Archive) -> None:
        script = opened(archive("TwoDictionaries"), ["right[x]", "left[x]"], ["RESULT"])
        assert_equal(script.answer({"left[x]": X, "right[x]": Y}), {"RESULT": X - Y})


class TestStrings:
    @pytest.mark.parametrize("words", [[], ["", "ü", "日本\n\0語"], ["x" * 1_000_000]])
    def test_lists_of_strings(self, archive: Archive, words: list[str]) -> None:
        x = torch.arange(2.0 * len(words)).reshape(-1, 2)
        inputs = [strings("words"), tensor_config("x", dims=(-1, 2))]
        script = opened(archive("Strings"), inputs, [strings("RESULT[0]"), tensor_config("RESULT[1]", dims=(-1, 2))])
        # TorchScript counts bytes.
        lengths = torch.tensor([len(word.encode()) for word in words], dtype=torch.int64).reshape(-1, 1)
        assert_equal(
            script.answer({"words": words, "x": x}),
            {"RESULT[0]": [f"{word}!" for word in words], "RESULT[1]": x + lengths},
        )

    def test_one_string_in_each_row(self, archive: Archive) -> None:
        script = opened(
            archive("Strings"),
            [tensor_config("x", dims=(1,)), strings("words", **ONE_STRING)],
            [tensor_config("n__1", dims=(1,)), strings("s__0", **ONE_STRING)],
            max_batch_size=8,
        )
        answered = script.answer({"x": X.reshape(2, 1), "words": ["a", "bc"]})
        assert_equal(answered, {"n__1": torch.tensor([[2.0], [4.0]]), "s__0": ["a!", "bc!"]})

    def test_string_cut_within_a_character(self, archive: Archive) -> None:
        script = opened(archive("CutsStrings"), [strings("words")], [strings("RESULT")])
        assert_equal(script.answer({"words": ["abc", ""]}), {"RESULT": ["a", ""]})
        with pytest.raises(ModelRunError, match=r"^the model returned a string that is not valid UTF-8$"):
            script.answer({"words": ["ü"]})


class TestResults:
    NESTED = ("RESULT[0]", "RESULT[1][0]", "RESULT[1][1]", "RESULT[2][names]", "RESULT[3][0][k]", "RESULT[3][1][k]")

    def nested(self, x: Tensor) -> list[Any]:
        first, parts, by_key, records = scripts.Nested()(x)
        return [first, *parts, by_key["names"], records[0]["k"], records[1]["k"], records[1]["l"]]

    def test_every_leaf_by_path_and_by_index(self, archive: Archive) -> None:
        x = torch.tensor([2.0, 3.0])
        leaves = self.nested(x)
        for names in (self.NESTED, [f"any__{index}" for index in range(7)]):
            outputs = [strings(name) if index == 3 else name for index, name in enumerate(names)]
            expected = dict(zip(names, leaves, strict=False))
            assert_equal(opened(archive("Nested"), ["x"], outputs).answer({"x": x}), expected)
            assert_equal(opened(archive("Nested"), ["x"], outputs[::-1]).answer({"x": x}), expected)

    def test_list_that_is_shorter_in_one_answer(self, archive: Archive) -> None:
        script = opened(archive("Nested"), ["x"], ["RESULT[1][1]", "RESULT[0]", "n__6"])
        x = torch.tensor([1.0, 3.0])
        answered = script.answer({"x": x})
        assert isinstance(answered["RESULT[1][1]"], ModelRunError)
        assert str(answered["RESULT[1][1]"]) == (
            "output 'RESULT[1][1]' is not in this answer: RESULT[1] is a list with 1 element"
        )
        assert torch.equal(answered["RESULT[0]"], x)
        assert isinstance(answered["n__6"], ModelRunError)

    def test_detections(self, archive: Archive) -> None:
        outputs = ["RESULT[0][boxes]", tensor_config("RESULT[1][labels]", torch.int64), "RESULT[0][masks]"]
        script = opened(archive("Detections"), ["images"], outputs)
        images = torch.tensor([[1.5, 2.0], [3.0, 4.0]])
        answered = script.answer({"images": images})
        expected = scripts.Detections()(images)
        assert torch.equal(answered["RESULT[0][boxes]"], expected[0]["boxes"])
        assert torch.equal(answered["RESULT[1][labels]"], expected[1]["labels"])
        assert str(answered["RESULT[0][masks]"]) == (
            "output 'RESULT[0][masks]' is not in this answer: RESULT[0] is a dictionary with the keys boxes, labels"
        )
        empty = script.answer({"images": images[:0]})
        assert str(empty["RESULT[0][boxes]"]).endswith("is not in this answer: RESULT is a list with 0 elements")

    @pytest.mark.parametrize("left", ["left", "RESULT[left]", "RESULT[0]", "left__0"])
    @pytest.mark.parametrize("right", ["RESULT[right][1]", "RESULT[1][1]"])
    def test_named_tuple(self, archive: Archive, left: str, right: str) -> None:
        script = opened(archive("Named"), ["x"], [right, left])
        assert script.warnings == ()
        assert_equal(script.answer({"x": X}), {right: X + 2, left: X})

    def test_named_tuple_within_a_list(self, archive: Archive) -> None:
        script = opened(archive("NamedParts"), ["x"], ["RESULT[1][range][high]", "RESULT[0][score]"])
        first, second = scripts.NamedParts()(X)
        expected = {"RESULT[1][range][high]": second.range.high, "RESULT[0][score]": first.score}
        assert_equal(script.answer({"x": X}), expected)

    def test_numbers_strings_and_none(self, archive: Archive) -> None:
        outputs = [
            tensor_config("count__0", torch.int64),
            tensor_config("RESULT[1]", torch.float64),
            tensor_config("RESULT[2]", torch.bool),
            strings("RESULT[3]"),
            "RESULT[4]",
            tensor_config("RESULT[6][1]", torch.int64),
        ]
        script = opened(archive("Numbers"), ["x"], outputs)
        assert_equal(
            script.answer({"x": X}),
            {
                "count__0": torch.tensor(2),
                "RESULT[1]": torch.tensor(3.0, dtype=torch.float64),
                "RESULT[2]": torch.tensor(False),
                "RESULT[3]": ["2 elements"],
                "RESULT[4]": None,
                "RESULT[6][1]": torch.tensor(7),
            },
        )
        three = torch.arange(3.0)
        assert torch.equal(script.answer({"x": three})["RESULT[4]"], three)

    def test_strings_beside_a_tensor_in_a_dictionary(self, archive: Archive) -> None:
        script = opened(archive("Record"), ["x"], ["scores", strings("RESULT[labels]")])
        x = torch.tensor([-1.5, 2.0])
        assert_equal(script.answer({"x": x}), {"scores": x.abs(), "RESULT[labels]": ["low", "high"]})

    @pytest.mark.parametrize(
        ("output", "number", "expected"),
        [
            ("RESULT", 1, torch.zeros(1)),
            ("RESULT", 2, "output 'RESULT' is a list with 2 elements in this answer: expected a tensor or a number"),
            ("RESULT[1]", 2, torch.tensor([1.0, 2.0])),
            ("RESULT[k][0]", 3, torch.arange(3.0)),
            ("RESULT[k][0]", 2, "output 'RESULT[k][0]' is not in this answer: RESULT is a list with 2 elements"),
            ("any__1", 3, torch.arange(1.0, 4.0)),
            (strings("RESULT[none]"), 3, []),
        ],
    )
    def test_type_that_only_the_answer_tells(self, archive: Archive, output: Any, number: int, expected: Any) -> None:
        script = opened(archive("Anything"), ["x"], [output])
        (value,) = script.answer({"x": torch.arange(float(number))}).values()
        if isinstance(expected, str):
            assert isinstance(value, ModelRunError)
            assert str(value) == expected
        else:
            assert_equal({"": value}, {"": expected})

    @pytest.mark.parametrize(
        ("name", "count"), [("GrowsWithin", 4), ("GrowsAsValue", 4), ("TwoResults", 4), ("PutsSometimes", 2)]
    )
    @pytest.mark.parametrize("sign", [1, -1])
    def test_index_follows_the_answer(self, archive: Archive, name: str, count: int, sign: int) -> None:
        x = sign * torch.tensor([1.0, 2.0])
        leaves = torch.utils._pytree.tree_leaves(getattr(scripts, name)()(x))
        script = opened(archive(name), ["x"], [f"OUTPUT__{index}" for index in range(count)])
        answers = script.answer({"x": x})
        for index, expected in enumerate(leaves):
            assert torch.equal(answers[f"OUTPUT__{index}"], expected)
        assert all(isinstance(answers[f"OUTPUT__{index}"], ModelRunError) for index in range(len(leaves), count))


WORDS = strings("words")


@pytest.mark.parametrize(
    ("module", "inputs", "outputs", "fragment"),
    [
        ("Arithmetic", ["x"], ["RESULT"], "no tensor for y (INPUT__1): every input needs one"),
        ("Arithmetic", ["x", "z"], ["RESULT"], "unknown input 'z'"),
        ("Arithmetic", ["x", "y__0"], ["RESULT"], "'y__0' contradicts itself: 'y' is y (INPUT__1), and index 0 is x"),
        ("Arithmetic", ["x", "y", "k__3"], ["RESULT"], "'k__3' is declared TYPE_FP32, but the model takes int: decl"),
        ("Resamples", ["x", NUMBERS[1]], ["RESULT"], "no tensor for sr (INPUT__1): every input needs one"),
        (
            "Resamples",
            ["x", NUMBERS[0], tensor_config("gain")],
            ["RESULT"],
            "input 'gain' is declared with dims [-1], but the model takes float, which is one number: declare dims: [ ",
        ),
        ("Arithmetic", ["p", "q", "r", "s"], ["RESULT"], "number of declared inputs is 4, but the model takes 3"),
        (
            "Arithmetic",
            [tensor_config("x", optional=True), "y"],
            ["RESULT"],
            "input 'x' is optional, but the model has",
        ),
        ("Arithmetic", [strings("x"), "y"], ["RESULT"], "input 'x' is declared TYPE_STRING, but the model takes a te"),
        ("Arithmetic", ["x", "y"], [], "the config declares no output, so that nothing would be answered: the model"),
        ("Arithmetic", ["x", "y"], ["RESULT[0]"], "RESULT is a leaf; did you mean 'RESULT'?"),
        ("Arithmetic", ["x", "y"], ["a", "b"], "the number of declared outputs is 2, but the model returns 1"),
        ("Arithmetic", ["x", "y"], [strings("RESULT")], "is declared TYPE_STRING, but the model returns Tensor"),
        ("ReadsKeys", ["a", "bb"], ["difference"], "unknown input 'bb'; did you mean 'b'?"),
        ("ReadsKeys", ["a"], ["difference"], "no tensor for options[b]"),
        ("ReadsKeys", ["options"], ["difference"], "'options' is a container and not a tensor: expected one of its le"),
        ("ReadsKeys", [tensor_config("a", optional=True), "b"], ["a"], "input 'a' is optional, but the model has no d"),
        ("ReadsKeys", [strings("a"), "b"], ["a"], "input 'a' is declared TYPE_STRING, but the model takes a tensor th"),
        ("ReadsKeys", ["a", "b"], ["differences"], "unknown output 'differences'; did you mean 'difference'?"),
        ("ReadsKeys", ["a", "b"], ["n__2"], "'n__2' is out of range: the number of outputs is 2"),
        ("AnyKeys", [], ["p"], "no tensor for options[<key>]"),
        ("TwoDictionaries", ["x", "right[x]"], ["RESULT"], "unknown input 'x'"),
        ("NeedsNumber", ["x"], ["RESULT"], "argument 'sizes' is of type List[int] and has no default, but requests ca"),
        ("Strings", [strings("words", (-1, 2)), "x"], ["n__1"], "'words' is TYPE_STRING with dims [-1, 2], but a list"),
        ("Strings", ["words", "x"], ["n__1"], "input 'words' is declared TYPE_FP32, but the model takes List[str]"),
        ("Strings", [WORDS, "x"], [strings("n__0", (2, 2))], "output 'n__0' is TYPE_STRING with dims [2, 2], but a"),
        ("Strings", [WORDS, "x"], ["RESULT[0]"], "but the model returns List[str]: declare TYPE_STRING"),
        ("Nested", ["x"], ["RESULT[1][x]"], "unknown output 'RESULT[1][x]': RESULT[1] has [<index>]"),
        ("Nested", ["x"], ["RESULT[2][nam]"], "RESULT[2] has [names]; did you mean 'RESULT[2][names]'?"),
        ("Nested", ["x"], ["RESULT[3][2][k]"], "RESULT[3] has [0], [1]"),
        ("Named", ["x"], ["left", "lefts"], "unknown output 'lefts'; did you mean 'left'?"),
        ("Numbers", ["x"], ["RESULT[0]"], "declared TYPE_FP32, but the model returns int: declare TYPE_INT64"),
        ("Numbers", ["x"], ["RESULT[3]"], "declared TYPE_FP32, but the model returns str: declare TYPE_STRING"),
        ("Numbers", ["x"], ["RESULT[5]"], "output 'RESULT[5]' is always None"),
    ],
)
def test_refused_config(archive: Archive, module: str, inputs: list[Any], outputs: list[Any], fragment: str) -> None:
    with pytest.raises(ConfigError) as caught:
        opened(archive(module), inputs, outputs)
    assert fragment.lower() in str(caught.value).lower()
    assert "\n" not in str(caught.value)


def test_refused_strings_of_several_columns(archive: Archive) -> None:
    with pytest.raises(ConfigError, match=re.escape("declare dims: [ 1 ] and reshape: { shape: [ ] }")):
        opened(archive("Strings"), [strings("words", (1,)), "x"], ["n__1"], max_batch_size=4)


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("twize", "the model has no method 'twize': name one of forward, twice in the parameter MODULE_METHOD_NAME"),
        ("scale", "the model has no method 'scale'"),  # an attribute
    ],
)
def test_refused_method(archive: Archive, method: str, expected: str) -> None:
    with pytest.raises(ConfigError, match=f"^{re.escape(expected)}"):
        opened(archive("Arithmetic"), ["x"], ["RESULT"], method=method)


def test_all_errors_in_one(archive: Archive) -> None:
    with pytest.raises(ConfigError) as caught:
        opened(archive("Strings"), ["words", strings("x"), "q__9"], [strings("RESULT[1]"), "RESULT[0][0]"])
    assert str(caught.value) == (
        "'q__9' is out of range: the number of inputs is 2, counted from 0."
        " The inputs of the model are words (INPUT__0), x (INPUT__1)."
        " Unknown output 'RESULT[0][0]': RESULT[0] is a leaf; did you mean 'RESULT[0]'?"
        " The outputs of the model are RESULT[0] (OUTPUT__0), RESULT[1] (OUTPUT__1)."
        " Input 'words' is declared TYPE_FP32, but the model takes List[str]: declare TYPE_STRING."
        " Input 'x' is declared TYPE_STRING, but the model takes a tensor there: declare the data type of the tensor."
        " Output 'RESULT[1]' is declared TYPE_STRING, but the model returns Tensor: declare the data type of the"
        " tensor."
    )


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        (1, "index out of range in self"),
        (2, "mat1 and mat2 shapes cannot be multiplied (1x3 and 2x2)"),
        (3, "ValueError: negative values, such as -1: are not taken"),
        (4, "AssertionError: too little"),
        (5, "KeyError: several lines: of text"),
        (6, "list index out of range"),
        (7, "RuntimeError"),
        (8, "ZeroDivisionError"),
        (9, "division by 0"),
        (10, "shape '[2, 2]' is invalid for input of size 3"),
        (11, "Expected 2 elements in a list but found 3"),
        (12, "expected m1 and m2 to have the same dtype, but got: double != float"),
    ],
)
def test_failing_model_says_why_in_one_line(archive: Archive, how: int, expected: str) -> None:
    script = opened(archive("Fails"), [tensor_config("how", torch.int64), "x"], ["RESULT"])
    with pytest.raises(ModelRunError, match=f"^{re.escape(expected)}$") as caught:
        script.answer({"how": torch.tensor(how), "x": torch.tensor([9.0, 0.0, 0.0])})
    assert caught.value.whole is not None
    assert "Traceback of TorchScript" in caught.value.whole
    assert torch.equal(script.answer({"how": torch.tensor(0), "x": X})["RESULT"], X)
