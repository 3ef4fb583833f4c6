"""How many CPUs this process may keep busy: what its affinity and the quotas of its control groups leave of them.

No torch here: the number is needed before torch is imported (`threads.py`).
"""

import os
import re
from collections.abc import Iterator
from math import ceil
from pathlib import Path, PurePosixPath
from typing import NamedTuple

_THIS_PROCESS = Path("/proc/self")


class _Mount(NamedTuple):
    """A place where control groups that can limit CPU time are mounted."""

    root: str  # the group that lies at the mount point
    mount_point: str
    version: int


def usable_cpus(process: Path = _THIS_PROCESS) -> int:
    """Return the number of CPUs: the least of the affinity and all quotas, a fraction counting as a CPU; at least 1."""
    quotas = [quota for directory in _group_directories(process) if (quota := _quota(directory)) is not None]
    return max(1, min([len(os.sched_getaffinity(0)), *map(ceil, quotas)]))


def _group_directories(process: Path) -> Iterator[Path]:
    """Yield the directory of the group that this process is in, and those of the groups around it."""
    try:
        mounts = list(_mounts((process / "mountinfo").read_bytes()))
        groups = dict(_groups((process / "cgroup").read_bytes()))
    except (OSError, ValueError):  # not there, or written in a way that is not known: then nothing is known of limits
        return
    for mount in mounts:
        if mount.version in groups:
            yield from _up_to(Path(mount.mount_point), _below(mount.root, groups[mount.version]))


def _mounts(content: bytes) -> Iterator[_Mount]:
    """Read /proc/PID/mountinfo (proc(5)): ID PARENT DEVICE ROOT MOUNT-POINT OPTIONS [TAG ...] - TYPE SOURCE OPTIONS."""
    for line in os.fsdecode(content).splitlines():
        place, _, filesystem = line.partition(" - ")
        kind, _, options = [*filesystem.split(" "), "", ""][:3]
        if kind == "cgroup2" or (kind == "cgroup" and "cpu" in options.split(",")):
            root, mount_point = (_unescaped(field) for field in place.split(" ")[3:5])
            yield _Mount(root, mount_point, 2 if kind == "cgroup2" else 1)


def _unescaped(field: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), field)


def _groups(content: bytes) -> Iterator[tuple[int, str]]:
    """Read /proc/PID/cgroup (cgroups(7)): HIERARCHY:CONTROLLERS:PATH, with `0::PATH` for version 2."""
    for line in os.fsdecode(content).splitlines():
        hierarchy, controllers, group = line.split(":", 2)
        if hierarchy == "0":
            yield 2, group
        elif "cpu" in controllers.split(","):
            yield 1, group


def _below(root: str, group: str) -> PurePosixPath:
    """Return the path of a group below the group that is mounted; empty where it lies elsewhere, as seen from here."""
    path = PurePosixPath(group)
    if not path.is_relative_to(root) or ".." in path.parts:
        return PurePosixPath()
    return path.relative_to(root)


def _up_to(mount_point: Path, group: PurePosixPath) -> Iterator[Path]:
    yield mount_point / group
    yield from (mount_point / around for around in group.parents)


def _quota(directory: Path) -> float | None:
    """Return how many CPUs' time a group may use; None where it has no limit of its own."""
    try:
        if (directory / "cpu.max").exists():  # version 2
            quota, period = (directory / "cpu.max").read_text(encoding="ascii").split()
        else:
            quota, period = (
                (directory / f"cpu.cfs_{name}_us").read_text(encoding="ascii") for name in ("quota", "period")
            )
        limit = int(quota) / int(period)  # "max" and -1 mean that there is none
    except (OSError, ValueError, ZeroDivisionError):
        return None
    return limit if limit > 0 else None
