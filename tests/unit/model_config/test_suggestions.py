"""The nearest valid choice, and lists that stay readable."""

import pytest

from triton_pytorch.model_config.suggestions import counted, did_you_mean, listed


@pytest.mark.parametrize(
    ("wrong", "suggestion"),
    [("argz", "; did you mean 'ARGS'?"), ("KWARG", "; did you mean 'KWARGS'?"), ("zebra", ""), ("", "")],
)
def test_the_nearest_choice(wrong: str, suggestion: str) -> None:
    assert did_you_mean(wrong, ["ARGS", "KWARGS"]) == suggestion


def test_a_long_list_is_cut_with_the_number_left_out() -> None:
    assert listed(["a", "b"]) == "a, b"
    assert listed([str(i) for i in range(20)]) == ", ".join(map(str, range(16))) + " and 4 more"


def test_counted() -> None:
    assert [counted(count, "row") for count in (0, 1, 2)] == ["0 rows", "1 row", "2 rows"]
