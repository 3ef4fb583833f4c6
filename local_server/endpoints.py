"""Where a server listens: free ports, taken ports, and whether a server answers there."""

import contextlib
import socket
from dataclasses import dataclass

NAMES = ("http", "grpc", "metrics")  # as tritonserver's options spell them


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One of tritonserver's three services, the TCP port and the address that it listens on."""

    name: str
    port: int
    address: str = "127.0.0.1"

    @property
    def url(self) -> str:
        """Host and port, as Triton's clients take them: `127.0.0.1:8000`."""
        if self.address in ("0.0.0.0", "::"):  # noqa: S104 - every address, of which one is the client's own
            return f"localhost:{self.port}"
        return f"[{self.address}]:{self.port}" if ":" in self.address else f"{self.address}:{self.port}"

    @property
    def options(self) -> tuple[str, str]:
        """The options of tritonserver that ask for it."""
        return (f"--{self.name}-port={self.port}", f"--{self.name}-address={self.address}")


def free_endpoints() -> tuple[Endpoint, ...]:
    """Return the three services at ports of this machine that are free right now."""
    with contextlib.ExitStack() as opened:  # all at once, so that they differ
        sockets = [opened.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in NAMES]
        return tuple(Endpoint(name, bound.getsockname()[1]) for name, bound in zip(NAMES, sockets, strict=True))


def listening_obstacle(endpoint: Endpoint) -> str | None:
    """Return why no server can listen at `endpoint`, such as "Address already in use", or None where one can."""
    family = socket.AF_INET6 if ":" in endpoint.address else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # free after a server has stopped
        try:
            probe.bind((endpoint.address, endpoint.port))
        except OSError as error:
            return error.strerror
    return None


def accepts_connections(endpoint: Endpoint) -> bool:
    """Return whether a server listens at `endpoint`."""
    try:
        socket.create_connection((endpoint.address, endpoint.port), timeout=1).close()
    except OSError:
        return False
    return True
