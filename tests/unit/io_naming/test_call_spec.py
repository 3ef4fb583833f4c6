"""Call specs as torch writes them give the leaf paths that torch sees; all others are refused in one sentence."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from triton_pytorch.io_naming.call_spec import check_leaf_count, read_call_spec
from triton_pytorch.model_config.errors import ArtifactError, BackendError, NamingError, UnsupportedError
from triton_pytorch.tests.assets.call_specs.generate import SPECS_FILE

SPECS = json.loads(SPECS_FILE.read_text(encoding="utf-8"))
SERVED, REFUSED, NOT_ONLY_TENSORS = SPECS["served"], SPECS["refused"], SPECS["not only tensors"]

LEAF: dict[str, object] = {"type": None, "context": None, "children_spec": []}
ONE_LEAF = json.dumps([1, LEAF])
ONE_ARGUMENT = SERVED["one tensor"]["in_spec"]


def spec(kind: object, context: object, *children: object) -> str:
    return json.dumps([1, {"type": kind, "context": context, "children_spec": children}])


@pytest.mark.parametrize("shape", SERVED)
def test_leaves_have_the_paths_that_torch_sees(shape: str) -> None:
    kept = SERVED[shape]
    found = read_call_spec(kept["in_spec"], kept["out_spec"])
    assert [str(path) for path in found.inputs] == kept["inputs"]
    assert [str(path) for path in found.outputs] == kept["outputs"]


def test_the_table_holds_no_tree_twice() -> None:
    assert len({(kept["in_spec"], kept["out_spec"]) for kept in SERVED.values()}) == len(SERVED) >= 40


def test_the_example_of_the_documentation() -> None:
    kept = SERVED["example of the specification"]
    found = read_call_spec(kept["in_spec"], kept["out_spec"])
    assert " ".join(map(str, found.inputs)) == (
        "ARGS[0] ARGS[1] ARGS[2][keyA] ARGS[2][key2] KWARGS[kwarg1] KWARGS[kw_arg2]"
    )
    assert " ".join(map(str, found.outputs)) == (
        "RESULT[AAA] RESULT[ZZZ] RESULT[BBB][0] RESULT[BBB][1]"
        " RESULT[CCC][keyA] RESULT[CCC][key2] RESULT[DDD][KA] RESULT[DDD][KB]"
    )


@pytest.mark.parametrize(
    ("shape", "error", "fragments"),
    [
        ("deque", UnsupportedError, ["'collections.deque' at ARGS[1]", "use tuple, list, dict"]),
        ("defaultdict as result", UnsupportedError, ["'collections.defaultdict' at RESULT[a]"]),
        ("dataclass", UnsupportedError, ["'shapes.Box' at KWARGS[box]"]),
        ("key with a space", NamingError, ["the key 'a b'", "at ARGS[0] holds ' '", "rename it"]),
        ("key with a bracket in the result", NamingError, ["the key 'a]'", "at RESULT[1] holds ']'"]),
        ("tuple as key", NamingError, ["the key \"('a', 1)\"", "at ARGS[0][k] holds ','"]),
        ("keys that print alike", NamingError, ["ARGS[0][1]", "1 and '1'"]),
    ],
)
def test_a_tree_without_names_is_refused(shape: str, error: type[BackendError], fragments: list[str]) -> None:
    with pytest.raises(error) as caught:
        read_call_spec(REFUSED[shape]["in_spec"], REFUSED[shape]["out_spec"])
    assert [fragment for fragment in fragments if fragment not in str(caught.value)] == []


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
def test_a_key_that_no_name_can_hold_is_refused(key: str, character: str) -> None:
    with pytest.raises(NamingError) as caught:
        read_call_spec(ONE_ARGUMENT, spec("builtins.dict", json.dumps([key]), LEAF))
    assert f"at RESULT holds {character}" in str(caught.value)
    assert str(caught.value).encode("utf-8")


@pytest.mark.parametrize(
    ("out_spec", "fragment"),
    [
        ("", "out_spec is no JSON"),
        ('[1, {"type": null', "out_spec is no JSON"),
        ("[" * 100_000, "out_spec is no JSON"),
        ("[" + "9" * 5000 + ", null]", "out_spec"),
        ("null", "out_spec is no pytree spec: expected [1, node], got 'null'"),
        ("[1]", "out_spec is no pytree spec"),
        (json.dumps([2, LEAF]), "pytree protocol 2, but only protocol 1 is known"),
        (json.dumps(["1", LEAF]), "pytree protocol '1'"),
        ("[1, 7]", "damaged at RESULT: 7 is no pytree node"),
        ("[1, {}]", "damaged at RESULT"),
        (spec(None, None, LEAF), "damaged at RESULT"),  # a leaf has no children
        (spec("builtins.tuple", "null", LEAF, "x"), "damaged at RESULT[1]: 'x'"),
        (spec("builtins.dict", '["a", "b"]', LEAF), "damaged at RESULT"),  # two keys for one child
        (spec("builtins.dict", '{"a": 1}', LEAF), "is no list of keys"),
        (spec("builtins.dict", "[", LEAF), "keys at RESULT is no JSON"),
        (spec("builtins.dict", None, LEAF), "None is no list of keys"),
        (spec("builtins.dict", "[{}]", LEAF), "damaged at RESULT: {} is no key"),
    ],
)
def test_a_damaged_spec_is_told_from_an_unsupported_one(out_spec: str, fragment: str) -> None:
    with pytest.raises(ArtifactError) as caught:
        read_call_spec(ONE_ARGUMENT, out_spec)
    assert fragment in str(caught.value)
    assert len(str(caught.value)) < 400  # an excerpt of the spec, never the whole of it


def test_a_tree_deeper_than_python_recurses_is_read_or_refused() -> None:
    depth = 3000
    opened = '{"type": "builtins.list", "context": "null", "children_spec": ['
    deep = f"[1, {opened * depth}{json.dumps(LEAF)}{']}' * depth}]"
    try:
        leaves = read_call_spec(ONE_ARGUMENT, deep).outputs
    except ArtifactError:
        return  # the JSON reader of some Pythons gives up first
    assert str(leaves[0]) == "RESULT" + "[0]" * depth


@pytest.mark.parametrize(
    "in_spec", [ONE_LEAF, spec("builtins.tuple", "null", LEAF, LEAF), SERVED["pair as result"]["out_spec"]]
)
def test_an_in_spec_is_a_tuple_of_args_and_kwargs(in_spec: str) -> None:
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
    except (ArtifactError, NamingError, UnsupportedError) as error:
        return bool(str(error).encode("utf-8"))
    return True


def test_a_key_nested_deeply_is_refused_with_an_excerpt() -> None:
    with pytest.raises(NamingError) as caught:
        read_call_spec(ONE_ARGUMENT, spec("builtins.dict", "[" * 300 + "]" * 300, LEAF))
    assert len(str(caught.value)) < 400


@given(NODES, st.sampled_from([1, 1, 1, 2, None]))
@settings(deadline=None)
def test_any_json_is_read_or_refused_with_an_error_of_ours(node: Any, protocol: Any) -> None:
    assert _is_refused_properly(ONE_ARGUMENT, json.dumps([protocol, node]))


@given(
    st.sampled_from([kept["in_spec"] for kept in SERVED.values()]),
    st.integers(0),
    st.integers(0, 40),
    st.text(max_size=3),
)
@settings(deadline=None)
def test_a_torn_spec_is_read_or_refused_with_an_error_of_ours(text: str, start: int, length: int, patch: str) -> None:
    start %= len(text)
    assert _is_refused_properly(text[:start] + patch + text[start + length :], ONE_LEAF)


@pytest.mark.parametrize("shape", SERVED)
def test_a_model_of_tensors_takes_as_many_as_its_spec_has_leaves(shape: str) -> None:
    check_leaf_count(read_call_spec(SERVED[shape]["in_spec"], ONE_LEAF), SERVED[shape]["tensor_inputs"])


@pytest.mark.parametrize(
    ("shape", "fragments"),
    [
        ("None argument", ["3 input leaves (ARGS[0], ARGS[1], ARGS[2])", "takes 2 tensors"]),
        ("constant as keyword", ["2 input leaves (ARGS[0], KWARGS[n])", "takes 1 tensors"]),
    ],
)
def test_a_package_exported_with_more_than_tensors_is_refused_with_the_remedy(shape: str, fragments: list[str]) -> None:
    kept = NOT_ONLY_TENSORS[shape]
    with pytest.raises(UnsupportedError, match="wrapper module whose forward takes tensors only") as caught:
        check_leaf_count(read_call_spec(kept["in_spec"], kept["out_spec"]), kept["tensor_inputs"])
    assert [fragment for fragment in fragments if fragment not in str(caught.value)] == []


def test_a_model_that_takes_more_than_its_spec_names_is_damaged() -> None:
    with pytest.raises(ArtifactError, match=r"1 input leaves .* takes 2 tensors: they do not belong together"):
        check_leaf_count(read_call_spec(ONE_ARGUMENT, ONE_LEAF), 2)
