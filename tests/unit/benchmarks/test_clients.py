"""Which load generator is taken, and what is read from perf_analyzer."""

from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path

import pytest

from triton_pytorch.benchmarks.clients import Load, PerfAnalyzer, find_client, rows_per_second

# perf_analyzer 2.48.0 with -b 8 --concurrency-range=2:2, shortened.
OUTPUT = """*** Measurement Settings ***
  Batch size: 8
  Measurement window: 500 msec

Request concurrency: 2
  Client:
    Request count: 587
    Throughput: 2603.28 infer/sec
    Avg latency: 6122 usec (standard deviation 951 usec)
  Server:
    Inference count: 4696

Inferences/Second vs. Client Average Batch Latency
Concurrency: 2, throughput: 2603.28 infer/sec, latency 6122 usec
"""
LOAD = Load("mlp", {"INPUT__0": (8, 1024)}, concurrency=2)


@pytest.fixture
def executor() -> Iterator[Executor]:
    with ThreadPoolExecutor(1) as pool:
        yield pool


def _put_on_path(script: str, directory: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    program = directory / "bin" / "perf_analyzer"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{script}", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    return program


def test_throughput_is_read_from_what_it_prints() -> None:
    assert rows_per_second(OUTPUT) == 2603.28


def test_output_without_throughput_is_shown() -> None:
    with pytest.raises(RuntimeError, match="failed to get model metadata"):
        rows_per_second("error: failed to get model metadata: connection refused\n")


def test_rows_become_requests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = _put_on_path(f"cat <<'END'\n{OUTPUT}END\n", tmp_path, monkeypatch)
    assert PerfAnalyzer(str(program), "").requests_per_second("127.0.0.1:8001", LOAD) == 2603.28 / 8


def test_perf_analyzer_finds_its_libraries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, executor: Executor) -> None:
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path))
    script = 'cat "${LD_LIBRARY_PATH%%:*}/libb64.so.0d" "${LD_LIBRARY_PATH%%:*}/libcudart.so.12"'
    _put_on_path(script, tmp_path, monkeypatch)
    of_the_wheel = tmp_path / "nvidia_pytriton.libs"
    of_the_wheel.mkdir()
    (of_the_wheel / "libb64-98cb6333.so.0d").write_text("Perf Analyzer Version ", encoding="ascii")
    (of_the_wheel / "libcudart-09529672.so.12.6.77").write_text("2.48.0 (commit unknown)", encoding="ascii")
    client = find_client([of_the_wheel], tmp_path / "links", executor)
    assert client.description == "perf_analyzer 2.48.0"


@pytest.mark.parametrize("script", ["echo 'error while loading shared libraries: libb64.so.0d' >&2; exit 127", None])
def test_our_own_client_where_none_starts(
    script: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, executor: Executor
) -> None:
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    if script is not None:
        _put_on_path(script, tmp_path, monkeypatch)
    assert find_client([], tmp_path / "links", executor).description.startswith("our own Python client")
