"""What the shell sees: usage, errors in one line, exit codes."""

import os
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
def test_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == 0
    assert "serve" in capsys.readouterr().out


def test_command_near_miss(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sreve"]) == 2
    assert "unknown command 'sreve'; did you mean 'serve'?" in _error_of(capsys)


def test_repository_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["serve", "--model-repository", str(tmp_path / "models")]) == 2
    assert f"'{tmp_path / 'models'}' cannot be read: No such file" in _error_of(capsys)


def test_repository_is_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "models").touch()
    assert run(["serve", "--model-repository", str(tmp_path / "models")]) == 2
    assert f"'{tmp_path / 'models'}' cannot be read: Not a directory" in _error_of(capsys)


def test_repository_empty(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["serve", f"--model-repository={tmp_path}"]) == 2
    assert "contains no model: each model is a directory" in _error_of(capsys)


@pytest.mark.parametrize("name", ["my model", "it's", "$HOME", "a;b"])
def test_model_name_with_special_characters(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    (tmp_path / name).mkdir()
    assert run(["serve", f"--model-repository={tmp_path}"]) == 2
    assert f"cannot start a model with the name of directory '{tmp_path / name}': use letters" in _error_of(capsys)


def test_python_model_without_its_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    version = tmp_path / "model" / "1"
    version.mkdir(parents=True)
    (tmp_path / "model" / "config.pbtxt").write_text('name: "model" backend: "python"', encoding="utf-8")
    (version / "model.py").symlink_to(tmp_path / "nowhere")
    assert run(["serve", f"--model-repository={tmp_path}"]) == 2
    assert f"'{version / 'model.py'}' does not exist, and the server would not start: link it" in _error_of(capsys)


def test_port_used_twice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "model").mkdir()
    port = str(free_endpoints()[0].port)
    assert run(["serve", f"--model-repository={tmp_path}", "--http-port", port, "--grpc-port", port]) == 2
    assert _error_of(capsys) == f"error: --http-port and --grpc-port are both {port}\n"


@pytest.mark.parametrize("option", ["--http-prot=1", "--model-repositry=x", "--grpc-prt"])
def test_option_near_miss(tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str) -> None:
    assert run(["serve", f"--model-repository={tmp_path}", option]) == 2
    assert "unknown option --" in (error := _error_of(capsys))
    assert "did you mean --" in error


def test_repository_is_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "model" / "1").mkdir(parents=True)
    (tmp_path / "model" / "config.pbtxt").touch()
    assert run(["serve", f"--model-repository={tmp_path / 'model'}"]) == 2
    assert f"give the directory above it, '{tmp_path}'" in _error_of(capsys)


@pytest.mark.parametrize("name", ["http", "grpc", "metrics"])
def test_port_taken(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "model").mkdir()
    without = [f"--allow-{other}=false" for other in ("http", "grpc", "metrics") if other != name]
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert run(["serve", f"--model-repository={tmp_path}", f"--{name}-port={port}", *without]) == 2
    error = _error_of(capsys)
    assert f"port {port} " in error
    assert f"--{name}-port" in error


def test_torch_aoti_on_old_core(
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
def test_run_by_path_from_any_directory(directory: str) -> None:
    command = [sys.executable, str(TREE), "--help"]
    shown = subprocess.run(command, cwd=directory, check=True, capture_output=True, text=True, timeout=60)
    assert "serve" in shown.stdout


def test_characters_that_the_terminal_lacks(tmp_path: Path) -> None:
    (tmp_path / "mod\u00e8le.txt").write_text("text")
    ran = subprocess.run(
        [sys.executable, str(TREE), "inspect", str(tmp_path / "mod\u00e8le.txt")],
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "mod\\xe8le.txt is a text file" in ran.stdout


def test_run_beside_modules_of_the_same_name(tmp_path: Path) -> None:
    for name in ("triton_pytorch", "cli", "local_server", "model_config"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('not this one')\n")
    subprocess.run([sys.executable, str(TREE)], cwd=tmp_path, env={"PYTHONPATH": str(tmp_path)}, check=True, timeout=60)
