"""File names that keep a server from opening its ports, refused before it starts."""

from pathlib import Path

import pytest

from triton_pytorch.local_server.python_entries import check_python_entries
from triton_pytorch.model_config.errors import LaunchError


def write_config(repository: Path, text: str) -> Path:
    path = repository / "m" / "config.pbtxt"
    path.parent.mkdir()
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["a b.pt2", 'a\\"b', "it's", "$HOME.pt", "a&b", "a(1).pt2", "a;b", "a\\\\b", "*.pt2"])
@pytest.mark.parametrize("backend", ['backend: "pytorch"', 'backend: "pytorch_python"', 'platform: "pytorch_libtorch"'])
def test_name_changed_by_a_shell(tmp_path: Path, name: str, backend: str) -> None:
    path = write_config(tmp_path, f'{backend}\n\ndefault_model_filename: "{name}"\n')
    with pytest.raises(LaunchError) as caught:
        check_python_entries(tmp_path)
    assert str(caught.value) == (
        f'Triton\'s Python backend cannot start a model with default_model_filename: "{name}" (line 3 of {path}), '
        "because it hands the name to a shell: rename the file, or write parameters { key: "
        f'"DEFAULT_MODEL_FILENAME" value {{ string_value: "{name}" }} }} instead'
    )


def test_name_of_a_python_file(tmp_path: Path) -> None:
    write_config(tmp_path, 'backend: "python" default_model_filename: "my model.py"')
    with pytest.raises(LaunchError, match=r"hands the name to a shell: rename the file$"):
        check_python_entries(tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        'backend: "pytorch" default_model_filename: "modèle-v1.2_x.pt2"',
        'backend: "onnxruntime" default_model_filename: "my model.onnx"',
        '# default_model_filename: "my model.pt2"\nbackend: "pytorch"',
        'backend: "pytorch" parameters { key: "DEFAULT_MODEL_FILENAME" value { string_value: "my model.pt2" } }',
    ],
)
def test_other_names(tmp_path: Path, text: str) -> None:
    write_config(tmp_path, text)
    check_python_entries(tmp_path)
