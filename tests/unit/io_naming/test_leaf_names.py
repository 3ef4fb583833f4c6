"""Names with `<key>` or `<index>` in them match every key or index, and nothing else."""

import pytest

from triton_pytorch.io_naming.leaf_names import match


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("options[<key>]", "options[a b]", ("a b",)),
        ("<key>", "anything", ("anything",)),
        ("RESULT[<index>][boxes]", "RESULT[10][boxes]", ("10",)),
        ("RESULT[<index>][<key>]", "RESULT[0][k]", ("0", "k")),
        ("a.b[<key>]", "a.b[c]", ("c",)),
        ("a.b[<key>]", "axb[c]", None),
        ("options[<key>]", "options[]", None),
        ("options[<key>]", "options[a][b]", None),
        ("RESULT[<index>]", "RESULT[01]", None),
        ("RESULT[<index>]", "RESULT[x]", None),
        ("x", "y", None),
    ],
)
def test_match(name: str, text: str, found: tuple[str, ...] | None) -> None:
    assert match(name, text) == found
