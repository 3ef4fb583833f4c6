"""Call specs as torch writes them give the names that torch sees; damaged ones are refused in one sentence."""

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from triton_pytorch.io_naming.call_spec import leaf_count_errors, read_call_spec
from triton_pytorch.io_naming.leaf_names import LeafNames
from triton_pytorch.model_config.errors import ArtifactError
from triton_pytorch.tests.assets.call_specs.generate import SPECS_FILE

SPECS = json.loads(SPECS_FILE.read_text(encoding="utf-8"))
SERVED, REFUSED, NOT_ONLY_TENSORS = SPECS["served"], SPECS["refused"], SPECS["not only tensors"]

LEAF: dict[str, object] = {"type": None, "context": None, "children_spec": []}
ONE_LEAF = json.dumps([1, LEAF])
ONE_ARGUMENT = SERVED["one tensor"]["in_spec"]


def printed(leaves: tuple[LeafNames, ...]) -> list[str]:
    return [leaf.names[0] for leaf in leaves]


def spec(kind: object, context: object, *children: object) -> str:
    return json.dumps([1, {"type": kind, "context": context, "children_spec": children}])


@pytest.mark.parametrize("shape", SERVED)
def test_names_of_every_shape(shape: str) -> None:
    kept = SERVED[shape]
    found = read_call_spec(kept["in_spec"], kept["out_spec"])
    assert printed(found.inputs) == kept["inputs"]
    assert printed(found.outputs) == kept["outputs"]
    for leaves in (found.inputs, found.outputs):
        assert [str(leaf.path) for leaf in leaves] == printed(leaves)
        assert [leaf.index for leaf in leaves] == list(range(len(leaves)))
    assert list(leaf_count_errors(found, kept["tensor_inputs"])) == []
    assert found.errors == ()


@pytest.mark.parametrize(
    ("shape", "inputs", "outputs"),
    [
        (
            "example of the specification",
            [None, None, None, None, "kwarg1", "kw_arg2"],
            "AAA ZZZ BBB BBB CCC CCC DDD DDD",
        ),
        ("dictionary as keyword", [None, "options", "options"], None),
        ("dictionary of one key", [None], None),
        ("pair as result", [None, None], None),
        ("namedtuple as result", [None], None),
        ("class with keys as result", [None], "last pooled pooled"),
        ("dataclass with None as result", [None], "width depth"),
    ],
)
def test_owners(shape: str, inputs: list[str | None], outputs: str | None) -> None:
    """Keywords and the keys of a result own what is below them; positions have no name."""
    found = read_call_spec(SERVED[shape]["in_spec"], SERVED[shape]["out_spec"])
    assert [leaf.owner for leaf in found.inputs] == inputs
    assert [leaf.owner for leaf in found.outputs] == (outputs.split() if outputs else [None] * len(found.outputs))


