"""Free and taken ports, on this machine's own sockets."""

import socket

import pytest

from triton_pytorch.local_server.endpoints import Endpoint, accepts_connections, free_endpoints, listening_obstacle

EVERYWHERE = "0.0.0.0"  # noqa: S104 - tritonserver's default


def test_free_endpoints() -> None:
    endpoints = free_endpoints()
    assert [endpoint.name for endpoint in endpoints] == ["http", "grpc", "metrics"]
    assert len({endpoint.port for endpoint in endpoints}) == 3
    assert [listening_obstacle(endpoint) for endpoint in endpoints] == [None] * 3


@pytest.mark.parametrize("address", ["127.0.0.1", EVERYWHERE])
def test_obstacle_taken_port(address: str) -> None:
    with socket.create_server((address, 0)) as server:
        endpoint = Endpoint("http", server.getsockname()[1], address)
        assert listening_obstacle(endpoint) == "Address already in use"
        assert accepts_connections(endpoint)
    assert listening_obstacle(endpoint) is None
    assert not accepts_connections(endpoint)


def test_obstacle_foreign_address() -> None:
    # RFC 5737 keeps this network for documentation: no machine has it.
    assert listening_obstacle(Endpoint("http", 8000, "192.0.2.1")) == "Cannot assign requested address"


@pytest.mark.parametrize(
    ("address", "url"), [("127.0.0.1", "127.0.0.1:80"), (EVERYWHERE, "localhost:80"), ("::", "localhost:80")]
)
def test_endpoint_url(address: str, url: str) -> None:
    assert Endpoint("http", 80, address).url == url
