"""The processor time that control groups of Linux (cgroups, v1 and v2) allow this process."""

import math
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path


def read_cpu_quota() -> float:
    """Return how many processors' time the groups of this process may use; inf without a quota."""
    quota = math.inf
    for group in list_cpu_groups():
        # cgroup v2 has one file, v1 two.
        with suppress(OSError, ValueError):
            allowed, period = (group / "cpu.max").read_text().split()
            quota = min(quota, int(allowed) / int(period))
        with suppress(OSError, ValueError):
            allowed_us = int((group / "cpu.cfs_quota_us").read_text())
            period_us = int((group / "cpu.cfs_period_us").read_text())
            if allowed_us > 0:
                quota = min(quota, allowed_us / period_us)
    return quota


def count_throttled() -> int:
    """Return in how many periods a quota has stopped these groups so far."""
    count = 0
    for group in list_cpu_groups():
        with suppress(OSError):
            for line in (group / "cpu.stat").read_text().splitlines():
                name, _, value = line.partition(" ")
                if name == "nr_throttled":
                    count += int(value)
    return count


@cache
def list_cpu_groups() -> list[Path]:
    """Return the folders of this process's groups that can limit processors, with their parents."""
    folders: list[Path] = []
    with suppress(OSError):
        paths = dict(_read_group_paths())
        for version, root, mount in _read_mounts():
            path = paths.get(version)
            if path is None:
                continue
            # A container may see its own group as the root.
            inside = path.relative_to(root) if path.is_relative_to(root) else Path()
            own = mount / inside
            folders += [folder for folder in (own, *own.parents) if folder.is_relative_to(mount)]
    return folders


def _read_group_paths() -> Iterator[tuple[str, Path]]:
    """Yield the version of control groups with the path of this process's group for processors."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        number, controllers, path = line.split(":", 2)
        if number == "0":
            yield "cgroup2", Path(path)
        elif "cpu" in controllers.split(","):
            yield "cgroup", Path(path)


def _read_mounts() -> Iterator[tuple[str, Path, Path]]:
    """Yield each mount of groups for processors: its version, root and folder."""
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        mounted, _, described = line.partition(" - ")
        root, folder = mounted.split()[3:5]
        version, _, options = described.split()[:3]
        if version == "cgroup2" or (version == "cgroup" and "cpu" in options.split(",")):
            yield version, Path(root), Path(folder)
