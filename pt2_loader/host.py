"""Whether this machine can run a model that was compiled for another one."""

import platform
from collections.abc import Iterator
from pathlib import Path

from triton_pytorch.pt2_loader.description import BuiltFor

# torch._inductor.cpu_vec_isa: the names in AOTI_CPU_ISA, and the flags in /proc/cpuinfo that each stands for. Packages
# are built -march=native, so this is the least that they need (FACTS.md).
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


def host_faults(built_for: BuiltFor, cpu_flags: frozenset[str]) -> Iterator[str]:
    """Yield a sentence for each reason why a model cannot run on this machine; what is unknown is no reason."""
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
