"""The machine that a model was compiled for, and whether this one can run it."""

import json
import platform
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# torch._inductor.cpu_vec_isa: the names in AOTI_CPU_ISA, and the flags in /proc/cpuinfo that each stands for. Packages
# are built with -march=native, so this is the least that they need.
_FLAGS = {
    "AVX2": ("avx2", "fma"),
    "AVX512": ("avx512f", "avx512dq", "avx512vl", "avx512bw", "fma"),
    "AVX512_VNNI": ("avx512_vnni",),
    "AMX_TILE": ("amx_tile",),
    "AMX_FP16": ("amx_fp16",),
    "NEON": ("asimd",),
    "ASIMD": ("asimd",),
    "SVE256": ("sve",),
}


@dataclass(frozen=True, slots=True)
class BuiltFor:
    """The machine that a model was compiled for; None where the package does not say."""

    device: str | None = None
    platform: str | None = None
    machine: str | None = None
    cpu_features: tuple[str, ...] = ()


def read_built_for(metadata: str) -> BuiltFor:
    """Read the metadata of a package (JSON); what it does not say is unknown."""
    try:
        recorded = json.loads(metadata)
    except (ValueError, RecursionError):
        return BuiltFor()
    if not isinstance(recorded, dict):
        return BuiltFor()
    texts = {key: value for key, value in recorded.items() if isinstance(value, str) and value}
    return BuiltFor(
        device=texts.get("AOTI_DEVICE_KEY"),
        platform=texts.get("AOTI_PLATFORM"),
        machine=texts.get("AOTI_MACHINE"),
        cpu_features=tuple(name for name in texts.get("AOTI_CPU_ISA", "").split() if name != "INVALID_VEC_ISA"),
    )


def host_errors(built_for: BuiltFor, cpu_flags: frozenset[str]) -> Iterator[str]:
    """Yield a sentence for each reason why a model cannot run on this machine; what is unknown is not one."""
    if built_for.platform not in (None, "linux"):
        yield f"it was compiled for {built_for.platform}, not for Linux"
    if built_for.machine not in (None, platform.machine()):
        yield f"it was compiled for {built_for.machine} CPUs, but this machine's is {platform.machine()}"
        return
    missing = [
        feature for feature in built_for.cpu_features if cpu_flags and not cpu_flags.issuperset(_FLAGS.get(feature, ()))
    ]
    if missing and built_for.device == "cpu":
        yield f"it was compiled for a CPU with {', '.join(missing)}, which this machine's CPU lacks"


def read_cpu_flags(cpuinfo: Path = Path("/proc/cpuinfo")) -> frozenset[str]:
    """Return the features of this machine's CPU; empty where the kernel does not tell."""
    try:
        lines = cpuinfo.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return frozenset()
    found = (line.partition(":")[2].split() for line in lines if line.startswith(("flags", "Features")))
    return frozenset(next(found, ()))
