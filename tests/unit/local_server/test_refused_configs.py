"""Which configs an old core refuses, and the line to change."""

from pathlib import Path

import pytest

from triton_pytorch.local_server.refused_configs import knows_torch_aoti, refused_config_remedies


def _write_config(repository: Path, model: str, text: str) -> Path:
    path = repository / model / "config.pbtxt"
    path.parent.mkdir()
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('platform: "torch_aoti"\nbackend: "pytorch"\n', "line 2"),
        ('# backend: "pytorch" is the one\n\n  backend : \'pytorch\'\nplatform: "torch_aoti"', "line 3"),
        ('name: "m" platform: "torch_aoti" a_field_of_a_later_core: 1', "add the line"),
    ],
)
def test_refused_torch_aoti_with_stock_name(tmp_path: Path, text: str, line: str) -> None:
    path = _write_config(tmp_path, "model", text)
    (remedy,) = refused_config_remedies(tmp_path)
    assert remedy.endswith(str(path))
    assert line in remedy
    assert 'backend: "pytorch_python"' in remedy


@pytest.mark.parametrize(
    "text",
    [
        'backend: "pytorch_python"\nplatform: "torch_aoti"',
        'backend: "python"\nplatform: "torch_aoti"',
        'backend: "pytorch"\nplatform: "pytorch_libtorch"',
        'backend: "pytorch" # not platform: "torch_aoti"',
        'backend: "pytorch"\nplatform: "torch_aoti',  # does not parse: the server says so
        '# platform: "torch_aoti"\nbackend: "pytorch"',
        "",
    ],
)
def test_refused_none_of_the_others(tmp_path: Path, text: str) -> None:
    _write_config(tmp_path, "model", text)
    assert list(refused_config_remedies(tmp_path)) == []


def test_refused_all_of_a_repository(tmp_path: Path) -> None:
    text = 'backend: "pytorch"\nplatform: "torch_aoti"'
    paths = [_write_config(tmp_path, name, text) for name in ("a", "b")]
    remedies = list(refused_config_remedies(tmp_path))
    assert [remedy.endswith(str(path)) for remedy, path in zip(remedies, paths, strict=True)] == [True, True]


@pytest.mark.parametrize(
    ("core_version", "known"),
    [((2, 51, 0), False), ((2, 66, 0), False), ((2, 67, 0), True), ((2, 100, 0), True), ((3, 0), True), (None, True)],
)
def test_knows_torch_aoti(core_version: tuple[int, ...] | None, known: bool) -> None:
    assert knows_torch_aoti(core_version) is known
