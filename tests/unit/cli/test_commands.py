"""What the shell sees: usage, errors in one line, exit codes."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from triton_pytorch.cli.commands import run
from triton_pytorch.local_server.endpoints import free_endpoints

TREE = Path(__file__).resolve().parents[3]


def _error_of(capsys: pytest.CaptureFixture[str]) -> str:
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.startswith("error: ")
    return captured.err


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_usage_names_the_commands(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == 0
    assert "serve" in capsys.readouterr().out


def test_a_near_miss_is_answered_with_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sreve"]) == 2
    assert "did you mean 'serve'?" in _error_of(capsys)


def test_a_repository_that_is_not_there_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["serve", "--model-repository", str(tmp_path / "models")]) == 2
    assert f"'{tmp_path / 'models'}' cannot be read: No such file" in _error_of(capsys)


def test_a_file_is_no_repository(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "models").touch()
    assert run(["serve", "--model-repository", str(tmp_path / "models")]) == 2
    assert f"'{tmp_path / 'models'}' cannot be read: Not a directory" in _error_of(capsys)


def test_an_empty_repository_is_answered_with_what_it_should_hold(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["serve", f"--model-repository={tmp_path}"]) == 2
    assert "holds no model" in _error_of(capsys)


@pytest.mark.parametrize("name", ["my model", "it's", "$HOME", "a;b"])
def test_a_model_name_that_a_shell_would_change_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    (tmp_path / name).mkdir()
    assert run(["serve", f"--model-repository={tmp_path}"]) == 2
    assert "has a name that Triton's Python backend cannot start: use letters" in _error_of(capsys)


def test_a_python_model_without_its_file_is_named_before_the_server_waits_for_it_for_ever(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    version = tmp_path / "model" / "1"
    version.mkdir(parents=True)
    (tmp_path / "model" / "config.pbtxt").write_text('name: "model" backend: "python"', encoding="utf-8")
    (version / "model.py").symlink_to(tmp_path / "nowhere")
    assert run(["serve", f"--model-repository={tmp_path}"]) == 2
    assert f"'{version / 'model.py'}' does not exist, and the server would wait for it for ever: link it" in _error_of(
        capsys
    )


def test_one_port_for_two_services_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "model").mkdir()
    port = str(free_endpoints()[0].port)
    assert run(["serve", f"--model-repository={tmp_path}", "--http-port", port, "--grpc-port", port]) == 2
    assert _error_of(capsys) == f"error: --http-port and --grpc-port are both {port}\n"


@pytest.mark.parametrize("option", ["--http-prot=1", "--model-repositry=x", "--grpc-prt"])
def test_a_slip_in_an_option_is_answered_with_the_right_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    assert run(["serve", f"--model-repository={tmp_path}", option]) == 2
    assert "there is no option" in (error := _error_of(capsys))
    assert "did you mean --" in error


def test_a_model_given_as_repository_is_answered_with_the_directory_above(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "model" / "1").mkdir(parents=True)
    (tmp_path / "model" / "config.pbtxt").touch()
    assert run(["serve", f"--model-repository={tmp_path / 'model'}"]) == 2
    assert f"give the directory above it, '{tmp_path}'" in _error_of(capsys)


@pytest.mark.parametrize("name", ["http", "grpc", "metrics"])
def test_a_taken_port_is_named_with_the_option_that_moves_it(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "model").mkdir()
    without = [f"--allow-{other}=false" for other in ("http", "grpc", "metrics") if other != name]
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert run(["serve", f"--model-repository={tmp_path}", f"--{name}-port={port}", *without]) == 2
    error = _error_of(capsys)
    assert f"port {port} " in error
    assert f"--{name}-port" in error


def test_torch_aoti_on_an_old_core_is_answered_with_the_line_to_change(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "model" / "config.pbtxt"
    config.parent.mkdir()
    config.write_text('backend: "pytorch"\nplatform: "torch_aoti"\n', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert run(["serve", "--model-repository=.", "--allow-http=0", "--allow-grpc=0", "--allow-metrics=0"]) == 2
    error = _error_of(capsys)
    assert f'change backend: "pytorch" to backend: "pytorch_python" in line 1 of {config}' in error


@pytest.mark.parametrize("directory", ["/", str(TREE), str(TREE / "cli")])
def test_the_tree_is_run_by_its_path_from_anywhere(directory: str) -> None:
    command = [sys.executable, str(TREE), "--help"]
    shown = subprocess.run(command, cwd=directory, check=True, capture_output=True, text=True, timeout=60)
    assert "serve" in shown.stdout


def test_a_users_module_with_the_name_of_a_room_does_not_get_in_the_way(tmp_path: Path) -> None:
    for name in ("cli", "local_server", "model_config"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('not this one')\n")
    subprocess.run([sys.executable, str(TREE)], cwd=tmp_path, env={"PYTHONPATH": str(tmp_path)}, check=True, timeout=60)
