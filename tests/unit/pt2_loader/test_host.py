"""A package for another machine is refused with the reason; what is not known is not one."""

import platform
from pathlib import Path

import pytest

from triton_pytorch.pt2_loader.host import BuiltFor, host_errors, read_built_for, read_cpu_flags

OLD_CPU = frozenset({"fpu", "sse4_2", "avx2", "fma"})
NEW_CPU = OLD_CPU | {"avx512f", "avx512dq", "avx512vl", "avx512bw", "avx512_vnni", "amx_tile"}
NEW_FEATURES = ("AVX512", "AVX512_VNNI", "AMX_TILE")


@pytest.fixture(autouse=True)
def _on_x86_64(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")


@pytest.mark.parametrize(
    ("built_for", "cpu"),
    [
        (BuiltFor(), OLD_CPU),
        (BuiltFor("cpu", "linux", "x86_64", NEW_FEATURES), NEW_CPU),
        (BuiltFor("cpu", "linux", "x86_64", ("AVX2",)), OLD_CPU),
        (BuiltFor("cpu", "linux", "x86_64", ("AVX1024", "INVALID_VEC_ISA")), OLD_CPU),  # names that are not known yet
        (BuiltFor("cpu", "linux", "x86_64", NEW_FEATURES), frozenset()),  # a kernel that does not tell
        (BuiltFor("cuda", "linux", "x86_64", NEW_FEATURES), OLD_CPU),  # its work is done elsewhere
        (BuiltFor(None, None, None, NEW_FEATURES), OLD_CPU),
        (BuiltFor("cpu"), OLD_CPU),
    ],
)
def test_host_fits(built_for: BuiltFor, cpu: frozenset[str]) -> None:
    assert list(host_errors(built_for, cpu)) == []


@pytest.mark.parametrize(
    ("built_for", "errors"),
    [
        (
            BuiltFor("cpu", "linux", "x86_64", NEW_FEATURES),
            ["it was compiled for a CPU with AVX512, AVX512_VNNI, AMX_TILE, which this machine's CPU lacks"],
        ),
        (
            BuiltFor("cpu", None, None, ("AVX2", "AVX512")),
            ["it was compiled for a CPU with AVX512, which this machine's CPU lacks"],
        ),
        (
            BuiltFor("cpu", "linux", "aarch64", ("ASIMD",)),
            ["it was compiled for aarch64 CPUs, but this machine's is x86_64"],
        ),
        (BuiltFor("cpu", "darwin", "x86_64", ("AVX2",)), ["it was compiled for darwin, not for Linux"]),
        (
            BuiltFor("cpu", "win32", "AMD64", ("AVX512",)),
            [
                "it was compiled for win32, not for Linux",
                "it was compiled for AMD64 CPUs, but this machine's is x86_64",
            ],
        ),
    ],
)
def test_host_does_not_fit(built_for: BuiltFor, errors: list[str]) -> None:
    assert list(host_errors(built_for, OLD_CPU)) == errors


@pytest.mark.parametrize(
    ("metadata", "built_for"),
    [
        ("", BuiltFor()),
        ("not JSON", BuiltFor()),
        ("[" * 100_000, BuiltFor()),
        ("[1]", BuiltFor()),
        ("{}", BuiltFor()),
        ('{"AOTI_DEVICE_KEY": 3, "AOTI_MACHINE": null, "AOTI_CPU_ISA": ["AVX2"]}', BuiltFor()),
        ('{"AOTI_DEVICE_KEY": "cuda", "AOTI_CPU_ISA": "", "AOTI_COMPUTE_CAPABILITY": "90"}', BuiltFor("cuda")),
        ('{"AOTI_PLATFORM": "win32", "AOTI_MACHINE": "AMD64"}', BuiltFor(None, "win32", "AMD64")),
        ('{"AOTI_CPU_ISA": "AVX512 INVALID_VEC_ISA"}', BuiltFor(cpu_features=("AVX512",))),
    ],
    ids=lambda value: str(value)[:40],
)
def test_built_for(metadata: str, built_for: BuiltFor) -> None:
    assert read_built_for(metadata) == built_for


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        (
            "processor\t: 0\nflags\t\t: fpu avx2 fma\nvmx flags\t: vnmi\n\nprocessor\t: 1\nflags\t\t: fpu\n",
            {"fpu", "avx2", "fma"},
        ),
        ("processor\t: 0\nFeatures\t: fp asimd sve\n", {"fp", "asimd", "sve"}),
        ("processor\t: 0\nmodel name\t: \xff\n", set()),
        ("flags\n", set()),
        ("", set()),
    ],
)
def test_cpu_flags(tmp_path: Path, text: str, flags: set[str]) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_bytes(text.encode("latin-1"))
    assert read_cpu_flags(cpuinfo) == flags


def test_cpu_flags_unreadable(tmp_path: Path) -> None:
    assert read_cpu_flags(tmp_path / "cpuinfo") == frozenset()
    assert read_cpu_flags(tmp_path) == frozenset()


def test_cpu_flags_of_this_machine() -> None:
    assert read_cpu_flags() & {"fpu", "fp"}
