"""Single fields of a config.pbtxt, as they are written."""

from pathlib import Path

import pytest

from triton_pytorch.local_server.config_text import Field, find_field, read_config_text


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('backend: "pytorch"', Field("pytorch", 1)),
        ("name: 'm'\n\n  backend : 'pytorch' # the one", Field("pytorch", 3)),
        ('# backend: "onnxruntime"\nbackend:\n  "py\\"torch"', Field('py\\"torch', 3)),
        ('name: "m" backend: "it\'s" platform: "x"', Field("it's", 1)),
        ('a_backend: "x"\nbackends: "x"', None),
        ('backend: "open', None),
        ("backend: 1", None),
        ('backend: "py" # in two parts\n  "thon"', Field("python", 1)),
        ('name: "a#b" backend: "python"', Field("python", 1)),
        ("parameters { key: 'k' value { string_value: 'backend: \"x\"' } }", None),
        ('input [ { backend: "x" } ]\r\noptimization < backend: "y" >\r\nbackend: "z"', Field("z", 3)),
        ('} backend: "python"', Field("python", 1)),
    ],
)
def test_find_field(text: str, found: Field | None) -> None:
    assert find_field(text, "backend") == found


def test_read_config_text(tmp_path: Path) -> None:
    assert read_config_text(tmp_path / "config.pbtxt") == ""
    (tmp_path / "config.pbtxt").write_bytes(b'name: "\xff"')
    assert read_config_text(tmp_path / "config.pbtxt") == 'name: "\ufffd"'