@pytest.mark.parametrize(
    ("context", "names"),
    [
        ('["last", "pooled"]', "RESULT[last] RESULT[pooled]"),
        (["last", "pooled"], "RESULT[last] RESULT[pooled]"),
        ('[["last", "pooled"], ["hidden"]]', "RESULT[last] RESULT[pooled]"),
        ({"default_factory_name": "list", "dict_context": ["a", "b"]}, "RESULT[a] RESULT[b]"),
        # all others go by index, and none is refused
        ('["a b", "c"]', "RESULT[0] RESULT[1]"),
        ('["a", "a"]', "RESULT[0] RESULT[1]"),
        ('["a"]', "RESULT[0] RESULT[1]"),
        ("[1, 2]", "RESULT[0] RESULT[1]"),
        ('[["a", "b"], "c"]', "RESULT[0] RESULT[1]"),
        ('{"a": 1, "b": 2}', "RESULT[0] RESULT[1]"),
        ("not JSON", "RESULT[0] RESULT[1]"),
        ("[" * 100_000, "RESULT[0] RESULT[1]"),
        (None, "RESULT[0] RESULT[1]"),
        (7, "RESULT[0] RESULT[1]"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_registered_classes(context: object, names: str) -> None:
    found = read_call_spec(ONE_ARGUMENT, spec("some.Class", context, LEAF, LEAF))
    assert " ".join(printed(found.outputs)) == names


@pytest.mark.parametrize(
    ("shape", "fragments"),
    [
        ("key with a space", ["the key 'a b'", "at ARGS[0] holds ' '", "rename it"]),
        ("key with a bracket in the result", ["the key 'a]'", "at RESULT[1] holds ']'"]),
        ("tuple as key", ["the key \"('a', 1)\"", "at ARGS[0][k] holds ','"]),
        ("keys that print alike", ["ARGS[0][1]", "1 and '1'"]),
    ],
)
def test_keys_without_names(shape: str, fragments: list[str]) -> None:
    (error,) = read_call_spec(REFUSED[shape]["in_spec"], REFUSED[shape]["out_spec"]).errors
    assert [fragment for fragment in fragments if fragment not in error] == []


@pytest.mark.parametrize(
    ("key", "character"),
    [
        ("a,b", "','"),
        ('a"b', "'\"'"),
        ("[", "'['"),
        ("a\tb", r"'\t'"),
        ("\u2028", r"'\u2028'"),
        ("\ud800", r"'\ud800'"),
    ],
)
def test_keys_forbidden_characters(key: str, character: str) -> None:
    found = read_call_spec(ONE_ARGUMENT, spec("builtins.dict", json.dumps([key, "fine"]), LEAF, LEAF))
    (error,) = found.errors
    assert f"at RESULT holds {character}" in error
    assert error.encode("utf-8")
    assert found.outputs[1].names == ("RESULT[fine]",)  # what has a name keeps it


def test_every_error_is_told() -> None:
    bad = json.dumps({"type": "builtins.dict", "context": '["b c", "d e"]', "children_spec": [LEAF, LEAF]})
    errors = read_call_spec(ONE_ARGUMENT, spec("builtins.dict", '["a]", "1", 1]', json.loads(bad), LEAF, LEAF)).errors
    assert [re.sub(",? so no.*", "", error) for error in errors] == [
        "the key 'a]' of the dictionary at RESULT holds ']'",
        "the key 'b c' of the dictionary at RESULT[a]] holds ' '",
        "the key 'd e' of the dictionary at RESULT[a]] holds ' '",
        "several leaves of the model print alike as RESULT[1]",
    ]


@pytest.mark.parametrize(
    ("out_spec", "fragment"),
    [
        ("", "out_spec is not valid JSON"),
        ('[1, {"type": null', "out_spec is not valid JSON"),
        ("[" * 100_000, "out_spec is not valid JSON"),
        ("[" + "9" * 5000 + ", null]", "out_spec"),
        ("null", "out_spec is not a pytree spec: expected [1, node], got 'null'"),
        ("[1]", "out_spec is not a pytree spec"),
        (json.dumps([2, LEAF]), "pytree protocol 2, but only protocol 1 is known"),
        (json.dumps(["1", LEAF]), "pytree protocol '1'"),
        ("[1, 7]", "damaged at RESULT: 7 is not a pytree node"),
        ("[1, {}]", "damaged at RESULT"),
        (spec(None, None, LEAF), "damaged at RESULT"),  # a leaf has no children
        (spec("builtins.tuple", "null", LEAF, "x"), "damaged at RESULT[1]: 'x'"),
        (spec("builtins.dict", '["a", "b"]', LEAF), "damaged at RESULT"),  # two keys for one child
        (spec("builtins.dict", '{"a": 1}', LEAF), "is not a list of keys"),
        (spec("builtins.dict", "[", LEAF), "keys at RESULT is not valid JSON"),
        (spec("builtins.dict", None, LEAF), "None is not a list of keys"),
        (spec("builtins.dict", "[{}]", LEAF), "damaged at RESULT: {} is not a key"),
    ],
)
def test_damaged_specs(out_spec: str, fragment: str) -> None:
    with pytest.raises(ArtifactError) as caught:
        read_call_spec(ONE_ARGUMENT, out_spec)
    assert fragment in str(caught.value)
    assert len(str(caught.value)) < 400  # an excerpt of the spec, never the whole of it


def test_deep_trees() -> None:
    depth = 3000
    opened = '{"type": "builtins.list", "context": "null", "children_spec": ['
    deep = f"[1, {opened * depth}{json.dumps(LEAF)}{']}' * depth}]"
    try:
        leaves = read_call_spec(ONE_ARGUMENT, deep).outputs
    except ArtifactError:
        return  # the JSON reader of some Pythons gives up first
    assert leaves[0].names[0] == "RESULT" + "[0]" * depth


@pytest.mark.parametrize(
    "in_spec", [ONE_LEAF, spec("builtins.tuple", "null", LEAF, LEAF), SERVED["pair as result"]["out_spec"]]
)
def test_damaged_in_spec(in_spec: str) -> None:
    with pytest.raises(ArtifactError, match="in_spec is damaged: expected a tuple of an args tuple and a kwargs dict"):
        read_call_spec(in_spec, ONE_LEAF)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
KINDS = st.sampled_from(["builtins.tuple", "builtins.list", "builtins.dict", "collections.OrderedDict", "x.Y", None])
CONTEXTS = st.none() | st.lists(JSON, max_size=3).map(json.dumps) | JSON
NODES = st.recursive(
    st.just(LEAF) | JSON,
    lambda inner: st.fixed_dictionaries(
        {"type": KINDS, "context": CONTEXTS, "children_spec": st.lists(inner, max_size=3) | JSON}
    ),
    max_leaves=8,
)


def _is_refused_properly(in_spec: str, out_spec: str) -> bool:
    try:
        read_call_spec(in_spec, out_spec)
    except ArtifactError as error:
        return bool(str(error).encode("utf-8"))
    return True


def test_keys_nested_deeply() -> None:
    (error,) = read_call_spec(ONE_ARGUMENT, spec("builtins.dict", "[" * 300 + "]" * 300, LEAF)).errors
    assert len(error) < 400


@given(NODES, st.sampled_from([1, 1, 1, 2, None]))
@settings(deadline=None)
def test_fuzz_any_json(node: Any, protocol: Any) -> None:
    assert _is_refused_properly(ONE_ARGUMENT, json.dumps([protocol, node]))


@given(
    st.sampled_from([kept["in_spec"] for kept in SERVED.values()]),
    st.integers(0),
    st.integers(0, 40),
    st.text(max_size=3),
)
@settings(deadline=None)
def test_fuzz_torn_specs(text: str, start: int, length: int, patch: str) -> None:
    start %= len(text)
    assert _is_refused_properly(text[:start] + patch + text[start + length :], ONE_LEAF)


@pytest.mark.parametrize(
    ("shape", "fragments"),
    [
        ("None argument", ["3 input leaves (ARGS[0], ARGS[1], ARGS[2])", "takes 2 tensors"]),
        ("constant as keyword", ["2 input leaves (ARGS[0], KWARGS[n])", "takes 1 tensors"]),
    ],
)
def test_leaf_count_none_and_constants(shape: str, fragments: list[str]) -> None:
    kept = NOT_ONLY_TENSORS[shape]
    (error,) = leaf_count_errors(read_call_spec(kept["in_spec"], kept["out_spec"]), kept["tensor_inputs"])
    assert [fragment for fragment in [*fragments, "wrapper module whose forward"] if fragment not in error] == []


def test_leaf_count_too_many() -> None:
    (error,) = leaf_count_errors(read_call_spec(ONE_ARGUMENT, ONE_LEAF), 2)
    assert re.search(r"1 input leaves .* takes 2 tensors: they do not belong together", error)
