"""`serve`: run a tritonserver with this backend in the foreground, until a signal stops it."""

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from triton_pytorch.artifact_store.location import locate_store
from triton_pytorch.artifact_store.store import Store
from triton_pytorch.cli.serve_options import ServeOptions, parse_serve_options
from triton_pytorch.local_server.endpoints import Endpoint, listening_obstacle
from triton_pytorch.local_server.environment import is_changed_by_shell
from triton_pytorch.local_server.installation import find_installation
from triton_pytorch.local_server.python_entries import check_python_entries
from triton_pytorch.local_server.refused_configs import knows_torch_aoti, refused_config_remedies
from triton_pytorch.local_server.server import Server
from triton_pytorch.model_config.errors import LaunchError, StoreError
from triton_pytorch.model_config.suggestions import counted

_POLL_S = 0.1
_STOP_TIMEOUT_S = 35.0  # tritonserver itself gives requests under way 30 s (--exit-timeout-secs)


def run(arguments: Sequence[str]) -> int:
    """Serve until SIGINT, SIGTERM or SIGHUP, then return 0; return 1 where the server ends by itself.

    Raises LaunchError where it cannot be started with these `arguments` or on this machine.
    """
    options = parse_serve_options(arguments)
    installation = find_installation()
    for repository in options.local_repositories:
        _check_repository(repository, may_be_empty=not options.loads_all_models)
        check_python_entries(repository)
    _check_endpoints(options.endpoints)
    if options.loads_all_models and not knows_torch_aoti(installation.core_version):
        _check_configs(options.local_repositories)
    return _serve(options)


def _check_repository(repository: Path, *, may_be_empty: bool) -> None:
    try:
        models = [path.name for path in repository.iterdir() if path.is_dir()]
    except OSError as error:
        raise LaunchError(f"model repository '{repository}' cannot be read: {error.strerror}") from error
    if (repository / "config.pbtxt").exists():
        raise LaunchError(f"'{repository}' is a model: give the directory above it, '{repository.parent}'")
    unusable = [model for model in models if is_changed_by_shell(model)]
    if unusable:
        raise LaunchError(
            f"Triton's Python backend cannot start a model with the name of directory '{repository / unusable[0]}': "
            "use letters, digits, '_', '-' and '.' only"
        )
    if not models and not may_be_empty:
        raise LaunchError(
            f"model repository '{repository}' contains no model: each model is a directory in it, such as "
            "my_model with my_model/config.pbtxt and my_model/1/model.pt2"
        )


def _check_endpoints(endpoints: Sequence[Endpoint]) -> None:
    taken: dict[int, str] = {}
    for endpoint in endpoints:
        if endpoint.port in taken:
            raise LaunchError(f"--{taken[endpoint.port]}-port and --{endpoint.name}-port are both {endpoint.port}")
        taken[endpoint.port] = endpoint.name
        obstacle = listening_obstacle(endpoint)
        if obstacle is not None:
            raise LaunchError(
                f"cannot listen on port {endpoint.port} of {endpoint.address} ({obstacle}): "
                f"choose another with --{endpoint.name}-port or --{endpoint.name}-address"
            )


def _check_configs(repositories: Iterable[Path]) -> None:
    remedies = [remedy for repository in repositories for remedy in refused_config_remedies(repository)]
    if remedies:
        raise LaunchError(
            'this tritonserver is older than release 26.03 and accepts platform: "torch_aoti" only for the '
            f'backend name "pytorch_python": {"; ".join(remedies)}'
        )


def _serve(options: ServeOptions) -> int:
    stop_signals: list[int] = []
    _on_stop_signals(stop_signals.append)
    server = Server(
        *options.model_repositories, options=options.passed_on, endpoints=options.endpoints, log_to_terminal=True
    )
    try:
        return _watch(server, stop_signals)
    finally:
        _on_stop_signals(lambda _: server.kill())  # a second signal ends it at once
        server.stop(_STOP_TIMEOUT_S)
        _sweep_store()


def _on_stop_signals(act: Callable[[int], None]) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:  # nohup's setting is kept
            signal.signal(number, lambda received, _frame: act(received))


def _watch(server: Server, stop_signals: Sequence[int]) -> int:
    announced = False
    while not stop_signals:
        code = server.exit_code()
        if code is not None:
            print(f"error: tritonserver ended by itself with code {code}; its log says why", file=sys.stderr)
            return 1
        if not announced and server.is_ready():
            announced = True
            _announce(server)
        time.sleep(_POLL_S)
    print("stopping: waits for requests and open connections, 30 s at most; Ctrl-C again stops at once", flush=True)
    return 0


def _announce(server: Server) -> None:
    models = server.models()
    for name, reason in models.refused.items():
        print(f"not loaded: {name}: {reason}")
    numbers = f"; {counted(len(models.ready), 'model')} ready, {len(models.refused)} refused" if models.refused else ""
    print(f"ready: {_described(server.endpoints)}{numbers}; Ctrl-C stops the server", flush=True)


def _sweep_store() -> None:
    """Remove the unpacked packages that killed instances have left, as after a second Ctrl-C."""
    with contextlib.suppress(StoreError):
        Store(locate_store(os.environ)).sweep()


def _described(endpoints: Iterable[Endpoint]) -> str:
    forms = {"http": "HTTP http://{}", "grpc": "gRPC {}", "metrics": "metrics http://{}/metrics"}
    return ", ".join(forms[endpoint.name].format(endpoint.url) for endpoint in endpoints)
