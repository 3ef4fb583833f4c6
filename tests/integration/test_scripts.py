"""TorchScript models answer what eager torch answers, under any names; what cannot be served is refused at load."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from triton_pytorch.execution.loop import RunLoop
from triton_pytorch.model_config.errors import ConfigError, ModelRunError, NamingError
from triton_pytorch.tests.assets import scripts
from triton_pytorch.tests.assets.configs import tensor_config
from triton_pytorch.tests.integration import fake_triton
from triton_pytorch.tests.integration.script_models import ONE_STRING, answer, config_of, opened, strings

X, Y, Z = torch.tensor([1.0, 2.0]), torch.tensor([30.0, 40.0]), torch.tensor([5.0, 7.0])
Archive = Callable[..., Path]


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
    @pytest.mark.parametrize(
        ("x", "y"), [("x", "y"), ("INPUT__0", "INPUT__1"), ("a__0", "y"), ("x__0", "x__1"), ("x", "y__1")]
    )
    @pytest.mark.parametrize("is_turned", [False, True])
    def test_by_index_or_name(self, archive: Archive, x: str, y: str, is_turned: bool) -> None:
        model = opened(archive("Arithmetic"), [y, x] if is_turned else [x, y], ["RESULT"])
        assert [leaf.names for leaf in model.inputs] == [(x,), (y,)]
        assert [leaf.has_default for leaf in model.inputs] == [False, False]
        assert model.warnings == ()
        assert_equal(answer(model, {x: X, y: Y}), {"RESULT": scripts.Arithmetic()(X, Y)})

    def test_by_the_order_of_the_config(self, archive: Archive) -> None:
        model = opened(archive("Arithmetic"), ["first", "second"], ["difference"])
        assert_equal(answer(model, {"first": X, "second": Y}), {"difference": scripts.Arithmetic()(X, Y)})
        of_inputs, of_outputs = model.warnings
        assert of_inputs.endswith("so 'first' is x (INPUT__0), 'second' is y (INPUT__1)")
        assert of_outputs.endswith("so 'difference' is RESULT")

    def test_an_optional_one_that_was_sent_or_not(self, archive: Archive) -> None:
        bias = tensor_config("bias", optional=True)
        model = opened(archive("Arithmetic"), [bias, "x", "y"], ["RESULT"])
        assert [(leaf.names, leaf.has_default) for leaf in model.inputs][2] == (("bias",), True)
        eager = scripts.Arithmetic()
        assert_equal(answer(model, {"x": X, "y": Y, "bias": Z}), {"RESULT": eager(X, Y, Z)})
        assert_equal(answer(model, {"x": X, "y": Y}), {"RESULT": eager(X, Y)})

    @pytest.mark.parametrize("declared", [["a"], ["b", "a"], ["c", "a"], ["c", "b", "a"]])
    def test_gaps_between_them(self, archive: Archive, declared: list[str]) -> None:
        model = opened(archive("Defaults"), declared, ["RESULT"])
        sent = {name: value for name, value in {"a": X, "b": Y, "c": Z}.items() if name in declared}
        eager = scripts.Defaults()
        assert_equal(answer(model, sent), {"RESULT": eager(**sent)})
        assert_equal(answer(model, {"a": Z}), {"RESULT": eager(Z)})

    def test_another_method(self, archive: Archive) -> None:
        model = opened(archive("Arithmetic"), ["x"], ["RESULT"], method="twice")
        assert_equal(answer(model, {"x": X}), {"RESULT": 2 * X})

    def test_of_a_traced_module(self, archive: Archive) -> None:
        model = opened(archive("Arithmetic", X, Y), ["y", "x"], ["RESULT"])
        assert_equal(answer(model, {"x": Y, "y": Z}), {"RESULT": scripts.Arithmetic()(Y, Z)})


class TestDictionaries:
    @pytest.mark.parametrize(("a", "b"), [("a", "b"), ("a__0", "b__1"), ("options[a]", "b"), ("a", "b__0")])
    @pytest.mark.parametrize("is_traced", [False, True])
    def test_keys_that_the_code_reads(self, archive: Archive, a: str, b: str, is_traced: bool) -> None:
        examples = [{"a": X, "b": Y}] if is_traced else []
        model = opened(archive("ReadsKeys", *examples), [b, a], ["difference", "RESULT[a]"])
        expected = scripts.ReadsKeys()({"a": X, "b": Y})
        assert_equal(answer(model, {a: X, b: Y}), {"difference": expected["difference"], "RESULT[a]": expected["a"]})

    def test_a_key_that_the_code_can_do_without(self, archive: Archive) -> None:
        model = opened(archive("ReadsKeys"), ["a", "b", tensor_config("bias", optional=True)], ["difference"])
        assert [leaf.has_default for leaf in model.inputs] == [False, False, True]
        assert_equal(answer(model, {"a": X, "b": Y}), {"difference": X - Y})
        assert_equal(answer(model, {"a": X, "b": Y, "bias": Z}), {"difference": X - Y + Z})

    @pytest.mark.parametrize("declared", [["a"], ["a", "b"], ["a", tensor_config("b", optional=True)]])
    def test_a_key_that_the_code_may_put_itself(self, archive: Archive, declared: list[Any]) -> None:
        model = opened(archive("PutsKeys"), declared, ["RESULT"])
        assert torch.equal(answer(model, {"a": X})["RESULT"], 11 * X)
        if len(declared) > 1:
            assert torch.equal(answer(model, {"a": X, "b": Y})["RESULT"], X + Y)

    def test_read_in_a_submodule(self, archive: Archive) -> None:
        model = opened(archive("KeysInSubmodule"), ["b", tensor_config("shift", optional=True), "x", "a"], ["RESULT"])
        assert [leaf.names[0] for leaf in model.inputs] == ["x", "b", "a", "shift"]
        eager = scripts.KeysInSubmodule()
        options = {"a": Y, "b": Z}
        assert_equal(answer(model, {"x": X, **options}), {"RESULT": eager(X, options)})
        assert_equal(answer(model, {"x": X, **options, "shift": X}), {"RESULT": eager(X, options, X)})

    def test_any_keys(self, archive: Archive) -> None:
        model = opened(archive("AnyKeys"), ["p", tensor_config("q__1", optional=True)], ["q__1", "p"])
        assert model.inputs[1].has_default
        answered = answer(model, {"p": X})
        assert torch.equal(answered["p"], 2 * X)
        assert str(answered["q__1"]) == (
            "output 'q__1' (OUTPUT__1) is not in this answer: the number of outputs is 1, counted from 0"
        )

    def test_two_of_them(self, archive: Archive) -> None:
        model = opened(archive("TwoDictionaries"), ["right[x]", "left[x]"], ["RESULT"])
        assert_equal(answer(model, {"left[x]": X, "right[x]": Y}), {"RESULT": X - Y})


class TestStrings:
    @pytest.mark.parametrize("words", [[], ["", "ü", "日本\n\0語"], ["x" * 1_000_000]])
    def test_lists_of_them(self, archive: Archive, words: list[str]) -> None:
        x = torch.arange(2.0 * len(words)).reshape(-1, 2)
        inputs = [strings("words"), tensor_config("x", dims=(-1, 2))]
        model = opened(archive("Strings"), inputs, [strings("RESULT[0]"), tensor_config("RESULT[1]", dims=(-1, 2))])
        # TorchScript counts bytes.
        lengths = torch.tensor([len(word.encode()) for word in words], dtype=torch.int64).reshape(-1, 1)
        assert_equal(
            answer(model, {"words": words, "x": x}),
            {"RESULT[0]": [f"{word}!" for word in words], "RESULT[1]": x + lengths},
        )

    def test_one_in_each_row(self, archive: Archive) -> None:
        model = opened(
            archive("Strings"),
            [tensor_config("x", dims=(1,)), strings("words", **ONE_STRING)],
            [tensor_config("n__1", dims=(1,)), strings("s__0", **ONE_STRING)],
            max_batch_size=8,
        )
        answered = answer(model, {"x": X.reshape(2, 1), "words": ["a", "bc"]})
        assert_equal(answered, {"n__1": torch.tensor([[2.0], [4.0]]), "s__0": ["a!", "bc!"]})

    def test_one_that_the_model_cuts_within_a_character(self, archive: Archive) -> None:
        model = opened(archive("CutsStrings"), [strings("words")], [strings("RESULT")])
        assert_equal(answer(model, {"words": ["abc", ""]}), {"RESULT": ["a", ""]})
        with pytest.raises(ModelRunError, match=r"^the model returned a string that is not UTF-8$"):
            answer(model, {"words": ["ü"]})


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
            assert_equal(answer(opened(archive("Nested"), ["x"], outputs), {"x": x}), expected)
            assert_equal(answer(opened(archive("Nested"), ["x"], outputs[::-1]), {"x": x}), expected)

    def test_a_path_that_one_answer_lacks(self, archive: Archive) -> None:
        model = opened(archive("Nested"), ["x"], ["RESULT[1][1]", "RESULT[0]", "n__6"])
        x = torch.tensor([1.0, 3.0])
        answered = answer(model, {"x": x})
        assert isinstance(answered["RESULT[1][1]"], ModelRunError)
        assert str(answered["RESULT[1][1]"]) == (
            "output 'RESULT[1][1]' is not in this answer: RESULT[1] is a list with 1 element"
        )
        assert torch.equal(answered["RESULT[0]"], x)
        assert str(answered["n__6"]) == (
            "output 'n__6' (OUTPUT__6) is not in this answer: the number of outputs is 6, counted from 0"
        )

    def test_detections(self, archive: Archive) -> None:
        outputs = ["RESULT[0][boxes]", tensor_config("RESULT[1][labels]", torch.int64), "RESULT[0][masks]"]
        model = opened(archive("Detections"), ["images"], outputs)
        images = torch.tensor([[1.5, 2.0], [3.0, 4.0]])
        answered = answer(model, {"images": images})
        expected = scripts.Detections()(images)
        assert torch.equal(answered["RESULT[0][boxes]"], expected[0]["boxes"])
        assert torch.equal(answered["RESULT[1][labels]"], expected[1]["labels"])
        assert str(answered["RESULT[0][masks]"]) == (
            "output 'RESULT[0][masks]' is not in this answer: RESULT[0] is a dictionary with the keys boxes, labels"
        )
        empty = answer(model, {"images": images[:0]})
        assert str(empty["RESULT[0][boxes]"]).endswith("is not in this answer: RESULT is a list with 0 elements")

    def test_a_named_tuple(self, archive: Archive) -> None:
        model = opened(archive("Named"), ["x"], ["RESULT[1][1]", "left__0"])
        assert_equal(answer(model, {"x": X}), {"RESULT[1][1]": X + 2, "left__0": X})

    def test_numbers_strings_and_nothing(self, archive: Archive) -> None:
        outputs = [
            tensor_config("count__0", torch.int64),
            tensor_config("RESULT[1]", torch.float64),
            tensor_config("RESULT[2]", torch.bool),
            strings("RESULT[3]"),
            "RESULT[4]",
            tensor_config("RESULT[6][1]", torch.int64),
        ]
        model = opened(archive("Numbers"), ["x"], outputs)
        assert_equal(
            answer(model, {"x": X}),
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
        assert torch.equal(answer(model, {"x": three})["RESULT[4]"], three)

    @pytest.mark.parametrize(
        ("output", "number", "expected"),
        [
            ("RESULT", 1, torch.zeros(1)),
            ("RESULT", 2, "output 'RESULT' is a list with 2 elements in this answer: expected a tensor or a number"),
            ("RESULT[1]", 1, "output 'RESULT[1]' is not in this answer: RESULT is a tensor"),
            ("RESULT[1]", 2, torch.tensor([1.0, 2.0])),
            ("RESULT[k][0]", 3, torch.arange(3.0)),
            ("RESULT[k][0]", 2, "output 'RESULT[k][0]' is not in this answer: RESULT is a list with 2 elements"),
            (
                "RESULT[none]",
                3,
                "output 'RESULT[none]' is a list with 0 elements in this answer: expected a tensor or a",
            ),
            ("any__1", 3, torch.arange(1.0, 4.0)),
            (
                strings("RESULT[0]"),
                2,
                "output 'RESULT[0]' is a tensor in this answer: expected strings, as it is TYPE_S",
            ),
            (strings("RESULT[none]"), 3, []),
        ],
    )
    def test_a_type_that_only_the_answer_tells(self, archive: Archive, output: Any, number: int, expected: Any) -> None:
        model = opened(archive("Anything"), ["x"], [output])
        (value,) = answer(model, {"x": torch.arange(float(number))}).values()
        if isinstance(expected, str):
            assert isinstance(value, ModelRunError)
            assert str(value).startswith(expected)
        else:
            assert_equal({"": value}, {"": expected})


WORDS, A_STRING = strings("words"), strings("RESULT[0]")
ROW = {"max_batch_size": 4}


@pytest.mark.parametrize(
    ("module", "inputs", "outputs", "more", "fragment"),
    [
        ("Arithmetic", ["x"], ["RESULT"], {}, "no tensor for y (INPUT__1): every input needs one"),
        ("Arithmetic", ["x", "z"], ["RESULT"], {}, "'z' is no input of the model"),
        (
            "Arithmetic",
            ["x", "y", "power"],
            ["RESULT"],
            {},
            "'power' is argument 'power' of type int, which no request",
        ),
        ("Arithmetic", ["x", "y", "k__3"], ["RESULT"], {}, "'k__3' is argument 'power' of type int, which no request"),
        ("Arithmetic", ["x", "y", "k__4"], ["RESULT"], {}, "'k__4' is out of range: the number of inputs is 4"),
        ("Arithmetic", ["x", "y", "x__0"], ["RESULT"], {}, "'x' and 'x__0' name one and the same input x (INPUT__0)"),
        (
            "Arithmetic",
            ["p", "q", "r", "s"],
            ["RESULT"],
            {},
            "the number of declared inputs is 4, but the model takes 3",
        ),
        ("Arithmetic", ["p", "p"], ["RESULT"], {}, "'p' is declared 2 times"),
        ("Arithmetic", [], ["RESULT"], {}, "no tensor for x (INPUT__0), y (INPUT__1)"),
        ("Arithmetic", ["ARGS[0]", "y"], ["RESULT"], {}, "'ARGS[0]' is no input of the model"),
        (
            "Arithmetic",
            ["x", "y"],
            [],
            {},
            "the config declares no output, so that nothing would be answered: the model",
        ),
        ("Arithmetic", ["x", "y"], ["RESULT[0]"], {}, "RESULT is Tensor, a leaf; did you mean 'RESULT'?"),
        ("Arithmetic", ["x", "y"], ["RESULT[a]"], {}, "RESULT is Tensor, a leaf"),
        ("Arithmetic", ["x", "y"], ["r__1"], {}, "'r__1' is out of range: the number of outputs is 1"),
        ("Arithmetic", ["x", "y"], ["a", "b"], {}, "the number of declared outputs is 2, but the model returns 1"),
        ("Arithmetic", ["x", "y"], ["r__0", "RESULT"], {}, "'r__0' and 'RESULT' name one and the same output RESULT"),
        (
            "Arithmetic",
            ["x", "y"],
            ["RESULT"],
            {"method": "twize"},
            "no method 'twize': name one of forward, twice in the",
        ),
        ("Arithmetic", ["x", "y"], ["RESULT"], {"method": "scale"}, "no method 'scale'"),
        (
            "Arithmetic",
            [strings("x"), "y"],
            ["RESULT"],
            {},
            "input 'x' is declared TYPE_STRING, but the model takes Te",
        ),
        (
            "Arithmetic",
            ["x", "y"],
            [strings("RESULT")],
            {},
            "output 'RESULT' is declared TYPE_STRING, but the model ret",
        ),
        (
            "ReadsKeys",
            ["a", "bb"],
            ["difference"],
            {},
            "its code reads a, b, bias from argument 'options'; did you mean",
        ),
        ("ReadsKeys", ["a"], ["difference"], {}, "no tensor for options[b]"),
        (
            "ReadsKeys",
            ["options"],
            ["difference"],
            {},
            "'options' is a dictionary and no tensor: expected one of its en",
        ),
        ("ReadsKeys", ["INPUT__0"], ["difference"], {}, "'INPUT__0' is a dictionary and no tensor"),
        (
            "ReadsKeys",
            ["a", "b", "options[a]"],
            ["a"],
            {},
            "'a' and 'options[a]' name one and the same input options[a]",
        ),
        (
            "ReadsKeys",
            [strings("a"), "b"],
            ["a"],
            {},
            "input 'a' is declared TYPE_STRING, but the model takes tensors th",
        ),
        (
            "ReadsKeys",
            ["a", "b"],
            ["differences"],
            {},
            "RESULT has the keys difference, a; did you mean 'RESULT[differen",
        ),
        ("ReadsKeys", ["a", "b"], ["n__2"], {}, "'n__2' is out of range: the number of outputs is 2"),
        ("ReadsKeys", ["a", "b"], ["RESULT"], {}, "expected one of its leaves, RESULT[difference], RESULT[a]"),
        ("AnyKeys", [], ["p"], {}, "no tensor for options[<key>]"),
        ("TwoDictionaries", ["x", "right[x]"], ["RESULT"], {}, "'x' is no input of the model"),
        ("TwoDictionaries", ["left[y]", "right[x]"], ["RESULT"], {}, "its code reads x from argument 'left'"),
        (
            "Strings",
            [strings("words", (-1, 2)), "x"],
            ["n__1"],
            {},
            "'words' is TYPE_STRING with dims [-1, 2], but a list",
        ),
        ("Strings", [strings("words", (1,)), "x"], ["n__1"], ROW, "declare dims: [ 1 ] and reshape: { shape: [ ] }"),
        (
            "Strings",
            [WORDS, "x"],
            [strings("n__0", (2, 2))],
            {},
            "output 'n__0' is TYPE_STRING with dims [2, 2], but a",
        ),
        ("Strings", ["words", "x"], ["n__1"], {}, "input 'words' is declared TYPE_FP32, but the model takes List[str]"),
        ("Strings", [WORDS, "x"], ["RESULT[0]"], {}, "but the model returns List[str]: declare TYPE_STRING"),
        ("Strings", [WORDS, "x"], [strings("RESULT[0][0]")], {}, "RESULT[0] is List[str], a leaf"),
        ("Nested", ["x"], ["RESULT[4]"], {}, "with 4 elements; did you mean 'RESULT[0]'?"),
        (
            "Nested",
            ["x"],
            ["RESULT[1]"],
            {},
            "'RESULT[1]' is a container and no tensor: expected one of its leaves, RES",
        ),
        ("Nested", ["x"], ["RESULT[1][x]"], {}, "RESULT[1] is List[Tensor], whose elements are numbered from 0"),
        ("Nested", ["x"], ["RESULT[2][nam]"], {}, "RESULT[2] has the keys names; did you mean 'RESULT[2][names]'?"),
        ("Nested", ["x"], ["RESULT[3][2][k]"], {}, "RESULT[3] is List[Dict[str, Tensor]], with 2 elements"),
        ("Nested", ["x"], ["RESULT[0", "RESULT[0]"], {}, "'RESULT[0' is no name of an output"),
        ("Nested", ["x"], ["y", "RESULT[0]"], {}, "'y' is no output of the model"),
        ("Named", ["x"], ["RESULT[left]"], {}, "with 2 elements; did you mean 'RESULT[0]'?"),
        ("Numbers", ["x"], ["RESULT[0]"], {}, "declared TYPE_FP32, but the model returns int: declare TYPE_INT64"),
        (
            "Numbers",
            ["x"],
            [strings("RESULT[1]")],
            {},
            "declared TYPE_STRING, but the model returns float: declare its da",
        ),
        ("Numbers", ["x"], ["RESULT[3]"], {}, "declared TYPE_FP32, but the model returns str: declare TYPE_STRING"),
        ("Numbers", ["x"], ["RESULT[5]"], {}, "output 'RESULT[5]' is always None"),
    ],
)
def test_configs_that_cannot_be_served(
    archive: Archive, module: str, inputs: list[Any], outputs: list[Any], more: dict[str, Any], fragment: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        opened(archive(module), inputs, outputs, **more)
    assert fragment.lower() in str(caught.value).lower()
    assert "\n" not in str(caught.value)


def test_faults_of_inputs_and_outputs_come_together(archive: Archive) -> None:
    with pytest.raises(NamingError) as caught:
        opened(archive("Arithmetic"), ["x", "q__9"], ["RESULT[7]"])
    assert "'q__9' is out of range" in str(caught.value)
    assert "'RESULT[7]' is no output" in str(caught.value)
    with pytest.raises(ConfigError) as types:
        opened(archive("Strings"), ["words", strings("x")], [strings("RESULT[1]")])
    assert str(types.value) == (
        "Input 'words' is declared TYPE_FP32, but the model takes List[str]: declare TYPE_STRING."
        " Input 'x' is declared TYPE_STRING, but the model takes Tensor: declare the data type of the tensor."
        " Output 'RESULT[1]' is declared TYPE_STRING, but the model returns Tensor: declare its data type."
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
    ],
)
def test_a_model_that_fails_says_why_in_one_line(archive: Archive, how: int, expected: str) -> None:
    model = opened(archive("Fails"), [tensor_config("how", torch.int64), "x"], ["RESULT"])
    with pytest.raises(ModelRunError, match=f"^{re.escape(expected)}$"):
        answer(model, {"how": torch.tensor(how), "x": torch.tensor([9.0, 0.0, 0.0])})
    assert torch.equal(answer(model, {"how": torch.tensor(0), "x": X})["RESULT"], X)


@pytest.mark.parametrize(
    ("name", "count"), [("GrowsWithin", 4), ("GrowsAsValue", 4), ("TwoResults", 4), ("PutsSometimes", 2)]
)
@pytest.mark.parametrize("sign", [1, -1])
def test_leaves_by_index_are_where_the_answer_has_them(archive: Archive, name: str, count: int, sign: int) -> None:
    x = sign * torch.tensor([1.0, 2.0])
    leaves = torch.utils._pytree.tree_leaves(getattr(scripts, name)()(x))
    model = opened(archive(name), ["x"], [f"OUTPUT__{index}" for index in range(count)])
    answers = answer(model, {"x": x})
    for index, expected in enumerate(leaves):
        assert torch.equal(answers[f"OUTPUT__{index}"], expected)
    assert all(isinstance(answers[f"OUTPUT__{index}"], ModelRunError) for index in range(len(leaves), count))


class TestBehindTheRunLoop:
    """Tensors only, through names, merging and answers."""

    def serve(self, path: Path, inputs: list[Any], outputs: list[Any], **more: Any) -> Any:
        triton = fake_triton.names()
        model: Any = opened(path, inputs, outputs, **more)
        loop = RunLoop(model, config_of(inputs, outputs, **more), triton)

        def infer(*requests: dict[str, Tensor]) -> list[Any]:
            names = [output if isinstance(output, str) else output["name"] for output in outputs]
            sent = [
                fake_triton.InferenceRequest([fake_triton.Tensor(*item) for item in request.items()], names)
                for request in requests
            ]
            return [
                response.error().message()
                if response.error()
                else {tensor.name(): tensor.data for tensor in response.output_tensors()}
                for response in loop.execute(sent)
            ]

        return infer

    def test_requests_are_merged_and_get_their_rows(self, archive: Archive) -> None:
        inputs = ["y", tensor_config("bias", optional=True), "x"]
        infer = self.serve(archive("Arithmetic"), inputs, ["RESULT"], max_batch_size=16)
        eager = scripts.Arithmetic()
        x, y, bias = (torch.randn(4, 3) for _ in range(3))
        with_bias = {"x": x[:1], "y": y[:1], "bias": bias[:1]}
        answers = infer({"x": x, "y": y}, with_bias, {"y": y[1:3], "x": x[1:3]})
        expected = [eager(x, y), eager(x[:1], y[:1], bias[:1]), eager(x[1:3], y[1:3])]
        assert all(torch.allclose(got["RESULT"], want) for got, want in zip(answers, expected, strict=True))

    def test_dictionaries_and_trees(self, archive: Archive) -> None:
        infer = self.serve(archive("ReadsKeys"), ["b", "a"], ["difference", "RESULT[a]"], max_batch_size=16)
        a, b = torch.randn(3, 2), torch.randn(3, 2)
        for got in infer({"a": a, "b": b}, {"b": b, "a": a}):
            assert torch.equal(got["difference"], a - b)
            assert torch.equal(got["RESULT[a]"], a)

    def test_a_required_input_is_not_optional(self, archive: Archive) -> None:
        with pytest.raises(
            ConfigError, match=r"^input 'x' is optional, but the model has no default for it: remove `opt"
        ):
            self.serve(archive("Arithmetic"), [tensor_config("x", optional=True), "y"], ["RESULT"])
        with pytest.raises(ConfigError, match=r"^input 'a' is optional, but the model has no default for it"):
            self.serve(archive("ReadsKeys"), [tensor_config("a", optional=True), "b"], ["a"])
