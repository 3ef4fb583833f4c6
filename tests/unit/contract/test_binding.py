"""A config is bound to a signature, or everything that can be known to be wrong is told at once."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch

from triton_pytorch.contract.binding import bind
from triton_pytorch.contract.leaves import Dimension, Leaf, ValueKind
from triton_pytorch.contract.plan import Plan
from triton_pytorch.contract.shape_rules import Rule
from triton_pytorch.contract.signature import Signature
from triton_pytorch.contract.sizes import dynamic_size, size_of
from triton_pytorch.io_naming.names import LeafPath
from triton_pytorch.model_config.configuration import ModelConfig, read_config
from triton_pytorch.model_config.errors import ConfigError, NamingError
from triton_pytorch.tests.assets.configs import TYPES, model_config, tensor_config
from triton_pytorch.tests.assets.leaves import NUMBERS, argument, entry, keyword, number, packaged, part, positional

BATCH = Dimension(dynamic_size("s1"), 1, 64)
THREE = Dimension(size_of(3), 3, 3)
LENGTH = Dimension(dynamic_size("s2"), 1, may_be_empty=True)
INPUTS = (
    positional(0, dtype="float32", shape=(BATCH, THREE)),
    keyword("mask", 1, dtype="bool", shape=(BATCH, LENGTH)),
)
OUTPUTS = tuple(packaged(LeafPath("RESULT", (key,)), index) for index, key in enumerate("ab"))
SIGNATURE = Signature(INPUTS, OUTPUTS)
MASK, X = tensor_config("KWARGS[mask]", torch.bool, (-1,)), tensor_config("INPUT__0", dims=(3,))
B = tensor_config("OUTPUT__1")
REMEDY = ": set the parameter ALLOW_EMPTY_INPUTS if it is made for empty ones"


def config(inputs: list[Any], outputs: list[Any], max_batch_size: int = 8, **more: Any) -> ModelConfig:
    document = model_config(inputs, outputs, max_batch_size=max_batch_size, **more)
    return read_config(json.dumps({"name": "m", **document}))


def with_inputs(*inputs: Leaf) -> Signature:
    return replace(SIGNATURE, inputs=inputs)


def errors(declared: ModelConfig, signature: Signature = SIGNATURE, kind: type[ConfigError] = ConfigError) -> str:
    with pytest.raises(kind) as caught:
        bind(declared, signature)
    assert type(caught.value) is kind
    return str(caught.value)


def broken(rules: Sequence[Rule], *shapes: tuple[int, ...] | None) -> list[str]:
    return [sentence for rule in rules if (sentence := rule(shapes)) is not None]


def positions(plan: Plan) -> tuple[list[int], list[int], list[int]]:
    """Return the positions of inputs, batch inputs and outputs, each in the order of the config."""
    planned = (plan.inputs, plan.batch_inputs, plan.outputs)
    return tuple([it.position for it in tensors] for tensors in planned)  # type: ignore[return-value]


class TestPlan:
    def test_order_of_tensors(self) -> None:
        plan = bind(config([MASK, X], [B, tensor_config("RESULT[a]")]), SIGNATURE)
        assert positions(plan) == ([1, 0], [], [1, 0])
        assert [planned.declared.name for planned in plan.inputs] == ["KWARGS[mask]", "INPUT__0"]
        assert [planned.name for planned in plan.outputs] == ["OUTPUT__1", "RESULT[a]"]

    def test_order_of_leaves(self) -> None:
        leaves = bind(config([MASK, X], [B]), SIGNATURE).leaves
        assert [str(leaf.path) for leaf in leaves.inputs] == ["ARGS[0]", "KWARGS[mask]"]
        assert [str(leaf.path) for leaf in leaves.outputs] == ["RESULT[b]"]
        assert [leaf.names.names[0] for leaf in (*leaves.inputs, *leaves.outputs)] == [
            "INPUT__0",
            "KWARGS[mask]",
            "OUTPUT__1",
        ]

    def test_rules_for_what_the_config_leaves_open(self) -> None:
        plan = bind(config([MASK, X], [B]), SIGNATURE)
        assert (plan.call_rules, plan.warnings) == ((), ())
        assert broken(plan.request_rules, (4, 3), (4, 5)) == []
        assert broken(plan.request_rules, (4, 3), (4, 0)) == [
            "dimension 1 of input 'KWARGS[mask]' is 0, but the model takes at least 1" + REMEDY
        ]

    def test_empty_inputs_where_the_config_allows_them(self) -> None:
        plan = bind(config([MASK, X], [B], parameters={"ALLOW_EMPTY_INPUTS": "true"}), SIGNATURE)
        assert broken(plan.request_rules, (4, 3), (4, 0)) == []

    def test_warning_for_batch_above_bound(self) -> None:
        plan = bind(config([MASK, X], [B], 65), SIGNATURE)
        assert plan.piece_rows == 64
        (warning,) = plan.warnings
        assert warning == (
            "no call is of more than 64 rows, below max_batch_size: 65, since the model takes at most 64 in dimension "
            "0 of input 'KWARGS[mask]': if the exporter invented that bound, set the parameter ENFORCE_UPPER_BOUNDS to "
            '"false"'
        )

    def test_bounds_that_the_config_lifts(self) -> None:
        plan = bind(config([MASK, X], [B], 65, parameters={"ENFORCE_UPPER_BOUNDS": "false"}), SIGNATURE)
        assert (plan.warnings, plan.call_limits, plan.piece_rows) == ((), (), None)
        assert broken(plan.request_rules, (65, 3), (65, 4)) == []
        assert len(broken(plan.request_rules, (0, 3), (0, 4))) > 0  # lower bounds stay

    def test_operators_whose_errors_are_dropped(self) -> None:
        signature = replace(SIGNATURE, unchecked_operators=("scatter_reduce", "index_put"))
        plan = bind(config([MASK, X], [B]), signature)
        assert not plan.merges
        (warning,) = plan.warnings
        assert warning == (
            "the model calls scatter_reduce, index_put without looking at errors, so that an index out of range gives "
            "wrong rows in place of one: requests are not merged, so that each can spoil its own only; check indices "
            "before they are sent, or clamp them in the model"
        )
        assert bind(config([MASK, X], [B]), SIGNATURE).merges

    def test_operators_whose_errors_are_dropped_without_batching(self) -> None:
        signature = replace(with_inputs(positional(0, shape=())), unchecked_operators=("index_put",))
        plan = bind(config([tensor_config("INPUT__0", dims=(1,))], [B], 0), signature)
        assert (plan.merges, plan.warnings) == (False, ())

    def test_plan_of_unknown_leaves(self) -> None:
        silent = with_inputs(positional(0), keyword("mask", 1))
        plan = bind(config([MASK, tensor_config("INPUT__0", torch.int8, (1, 2))], [B]), silent)
        assert (plan.request_rules, plan.call_rules, plan.warnings) == ((), (), ())

    @pytest.mark.parametrize("max_batch_size", [0, 8])
    def test_input_without_dimensions(self, max_batch_size: int) -> None:
        declared = [tensor_config("INPUT__0", dims=(1,)), tensor_config("INPUT__1", dims=(3,))]
        signature = with_inputs(positional(0, shape=()), positional(1))
        plan = bind(config(declared, [B], max_batch_size), signature)
        assert [planned.is_one_value for planned in plan.inputs] == [True, False]
        assert (plan.request_rules, plan.call_rules, plan.warnings) == ((), (), ())


class TestErrors:
    def test_all_in_one_error(self) -> None:
        wrong = [
            tensor_config("KWARGS[mask]", torch.uint8, (-1, -1)),
            tensor_config("INPUT__0", torch.float64, (4,), optional=True),
        ]
        assert errors(config(wrong, [tensor_config("RESULT[c]")])) == (
            "Unknown output 'RESULT[c]': RESULT has [a], [b]; did you mean 'RESULT[b]'?"
            " The outputs of the model are RESULT[a] (OUTPUT__0), RESULT[b] (OUTPUT__1)."
            " Input 'KWARGS[mask]' is declared TYPE_UINT8, but the model takes TYPE_BOOL."
            " Input 'KWARGS[mask]' is declared with dims [-1, -1] after the batch dimension, but the model takes"
            " 2 dimensions, [s1, s2]: leave the batch dimension out of dims, or set max_batch_size: 0."
            " Input 'INPUT__0' is optional, but the model has no default for it: remove `optional: true`."
            " Input 'INPUT__0' is declared TYPE_FP64, but the model takes TYPE_FP32."
            " Dimension 1 of input 'INPUT__0' is declared 4, but the model takes 3 in [s1, 3]."
        )

    def test_single_error(self) -> None:
        assert errors(config([MASK, {**X, "optional": True}], [B])) == (
            "input 'INPUT__0' is optional, but the model has no default for it: remove `optional: true`"
        )

    def test_naming_errors_of_both_directions(self) -> None:
        text = errors(config([MASK, tensor_config("INPUT__7")], [tensor_config("RESULT[c]")]), kind=NamingError)
        assert "'INPUT__7' is out of range" in text
        assert "no tensor for ARGS[0] (INPUT__0): every input needs one" in text
        assert "Unknown output 'RESULT[c]'" in text

    def test_config_without_outputs(self) -> None:
        text = errors(config([MASK, X], []))
        assert text.endswith(
            "declares no output, so that nothing would be answered: the model has RESULT[a] (OUTPUT__0),"
            " RESULT[b] (OUTPUT__1)"
        )

    def test_batch_without_inputs(self) -> None:
        text = errors(config([], [B]), with_inputs())
        assert text.endswith("declares no input, so that no request has a number of rows: set max_batch_size: 0")

    def test_sizes_that_contradict_each_other(self) -> None:
        square = with_inputs(*(replace(leaf, shape=(LENGTH, LENGTH)) for leaf in INPUTS))
        tensors = [tensor_config("KWARGS[mask]", torch.bool, (4, 4)), tensor_config("INPUT__0", dims=(5, 4))]
        assert errors(config(tensors, [B], 0), square) == (
            "dimension 0 of input 'INPUT__0' is 5, but the model takes 4 (s2) there, "
            "since dimension 0 of input 'KWARGS[mask]' is 4 (s2)"
        )

    def test_strings_where_the_model_takes_tensors(self) -> None:
        words = {"name": "INPUT__0", "data_type": "TYPE_STRING", "dims": [3]}
        assert errors(config([MASK, words], [B])) == (
            "input 'INPUT__0' is declared TYPE_STRING, but the model takes a tensor there: declare TYPE_FP32"
        )


class TestRagged:
    """Values of any length, flat, with where each request ends, and a number for each row."""

    ROWS = Dimension(dynamic_size("s0"), 1)
    LEAVES = (
        keyword("values", 0, dtype="float32", shape=(LENGTH,)),
        keyword("ends", 1, dtype="int32", shape=(Dimension(dynamic_size("s1"), 1),)),
        keyword("counts", 2, dtype="int32", shape=(ROWS,)),
        keyword("scale", 3, dtype="float32", shape=(ROWS, Dimension(size_of(1), 1, 1))),
    )
    VALUES = tensor_config("KWARGS[values]", allow_ragged_batch=True)
    SCALE = tensor_config("KWARGS[scale]", dims=(1,))

    @staticmethod
    def counted(kind: str, *targets: str, data_type: str = "TYPE_INT32") -> Any:
        names = {"target_name": list(targets), "source_input": ["KWARGS[values]"]}
        return {"kind": kind, "data_type": data_type, **names}

    def config(self, *batch_inputs: Any, scale: Any = SCALE, **more: Any) -> ModelConfig:
        return config([scale, self.VALUES], [B], batch_input=list(batch_inputs), **more)

    def both(self) -> list[Any]:
        ends = self.counted("BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO", "INPUT__1")
        return [self.counted("BATCH_ELEMENT_COUNT", "KWARGS[counts]"), ends]

    def test_plan(self) -> None:
        plan = bind(self.config(*self.both()), with_inputs(*self.LEAVES))
        assert positions(plan) == ([3, 0], [2, 1], [0])
        assert [made.source_position for made in plan.batch_inputs] == [0, 0]
        assert broken(plan.request_rules, (1, 7), None, None, (1, 1)) == []
        assert broken(plan.call_rules, (7,), (4,), (3,), (3, 1)) == []
        (other,) = broken(plan.call_rules, (7,), (3,), (2,), (3, 1))  # of two requests, one with two rows
        assert other.startswith("dimension 0 of input 'KWARGS[counts]' is 2, but the model takes 3 (s0) there, since")

    def test_empty_request(self) -> None:
        plan = bind(self.config(*self.both()), with_inputs(*self.LEAVES))
        assert broken(plan.request_rules, (1, 0), None, None, (1, 1)) == [
            "input 'KWARGS[values]' has no elements, but the model takes at least 1" + REMEDY
        ]
        allowed = self.config(*self.both(), parameters={"ALLOW_EMPTY_INPUTS": "1"})
        assert broken(bind(allowed, with_inputs(*self.LEAVES)).request_rules, (1, 0), None, None, (1, 1)) == []

    def test_leaf_without_tensor_and_leaf_with_two(self) -> None:
        twice = self.counted("BATCH_ELEMENT_COUNT", "KWARGS[counts]", "INPUT__2")
        text = errors(self.config(twice), with_inputs(*self.LEAVES), NamingError)
        assert "'KWARGS[counts]' and 'INPUT__2' name one and the same input KWARGS[counts]" in text
        assert "no tensor for KWARGS[ends] (INPUT__1)" in text

    def test_errors_of_batch_inputs(self) -> None:
        ends = self.counted("BATCH_ITEM_SHAPE", "KWARGS[ends]", data_type="TYPE_FP32")
        counts = self.counted("BATCH_ELEMENT_COUNT", "KWARGS[counts]")
        scale = {**self.SCALE, "allow_ragged_batch": True}
        assert errors(self.config(counts, ends, scale=scale), with_inputs(*self.LEAVES)) == (
            "Input 'KWARGS[scale]' is ragged, so that all requests arrive flat, in 1 dimension, but the model takes 2"
            " dimensions, [s0, 1]: export a model that takes it flat, or remove `allow_ragged_batch: true`."
            " Input 'KWARGS[ends]' is declared TYPE_FP32, but the model takes TYPE_INT32."
            " Input 'KWARGS[ends]' is made by batch_input of kind BATCH_ITEM_SHAPE, which has 2 dimensions, but the"
            " model takes 1 dimension, [s1]."
        )


class TestDefaults:
    """The mask has a default, as arguments of callables can have."""

    DEFAULT = with_inputs(INPUTS[0], replace(INPUTS[1], has_default=True))

    def test_left_out_of_the_config(self) -> None:
        plan = bind(config([X], [B]), self.DEFAULT)
        assert [str(leaf.path) for leaf in plan.leaves.inputs] == ["ARGS[0]"]

    def test_declared_optional(self) -> None:
        plan = bind(config([{**MASK, "optional": True}, X], [B]), self.DEFAULT)
        assert positions(plan)[0] == [1, 0]
        assert broken(plan.request_rules, (4, 3), None) == []
        assert len(broken(plan.request_rules, (4, 3), (4, 0))) == 1

    def test_missing_without_default(self) -> None:
        text = errors(config([MASK], [B]), self.DEFAULT, NamingError)
        assert "no tensor for ARGS[0] (INPUT__0): every input needs one" in text


WORDS = argument("words", 1, ValueKind.STRINGS, type="List[str]")
POWER = argument("power", 2, ValueKind.OTHER, type="complex", has_default=True)
SIZES = argument("sizes", 2, ValueKind.OTHER, type="List[int]")
CALLABLE = Signature((argument("x", 0), WORDS), (part(index=0),), follows_config_order=True)
STRING = {"data_type": "TYPE_STRING", "dims": [-1]}
Y = tensor_config("RESULT")


class TestCallables:
    def test_arguments_that_no_request_can_send(self) -> None:
        x, power = tensor_config("x"), tensor_config("power")
        signature = replace(CALLABLE, inputs=(argument("x", 0), POWER))
        assert errors(config([x, power], [Y], 0), signature) == (
            "input 'power' is argument 'power' of type complex, which no request can send: remove it from the config, "
            "and its default applies"
        )
        text = errors(config([x], [Y], 0), replace(CALLABLE, inputs=(argument("x", 0), SIZES)), NamingError)
        assert text.startswith(
            "Argument 'sizes' is of type List[int] and has no default, but requests can send only Tensor, int, "
            "float, bool, an Optional of these, List[str] or Dict[str, Tensor]: give it a default, or serve"
        )

    @pytest.mark.parametrize("dtype", [dtype for dtype in TYPES if dtype is not torch.bool])
    @pytest.mark.parametrize("kind", NUMBERS)
    def test_types_of_numbers(self, kind: str, dtype: torch.dtype) -> None:
        declared = config([tensor_config("n", dtype, (1,))], [Y], 0)
        signature = replace(CALLABLE, inputs=(number("n", 0, kind),))
        integers = not dtype.is_floating_point
        if (kind == "int" and integers) or (kind == "float" and dtype in (torch.float32, torch.float64)):
            assert bind(declared, signature).inputs[0].is_one_value
        else:
            remedy = {"int": "TYPE_INT64 or another integer type", "float": "TYPE_FP64 or TYPE_FP32"}.get(kind)
            assert errors(declared, signature) == (
                f"input 'n' is declared {TYPES[dtype]}, but the model takes {kind}: declare {remedy or 'TYPE_BOOL'}"
            )

    def test_type_of_a_bool(self) -> None:
        declared = config([tensor_config("n", torch.bool, (1,))], [Y], 8)
        assert bind(declared, replace(CALLABLE, inputs=(number("n", 0, "bool"),))).inputs[0].is_one_value
        assert "TYPE_BOOL, but the model takes int: declare" in errors(
            declared, replace(CALLABLE, inputs=(number("n", 0, "int"),))
        )

    def test_strings_for_a_number(self) -> None:
        declared = config([{"name": "n", **STRING}], [Y], 0)
        assert errors(declared, replace(CALLABLE, inputs=(number("n", 0, "int"),))) == (
            "input 'n' is declared TYPE_STRING, but the model takes int: declare TYPE_INT64 or another integer type"
        )

    def test_all_errors_of_a_number(self) -> None:
        declared = config([tensor_config("n", torch.float16, (2,), optional=True)], [Y], 8)
        assert errors(declared, replace(CALLABLE, inputs=(number("n", 0, "bool"),))) == (
            "Input 'n' is optional, but the model has no default for it: remove `optional: true`."
            " Input 'n' is declared TYPE_FP16, but the model takes bool: declare TYPE_BOOL."
            " Input 'n' is declared with dims [2] after the batch dimension, but the model takes bool, which is one"
            " number: declare dims: [ 1 ]."
        )

    def test_order_of_the_config_passes_over_numbers_with_default(self) -> None:
        leaves = (argument("x", 0), number("k", 1, "int", has_default=True), argument("y", 2), number("n", 3, "int"))
        signature = replace(CALLABLE, inputs=leaves)
        declared = [tensor_config("a"), tensor_config("b"), tensor_config("c", torch.int64, (1,))]
        plan = bind(config(declared, [Y], 0), signature)
        assert [str(leaf.path) for leaf in plan.leaves.inputs] == ["KWARGS[x]", "KWARGS[y]", "KWARGS[n]"]
        text = errors(config([*declared, tensor_config("d", torch.int64, (1,))], [Y], 0), signature, NamingError)
        assert text.startswith("The number of declared inputs is 4, but the model takes 3")

    def test_missing_number(self) -> None:
        text = errors(config([], [Y], 0), replace(CALLABLE, inputs=(number("n", 0, "int"),)), NamingError)
        assert text.startswith("The config declares no tensor for n (INPUT__0): every input needs one")

    @pytest.mark.parametrize(
        ("words", "max_batch_size", "error"),
        [
            ({}, 0, None),
            ({"dims": [1], "reshape": {"shape": []}}, 8, None),
            (
                {"data_type": "TYPE_FP32"},
                0,
                "is declared TYPE_FP32, but the model takes List[str]: declare TYPE_STRING",
            ),
            (
                {"dims": [2, 3]},
                0,
                "is TYPE_STRING with dims [2, 3], but a list of strings has one dimension: declare dims",
            ),
            (
                {"dims": [1]},
                8,
                "is TYPE_STRING with dims [1] after the batch dimension, but a list of strings has one dime",
            ),
        ],
    )
    def test_strings(self, words: dict[str, Any], max_batch_size: int, error: str | None) -> None:
        declared = config([tensor_config("x"), {"name": "words", **STRING, **words}], [Y], max_batch_size)
        if error is None:
            bind(declared, CALLABLE)
        else:
            assert errors(declared, CALLABLE).startswith(f"input 'words' {error}")

    @pytest.mark.parametrize(
        ("data_type", "leaf", "error"),
        [
            (
                "TYPE_STRING",
                part(index=0),
                "is declared TYPE_STRING, but the model returns Tensor: declare the data type of",
            ),
            (
                "TYPE_FP32",
                part(index=0, kind=ValueKind.STRINGS, type="List[str]"),
                "returns List[str]: declare TYPE_STRING",
            ),
            ("TYPE_FP32", part(index=0, kind=ValueKind.NUMBER, dtype="int64", type="int"), "int: declare TYPE_INT64"),
            ("TYPE_FP32", part(index=0, kind=ValueKind.NUMBER, dtype="complex128", type="complex"), "remove it, since"),
            (
                "TYPE_FP32",
                part(index=0, kind=ValueKind.NONE, type="NoneType"),
                "is always None: remove it from the config",
            ),
        ],
    )
    def test_values_of_outputs(self, data_type: str, leaf: Leaf, error: str) -> None:
        declared = config([tensor_config("x")], [{"name": "RESULT", "data_type": data_type, "dims": [-1]}], 0)
        text = errors(declared, replace(CALLABLE, inputs=(argument("x", 0),), outputs=(leaf,)))
        assert text.startswith("output 'RESULT' is")
        assert error in text

    @pytest.mark.parametrize(
        ("data_type", "kind"), [("TYPE_STRING", ValueKind.STRINGS), ("TYPE_FP32", ValueKind.TENSOR)]
    )
    def test_kind_decided_by_the_config(self, data_type: str, kind: ValueKind) -> None:
        unknown = Signature((), (part(kind=ValueKind.UNKNOWN),), has_open_result=True, follows_config_order=True)
        names = ("RESULT[0]", "a__4", "RESULT")
        declared = config([], [{"name": name, "data_type": data_type, "dims": [-1]} for name in names], 0)
        plan = bind(declared, unknown)
        assert [leaf.kind for leaf in plan.leaves.outputs] == [kind] * 3
        assert [leaf.is_by_index for leaf in plan.leaves.outputs] == [False, False, True]
        assert [planned.position for planned in plan.outputs] == [0, 2, 1]

    def test_order_of_keys(self) -> None:
        signature = replace(CALLABLE, inputs=(entry("options", 0, "<key>"), argument("x", 1)))
        plan = bind(config([tensor_config(name) for name in ("x", "b", "a")], [Y], 0), signature)
        assert [str(leaf.path) for leaf in plan.leaves.inputs] == [
            "KWARGS[options][b]",
            "KWARGS[options][a]",
            "KWARGS[x]",
        ]
        assert positions(plan)[0] == [2, 0, 1]

    @pytest.mark.parametrize(
        ("leaves", "missing"),
        [
            ([entry("options", 0, "a"), entry("options", 0, "b", has_default=True)], "options[a]"),
            ([entry("options", 0, "<key>")], "options[<key>]"),
            ([entry("options", 0, "a", owner_has_default=True)], None),
            ([entry("options", 0, "<key>", owner_has_default=True)], None),
        ],
    )
    def test_entries_that_must_be_declared(self, leaves: list[Leaf], missing: str | None) -> None:
        signature = replace(CALLABLE, inputs=(*leaves, argument("x", 1)))
        declared = config([tensor_config("x")], [Y], 0)
        if missing is None:
            assert len(bind(declared, signature).leaves.inputs) == 1
        else:
            assert f"no tensor for {missing}: every input needs one" in errors(declared, signature, NamingError)

    def test_dictionary_with_missing_entry(self) -> None:
        leaves = [entry("options", 0, key, owner_has_default=True) for key in "ab"]
        text = errors(config([tensor_config("a")], [Y], 0), replace(CALLABLE, inputs=tuple(leaves)), NamingError)
        assert "no tensor for options[b]" in text
