"""The command line of `serve`: options of tritonserver, of which it interprets those that it acts on itself."""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from triton_pytorch.local_server.endpoints import Endpoint
from triton_pytorch.model_config.errors import LaunchError
from triton_pytorch.model_config.suggestions import nearest

_DEFAULT_PORTS = {"http": 8000, "grpc": 8001, "metrics": 8002}
_EVERYWHERE = "0.0.0.0"  # noqa: S104 - tritonserver's default
_PATHS = ("log-file", "cache-directory", "repoagent-directory", "grpc-server-cert", "grpc-server-key", "grpc-root-cert")
_NO = ("false", "0")


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """What `serve` acts on itself, and `passed_on`: all other options, in tritonserver's spelling."""

    model_repositories: tuple[str, ...]  # absolute directories, or URLs such as s3://bucket/models
    endpoints: tuple[Endpoint, ...]  # those that are not switched off
    loads_all_models: bool  # False: clients say later which models to load
    passed_on: tuple[str, ...]

    @property
    def local_repositories(self) -> tuple[Path, ...]:
        """The repositories that are directories of this machine."""
        return tuple(Path(repository) for repository in self.model_repositories if not _is_url(repository))


def parse_serve_options(arguments: Sequence[str]) -> ServeOptions:
    """Parse the arguments of `serve`; relative paths are relative to the current directory.

    Both `--option value` and `--option=value` are accepted. Raises LaunchError for an argument that is wrong; what
    only tritonserver can judge is passed on.
    """
    known, unknown = _parser().parse_known_args(arguments)
    values = {name.replace("_", "-"): value for name, value in vars(known).items() if value is not None}
    if "backend-directory" in values:
        raise LaunchError("--backend-directory cannot be given: serve makes that directory, with this backend in it")
    if unknown and not unknown[0].startswith("-"):
        raise LaunchError(f"unexpected argument '{unknown[0]}' (a repository is given as --model-repository DIR)")
    for option in unknown:
        _refuse_near_miss(option)
    if "model-repository" not in values:
        raise LaunchError("serve needs --model-repository DIR")
    return ServeOptions(
        model_repositories=tuple(values.pop("model-repository")),
        endpoints=_take_endpoints(values),
        loads_all_models=values.get("model-control-mode") != "explicit",
        passed_on=(*_spelled(values), *unknown),
    )


def _spelled(values: dict[str, Any]) -> Iterator[str]:
    for name, value in values.items():
        for one in value if isinstance(value, list) else [value]:
            yield f"--{name}={one}"


def _refuse_near_miss(option: str) -> None:
    """tritonserver answers an option that it does not know with all of its own, hundreds of lines."""
    name = option.partition("=")[0]
    meant = nearest(name, [f"--{service}-port" for service in _DEFAULT_PORTS] + ["--model-repository"], closeness=0.85)
    if meant is not None:
        raise LaunchError(f"unknown option {name}; did you mean {meant}?")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise LaunchError(message)


def _parser() -> _Parser:
    parser = _Parser(
        prog="python DIRECTORY_OF_THIS_BACKEND serve",
        usage="%(prog)s --model-repository DIR [OPTION ...]",
        description="Run a tritonserver in the foreground, with this backend as 'pytorch' and 'pytorch_python'.",
        epilog="Every other option goes to tritonserver as it is; 'tritonserver --help' lists them. "
        "Ctrl-C stops the server (exit code 0); a second one stops it at once.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--model-repository",
        "--model-store",
        action="append",
        type=_absolute,
        metavar="DIR",
        help="the directory that contains one directory per model; may be repeated",
    )
    for name, port in _DEFAULT_PORTS.items():
        parser.add_argument(f"--{name}-port", type=_port, metavar="N", default=port, help=f"by default {port}")
    for option in ("backend-directory", "model-control-mode", *_endpoint_options()):
        parser.add_argument(f"--{option}", help=argparse.SUPPRESS)
    for option in _PATHS:
        parser.add_argument(f"--{option}", type=_absolute, help=argparse.SUPPRESS)
    parser.add_argument("--trace-config", action="append", type=_with_absolute_file, help=argparse.SUPPRESS)
    return parser


def _endpoint_options() -> list[str]:
    return [option for name in _DEFAULT_PORTS for option in (f"allow-{name}", f"{name}-address")]


def _take_endpoints(values: dict[str, Any]) -> tuple[Endpoint, ...]:
    """Remove the ports and addresses from `values`, and return the endpoints that it leaves switched on."""
    # tritonserver opens the metrics where it opens HTTP, unless told otherwise.
    http_address = values.get("http-address", _EVERYWHERE)
    defaults = {"http": _EVERYWHERE, "grpc": _EVERYWHERE, "metrics": http_address}
    return tuple(
        Endpoint(name, values.pop(f"{name}-port"), values.pop(f"{name}-address", address))
        for name, address in defaults.items()
        if values.get(f"allow-{name}", "true").lower() not in _NO
    )


def _port(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"'{text}' is not a port number (1 to 65535)")
    return int(text)


def _absolute(path: str) -> str:
    return path if _is_url(path) else str(Path(path).absolute())


def _with_absolute_file(trace_setting: str) -> str:
    """Make the path in a setting such as `triton,file=trace.json` absolute."""
    before, file, path = trace_setting.partition("file=")
    return f"{before}{file}{_absolute(path)}" if file else trace_setting


def _is_url(path: str) -> bool:
    return "://" in path
