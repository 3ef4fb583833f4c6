"""Arguments of a callable as input leaves: their names, what can be left out, and keys that only the config knows."""

from triton_pytorch.contract.leaves import Leaf, ValueKind
from triton_pytorch.io_naming.leaf_names import LeafNames
from triton_pytorch.io_naming.names import LeafPath
from triton_pytorch.method_calls.arguments import Argument, Keys, argument_leaves

X = Argument("x")
MASK = Argument("mask", has_default=True, type="Optional[Tensor]")
WORDS = Argument("words", ValueKind.STRINGS, type="List[str]")
POWER = Argument("power", ValueKind.NUMBER, has_default=True, type="int", dtype="int64")
SIZES = Argument("sizes", ValueKind.OTHER, type="List[int]")
KNOWN = Argument("options", keys=Keys(("a",), ("b",), are_all=True))


def dictionary(name: str, *required: str, optional: tuple[str, ...] = (), has_default: bool = False) -> Argument:
    """Make a dictionary whose code may read other keys too."""
    return Argument(name, has_default=has_default, type="Dict[str, Tensor]", keys=Keys(required, optional))


def names(*arguments: Argument) -> list[tuple[str, ...]]:
    return [leaf.names.names for leaf in argument_leaves(arguments)]


def test_tensor_argument_leaf() -> None:
    assert argument_leaves([X, MASK]) == (
        Leaf(LeafNames(LeafPath("KWARGS", ("x",)), ("x", "ARGS[0]", "KWARGS[x]"), index=0, owner="x")),
        Leaf(
            LeafNames(LeafPath("KWARGS", ("mask",)), ("mask", "ARGS[1]", "KWARGS[mask]"), index=1, owner="mask"),
            has_default=True,
            type="Optional[Tensor]",
        ),
    )


def test_argument_kinds() -> None:
    leaves = argument_leaves([WORDS, POWER, SIZES])
    assert [(leaf.kind, leaf.type, leaf.has_default, leaf.dtype, leaf.shape) for leaf in leaves] == [
        (ValueKind.STRINGS, "List[str]", False, None, None),
        (ValueKind.NUMBER, "int", True, "int64", ()),
        (ValueKind.OTHER, "List[int]", False, None, None),
    ]
    assert [leaf.names.label for leaf in leaves] == ["words (INPUT__0)", "power (INPUT__1)", "sizes (INPUT__2)"]


def test_dictionary_entry_leaves() -> None:
    assert argument_leaves([X, KNOWN])[1:] == tuple(
        Leaf(
            LeafNames(
                LeafPath("KWARGS", ("options", key)),
                (f"options[{key}]", key, f"ARGS[1][{key}]", f"KWARGS[options][{key}]"),
                owner="options",
                is_entry=True,
                owner_index=1,
                bare_key=key,
            ),
            has_default=has_default,
        )
        for key, has_default in (("a", False), ("b", True))
    )


def test_keys_of_two_dictionaries() -> None:
    assert names(dictionary("left", "a"), dictionary("right")) == [
        ("left[a]", "ARGS[0][a]", "KWARGS[left][a]"),
        ("left[<key>]", "ARGS[0][<key>]", "KWARGS[left][<key>]"),
        ("right[<key>]", "ARGS[1][<key>]", "KWARGS[right][<key>]"),
    ]


def test_dictionary_of_other_keys_has_an_open_leaf() -> None:
    leaves = argument_leaves([dictionary("options", "a")])
    assert [str(leaf.path) for leaf in leaves] == ["KWARGS[options][a]", "KWARGS[options][<key>]"]
    assert [leaf.names.is_open for leaf in leaves] == [False, True]
    assert leaves[1].names.names == ("options[<key>]", "<key>", "ARGS[0][<key>]", "KWARGS[options][<key>]")


def test_dictionary_entries_that_can_be_left_out() -> None:
    def defaults(argument: Argument) -> dict[str, bool]:
        return {leaf.path.segments[1]: leaf.has_default for leaf in argument_leaves([argument])}

    assert defaults(dictionary("options", "a", optional=("b",))) == {"a": False, "b": True, "<key>": True}
    # One entry at least, whichever that is.
    assert defaults(dictionary("options", optional=("b",))) == {"b": True, "<key>": False}
    assert defaults(dictionary("options")) == {"<key>": False}


def test_dictionary_with_default() -> None:
    leaves = argument_leaves([dictionary("options", "a", has_default=True), KNOWN])
    assert [leaf.owner_has_default for leaf in leaves] == [True, True, False, False]
