"""Which options `serve` interprets, and which it passes on to tritonserver."""

from pathlib import Path

import pytest

from triton_pytorch.cli.serve_options import ServeOptions, parse_serve_options
from triton_pytorch.local_server.endpoints import Endpoint
from triton_pytorch.model_config.errors import LaunchError

EVERYWHERE = "0.0.0.0"  # noqa: S104 - tritonserver's default


def _parse(*options: str) -> ServeOptions:
    return parse_serve_options(["--model-repository", "models", *options])


def test_unknown_options_are_passed_on() -> None:
    options = ("--load-model=*", "--log-verbose", "1", "--disable-auto-complete-config", "--backend-config=python,a=b")
    assert _parse(*options).passed_on == options


def test_unknown_option_keeps_its_value() -> None:
    parsed = _parse("--log-verbose", "2", "--http-port", "9000", "--id", "x")
    assert parsed.passed_on == ("--log-verbose", "2", "--id", "x")
    assert parsed.endpoints[0].port == 9000


@pytest.mark.parametrize(
    "arguments",
    [
        ["--model-repository", "a b", "--model-store", "/c"],
        ["--model-store=a b", "--model-repository=/c"],
    ],
)
def test_relative_repositories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]) -> None:
    monkeypatch.chdir(tmp_path)
    assert parse_serve_options(arguments).local_repositories == (tmp_path / "a b", Path("/c"))


@pytest.mark.parametrize("option", ["--log-file=", "--grpc-server-key=", "--trace-config=triton,file="])
def test_relative_paths_of_other_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: str) -> None:
    monkeypatch.chdir(tmp_path)
    assert _parse(f"{option}logs/x").passed_on == (f"{option}{tmp_path}/logs/x",)


def test_trace_settings_without_path() -> None:
    assert _parse("--trace-config=level=TIMESTAMPS", "--trace-config", "rate=1").passed_on == (
        "--trace-config=level=TIMESTAMPS",
        "--trace-config=rate=1",
    )


def test_repository_url_is_not_local() -> None:
    parsed = parse_serve_options(["--model-repository", "s3://bucket/models"])
    assert parsed.model_repositories == ("s3://bucket/models",)
    assert parsed.local_repositories == ()


def test_endpoints_default() -> None:
    assert _parse().endpoints == (
        Endpoint("http", 8000, EVERYWHERE),
        Endpoint("grpc", 8001, EVERYWHERE),
        Endpoint("metrics", 8002, EVERYWHERE),
    )


def test_metrics_address_follows_http() -> None:
    assert [endpoint.address for endpoint in _parse("--http-address=127.0.0.1").endpoints] == [
        "127.0.0.1",
        EVERYWHERE,
        "127.0.0.1",
    ]
    assert _parse("--http-address=127.0.0.1", "--metrics-address", "::").endpoints[2].address == "::"


@pytest.mark.parametrize("no", ["false", "False", "0"])
def test_endpoint_switched_off(no: str) -> None:
    parsed = _parse("--allow-grpc", no)
    assert [endpoint.name for endpoint in parsed.endpoints] == ["http", "metrics"]
    assert f"--allow-grpc={no}" in parsed.passed_on


@pytest.mark.parametrize(
    ("options", "loads_all"),
    [(["--model-control-mode", "explicit"], False), (["--model-control-mode=poll"], True), ([], True)],
)
def test_model_control_mode(options: list[str], loads_all: bool) -> None:
    parsed = _parse(*options)
    assert parsed.loads_all_models is loads_all
    assert bool(parsed.passed_on) is bool(options)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "needs --model-repository DIR"),
        (["models"], "unexpected argument 'models' .*--model-repository DIR"),
        (["--model-repository"], "--model-repository.*expected one argument"),
        (["--model-repository=m", "--http-port=0"], "--http-port: '0' is not a port number .1 to 65535."),
        (["--model-repository=m", "--grpc-port", "65536"], "--grpc-port: '65536' is not a port number"),
        (["--model-repository=m", "--metrics-port", "http"], "--metrics-port: 'http' is not a port number"),
        (["--model-repository=m", "--backend-directory=b"], "--backend-directory cannot be given"),
    ],
)
def test_invalid_arguments(arguments: list[str], sentence: str) -> None:
    with pytest.raises(LaunchError, match=sentence):
        parse_serve_options(arguments)
