"""Usable CPUs, from the files that Linux has about affinity and control groups, as several hosts show them."""

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from triton_pytorch.torch_runtime.cpus import usable_cpus

AFFINITY = 8


@dataclass(frozen=True)
class Host:
    """The files of one process, and the file systems of control groups that it sees."""

    directory: Path

    def process(self, groups: str, mounts: str) -> Path:
        """Write /proc/self; `{}` in `mounts` stands for where the file systems lie."""
        (self.directory / "cgroup").write_text(groups, encoding="utf-8")
        (self.directory / "mountinfo").write_text(mounts.replace("{}", str(self.directory)), encoding="utf-8")
        return self.directory

    def version_2(self, group: str, limit: str) -> None:
        self._write(group, "cpu.max", limit)

    def version_1(self, group: str, quota: int, period: int = 100_000) -> None:
        self._write(group, "cpu.cfs_quota_us", str(quota))
        self._write(group, "cpu.cfs_period_us", str(period))

    def _write(self, group: str, name: str, text: str) -> None:
        (self.directory / group).mkdir(parents=True, exist_ok=True)
        (self.directory / group / name).write_text(f"{text}\n", encoding="utf-8")


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(AFFINITY)))
    return Host(tmp_path)


NO_CONTROLLERS = "22 1 8:1 / / rw - ext4 /dev/root rw\n31 23 0:28 / {} rw,relatime - tmpfs tmpfs rw,mode=755\n"
VERSION_2 = "35 24 0:30 / {}/sys rw,nosuid shared:9 master:2 - cgroup2 cgroup2 rw,nsdelegate\n"
VERSION_1 = (
    "33 31 0:30 / {}/cpuacct rw,relatime - cgroup cgroup rw,cpuacct\n"
    "32 31 0:29 / {}/sys rw,relatime - cgroup cgroup rw,cpu,cpuacct\n"
)


@pytest.mark.parametrize(
    ("limit", "expected"),
    [("max 100000", 8), ("200000 100000", 2), ("150000 100000", 2), ("50000 100000", 1), ("1000 1000000", 1)],
)
def test_the_quota_of_version_2_is_rounded_up(host: Host, limit: str, expected: int) -> None:
    host.version_2("sys", limit)  # in a container the root of its own name space
    assert usable_cpus(host.process("0::/\n", VERSION_2)) == expected


@pytest.mark.parametrize(("quota", "expected"), [(-1, 8), (300_000, 3), (250_000, 3), (10_000, 1), (1_600_000, 8)])
def test_the_quota_of_version_1_is_rounded_up(host: Host, quota: int, expected: int) -> None:
    host.version_1("sys/pod", quota)
    assert usable_cpus(host.process("4:cpu,cpuacct:/pod\n3:cpuset:/\n", VERSION_1)) == expected


def test_the_tightest_of_nested_groups_counts(host: Host) -> None:
    host.version_2("sys/kube.slice", "300000 100000")
    host.version_2("sys/kube.slice/pod", "max 100000")
    host.version_2("sys/kube.slice/pod/container", "500000 100000")
    host.version_2("sys/kube.slice/other", "100000 100000")
    assert usable_cpus(host.process("0::/kube.slice/pod/container\n", VERSION_2)) == 3


def test_both_versions_side_by_side(host: Host) -> None:
    host.version_1("sys/a", 400_000)
    mounts = VERSION_1 + "41 31 0:38 / {}/unified rw,relatime - cgroup2 cgroup2 rw\n"
    assert usable_cpus(host.process("1:cpu,cpuacct:/a\n0::/\n", mounts)) == 4


def test_a_group_that_is_mounted_as_the_root(host: Host) -> None:
    host.version_1("sys", 200_000)  # docker without name spaces of control groups
    mounts = "32 31 0:29 /docker/abc {}/sys ro - cgroup cgroup rw,cpu,cpuacct\n"
    assert usable_cpus(host.process("4:cpu,cpuacct:/docker/abc\n", mounts)) == 2


@pytest.mark.parametrize(("group", "root"), [("/../other", "/"), ("/elsewhere", "/docker/abc"), ("/", "/..")])
def test_a_group_that_cannot_be_seen_from_here(host: Host, group: str, root: str) -> None:
    host.version_2("sys", "200000 100000")
    host.version_2("other", "100000 100000")
    assert usable_cpus(host.process(f"0::{group}\n", f"35 24 0:30 {root} {{}}/sys rw - cgroup2 cgroup2 rw\n")) == 2


def test_a_mount_point_with_a_space(host: Host) -> None:
    host.version_2("control groups/a b", "100000 100000")
    mounts = r"35 24 0:30 / {}/control\040groups rw - cgroup2 cgroup2 rw" + "\n"
    assert usable_cpus(host.process("0::/a b\n", mounts)) == 1


@pytest.mark.parametrize("limit", ["", "100000", "many 100000", "100000 0", "0 100000"])
def test_what_cannot_be_read_limits_nothing(host: Host, limit: str) -> None:
    host.version_2("sys", limit)
    assert usable_cpus(host.process("0::/gone\n", VERSION_2)) == AFFINITY


def test_no_control_groups(host: Host) -> None:
    assert usable_cpus(host.process("0::/\n", NO_CONTROLLERS)) == AFFINITY
    assert usable_cpus(host.directory / "nowhere") == AFFINITY
    assert usable_cpus(host.process("nonsense\n", VERSION_2)) == AFFINITY


def test_this_process() -> None:
    assert 1 <= usable_cpus() <= len(os.sched_getaffinity(0))
