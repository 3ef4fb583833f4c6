"""Load generators: Triton's perf_analyzer where this machine has it, else a client of our own; both speak gRPC.

perf_analyzer comes with the wheels tritonclient 2.41 to 2.48. It is linked to two libraries that the wheel of the
server carries as well, under names of the wheel's own.
"""

import asyncio
import json
import os
import re
import shutil
import struct
import subprocess
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from itertools import cycle
from math import prod
from pathlib import Path

import grpc.aio
from tritonclient.grpc import service_pb2

_LIBRARIES = {"libb64.so.0d": "libb64-*.so.0d", "libcudart.so.12": "libcudart-*.so.12*"}
_THROUGHPUT = re.compile(r"^\s*Throughput: ([0-9.]+) infer/sec", re.MULTILINE)
_VERSION = re.compile(r"Version (\S+)")
_WINDOW_MS = 500  # perf_analyzer takes three
_LIMIT_S = 60

_OWN_WARM_UP_S = 0.25
_OWN_WINDOW_S = 1.0
_METHOD = "/inference.GRPCInferenceService/ModelInfer"


@dataclass(frozen=True, slots=True)
class Load:
    """Requests to one model, `concurrency` of them in flight; `inputs` are FP32 shapes, rows first.

    They take turns in as many kinds as `kinds` says: all numbers of the first are 0, of the next 1, and so on.
    """

    model: str
    inputs: Mapping[str, tuple[int, ...]]
    concurrency: int
    kinds: int = 1

    @property
    def rows(self) -> int:
        """Rows in one request."""
        return next(iter(self.inputs.values()))[0]


@dataclass(frozen=True, slots=True)
class Client:
    """A load generator: what it is, and how many requests a second a server at a gRPC URL answers it."""

    description: str
    requests_per_second: Callable[[str, Load], float]


def find_client(library_directories: Iterable[Path], links: Path, own_process: Executor) -> Client:
    """Return a perf_analyzer that starts, from PATH or beside this interpreter, else our own client.

    Args:
        library_directories: where the libraries of perf_analyzer may lie.
        links: a new directory, for links to them under the names that it expects.
        own_process: where our own client runs, so that it shares no interpreter with whoever waits for it.
    """
    places = os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", os.defpath)])
    executable = shutil.which("perf_analyzer", path=places)
    if executable is not None:
        analyzer = PerfAnalyzer(executable, _library_path(library_directories, links))
        version = analyzer.version()
        if version is not None:
            return Client(f"perf_analyzer {version}", analyzer.requests_per_second)
    return Client(
        "our own Python client, whose own cost evens the models out (perf_analyzer on PATH is sharper)",
        lambda url, load: own_process.submit(ask, url, load).result(),
    )


def _library_path(directories: Iterable[Path], links: Path) -> str:
    """Return an LD_LIBRARY_PATH under which perf_analyzer finds what it is linked to."""
    links.mkdir()
    for directory in directories:
        for name, pattern in _LIBRARIES.items():
            found = next(directory.glob(pattern), None)
            if found is not None and not (links / name).exists():
                (links / name).symlink_to(found)
    return os.pathsep.join(filter(None, [str(links), os.environ.get("LD_LIBRARY_PATH")]))


@dataclass(frozen=True, slots=True)
class PerfAnalyzer:
    """Triton's load generator, and where it finds its libraries."""

    executable: str
    library_path: str

    def version(self) -> str | None:
        """Return its version, or None where it does not start."""
        found = _VERSION.search(self._output("--version"))
        return None if found is None else found[1]

    def requests_per_second(self, url: str, load: Load) -> float:
        """Return the throughput over three windows; raises RuntimeError, with its output, where it measures none."""
        with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as data:
            kinds = [
                {name: [float(kind)] * prod(shape[1:]) for name, shape in load.inputs.items()}
                for kind in range(load.kinds)
            ]
            json.dump({"data": kinds}, data)
            data.flush()
            return self._measured(url, load, data.name)

    def _measured(self, url: str, load: Load, data: str) -> float:
        output = self._output(
            *("-m", load.model, "-u", url, "-i", "grpc", "-b", str(load.rows)),
            f"--concurrency-range={load.concurrency}:{load.concurrency}",
            # Its default is random bytes: many of these are denormal numbers, which make a model twice as slow.
            f"--input-data={data if load.kinds > 1 else 'zero'}",
            f"--measurement-interval={_WINDOW_MS}",
            # Three windows, whatever they say: how steady the machine is, the rounds show.
            "--stability-percentage=999",
            "--max-trials=3",
        )
        return rows_per_second(output) / load.rows

    def _output(self, *options: str) -> str:
        return subprocess.run(
            [self.executable, *options],
            env={**os.environ, "LD_LIBRARY_PATH": self.library_path},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            timeout=_LIMIT_S,
            check=False,
        ).stdout


def rows_per_second(output: str) -> float:
    """Return the throughput that perf_analyzer printed, which counts rows, not requests.

    Raises RuntimeError, with the output, where it printed none.
    """
    found = _THROUGHPUT.search(output)
    if found is None:
        raise RuntimeError(f"perf_analyzer measured nothing; its output:\n{output}")
    return float(found[1])


def ask(url: str, load: Load) -> float:
    """Return how many requests a second our own client got answered; raises grpc.RpcError where one fails."""
    return asyncio.run(
        _keep_in_flight(url, [_serialised_request(load, kind) for kind in range(load.kinds)], load.concurrency)
    )


async def _keep_in_flight(url: str, requests: Sequence[bytes], concurrency: int) -> float:
    # grpc itself, since tritonclient builds and serialises the same request anew for each call.
    async with grpc.aio.insecure_channel(url) as channel:
        call = channel.unary_unary(_METHOD)
        start = time.perf_counter() + _OWN_WARM_UP_S
        end = start + _OWN_WINDOW_S
        in_turn = cycle(requests)

        async def keep_asking() -> int:
            asked = 0
            while (now := time.perf_counter()) < end:
                await call(next(in_turn))
                asked += now >= start
            return asked

        return sum(await asyncio.gather(*(keep_asking() for _ in range(concurrency)))) / _OWN_WINDOW_S


def _serialised_request(load: Load, kind: int) -> bytes:
    request = service_pb2.ModelInferRequest(model_name=load.model)
    for name, shape in load.inputs.items():
        request.inputs.add(name=name, datatype="FP32", shape=shape)
        request.raw_input_contents.append(struct.pack("<f", kind) * prod(shape))
    serialised: bytes = request.SerializeToString()
    return serialised
