"""The files in which a kernel tells the limits of a container."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal

from fairlead.codec.types.model import Object
from fairlead.codec.types.quantity import quantity
from fairlead.codec.types.times import parse_time
from fairlead.controllers.simulation.given_resources import with_given
from fairlead.controllers.simulation.runtime.files import Entry, LiveVolume, Mount, VolumeRoot
from fairlead.resources.core.pods.container_lists import all_containers

CGROUP = "/sys/fs/cgroup"
BOOT = "/proc/stat"
_PERIOD = 100_000  # microseconds in which a quota of processor time counts
_NODE_MEMORY = "64Gi"
_LEAST_QUOTA, _LEAST_SHARES, _MOST_SHARES = 1_000, 2, 262_144


def process_files(pod: Object, container: Object) -> Mapping[str, str]:
    """What /proc tells of the first process of a container, and when its machine was started: with
    the pod."""
    of_pod = pod["spec"].get("securityContext") or {}
    profile = {**of_pod, **(container.get("securityContext") or {})}.get("seccompProfile") or {}
    filters = "0" if profile.get("type", "Unconfined") == "Unconfined" else "2"
    mapped = "0 0 4294967295" if pod["spec"].get("hostUsers") is not False else "0 65536 65536"
    files = {
        "uid_map": f"{mapped}\n",
        "gid_map": f"{mapped}\n",
        "status": f"Name:\tsimulated\nState:\tS (sleeping)\nSeccomp:\t{filters}\n",
        "oom_score_adj": f"{_eagerness(pod, container)}\n",
    }
    of_processes = {
        f"/proc/{process}/{name}": text for process in ("1", "self") for name, text in files.items()
    }
    started = parse_time(pod["status"].get("startTime") or pod["metadata"]["creationTimestamp"])
    return {**of_processes, BOOT: f"btime {started.timestamp():.0f}\n"}


def _eagerness(pod: Object, container: Object) -> int:
    """How eager the kernel is to end a container when memory is short."""
    quality = pod["status"].get("qosClass")
    if quality == "Guaranteed":
        return -997
    if quality == "BestEffort":
        return 1000
    requested = quantity(
        ((container.get("resources") or {}).get("requests") or {}).get("memory", "0")
    )
    return min(max(1000 - int(1000 * requested / quantity(_NODE_MEMORY)), 3), 999)


def limits_mount(current: Callable[[], Object], container: str) -> Mount:
    """The control group of a container. `current` returns its pod as it is now."""

    def read() -> Mapping[str, Entry]:
        pod = with_given(current())
        found = (each for each in all_containers(pod["spec"]) if each["name"] == container)
        resources = next(found, {}).get("resources") or {}
        files = _files(resources, pod["spec"].get("resources") or {})
        return {f"/{name}": Entry(f"{text}\n".encode()) for name, text in files.items()}

    return Mount(CGROUP, LiveVolume(read, VolumeRoot(file_system="cgroup2")))


def _files(resources: Object, of_pod: Object) -> Mapping[str, str]:
    limits = {**(of_pod.get("limits") or {}), **(resources.get("limits") or {})}
    cpu, memory = limits.get("cpu"), limits.get("memory")
    requested = (resources.get("requests") or {}).get("cpu")
    quota = max(_LEAST_QUOTA, int(quantity(cpu) * _PERIOD)) if cpu else "max"
    return {
        "cpu.max": f"{quota} {_PERIOD}",
        "cpu.weight": str(_weight(quantity(requested or cpu or "0"))),
        "memory.max": str(int(quantity(memory))) if memory else "max",
    }


def _weight(processors: Decimal) -> int:
    """The weight of a request: shares of 2 to 262,144 become 1 to 10,000."""
    shares = min(max(int(processors * 1024), _LEAST_SHARES), _MOST_SHARES)
    return 1 + (shares - 2) * 9999 // 262142
