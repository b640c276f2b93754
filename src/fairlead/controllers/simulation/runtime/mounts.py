"""The volumes that containers mount, and the files that every container finds."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from contextlib import suppress

from fairlead.codec.types.model import Object
from fairlead.codec.types.quantity import quantity
from fairlead.controllers.simulation.runtime.files import (
    Entry,
    FileError,
    Files,
    LiveVolume,
    Mount,
    Volume,
    VolumeRoot,
)
from fairlead.controllers.simulation.runtime.images import image_of
from fairlead.controllers.simulation.runtime.memory import memory_of
from fairlead.controllers.simulation.runtime.sources import Sources, hostname_of, sub_path
from fairlead.controllers.simulation.runtime.surroundings import Network

_SHOWN = ("configMap", "secret", "downwardAPI", "projected")
_IN_MEMORY = ("secret", "projected", "downwardAPI")
# The files that a node agent adds for the group of a pod: it may read them.
_GROUP_MAY_READ = 0o440
_HOSTS = (
    "127.0.0.1\tlocalhost",
    "::1\tlocalhost ip6-localhost ip6-loopback",
    "fe00::0\tip6-localnet",
    "fe00::0\tip6-mcastprefix",
    "fe00::1\tip6-allnodes",
    "fe00::2\tip6-allrouters",
)
# What the files of a node say that pods mount by themselves.
_HOST_FILES = {
    "/etc/hosts": "127.0.0.1\tlocalhost\n",
    "/etc/os-release": 'NAME="Simulated"\nID=simulated\n',
    "/etc/resolv.conf": "nameserver 8.8.8.8\n",
}
_MANAGED = "# Kubernetes-managed hosts file."
_MANAGED_FOR_HOST = "# Kubernetes-managed hosts file (host network)."


def mounts_of(
    pod: Object,
    container: Object,
    sources: Sources,
    volumes: dict[str, Volume],
    environment: Mapping[str, str],
) -> list[Mount]:
    """The mounts of a container. `volumes` are those that containers of the pod write to, by name;
    missing ones are added. Raises MissingSource."""
    by_name = {volume["name"]: volume for volume in pod["spec"].get("volumes") or ()}
    mounts = []
    for mount in container.get("volumeMounts") or ():
        declared = by_name.get(mount["name"])
        if declared is None:
            continue
        volume = volumes.get(mount["name"])
        if volume is None:
            volume = volumes[mount["name"]] = new_volume(pod, declared, sources)
        file = (declared.get("hostPath") or {}).get("path", "")
        inside = file if file in _HOST_FILES else "/" + sub_path(mount, environment).strip("/")
        if not volume.is_read_only:
            with suppress(FileError):  # it is full
                volume.make_directories(inside)
        path = posixpath.normpath(mount["mountPath"])
        mounts.append(Mount(path, volume, inside, bool(mount.get("readOnly"))))
    return mounts


def new_volume(pod: Object, declared: Mapping[str, Object], sources: Sources) -> Volume:
    """A volume of a pod. Raises MissingSource."""
    group = (pod["spec"].get("securityContext") or {}).get("fsGroup")
    shown = next((kind for kind in _SHOWN if declared.get(kind) is not None), "")
    if shown:

        def read() -> Mapping[str, Entry]:
            entries = sources.files(dict(declared)) or {}
            return entries if group is None else _of_group(entries, group)

        system = "tmpfs" if shown in _IN_MEMORY else "ext4"
        live = LiveVolume(
            read, VolumeRoot(0o1777, group, system), memory_of(pod["metadata"]["namespace"])
        )
        with suppress(FileError):  # the memory of the namespace is full
            live.refresh()
        return live
    if declared.get("image") is not None:
        return _image_volume(declared["image"].get("reference") or "")
    empty = declared.get("emptyDir") or {}
    in_memory = empty.get("medium") == "Memory"
    size = int(quantity(empty["sizeLimit"])) if in_memory and empty.get("sizeLimit") else 0
    mode = (0o777 if group is None else 0o2777) | (0o1000 if in_memory else 0)
    memory = memory_of(pod["metadata"]["namespace"])
    if declared.get("hostPath") is not None:
        path = declared["hostPath"]["path"]
        if path in _HOST_FILES:
            of_host = Volume(memory=memory)
            of_host.put(path, Entry(_HOST_FILES[path].encode()))
            return of_host
        mode, group = 0o1777 if path == "/tmp" else 0o755, None
    root = VolumeRoot(mode, group, "tmpfs" if in_memory else "ext4", size)
    return Volume(root, memory=memory)


def _image_volume(reference: str) -> Volume:
    """The files of an image, as far as they are known."""
    volume = Volume(is_read_only=True)
    for path, text in image_of({"image": reference}).files.items():
        volume.make_directories(posixpath.dirname(path))
        volume.put(path, Entry(text.encode()))
    return volume


def _of_group(entries: Mapping[str, Entry], group: int) -> Mapping[str, Entry]:
    """The files of a volume that belongs to a group."""
    return {
        path: entry._replace(group=group, mode=entry.mode | _GROUP_MAY_READ)
        for path, entry in entries.items()
    }


def write_system_files(files: Files, pod: Object, network: Network) -> None:
    """Write the files that a node agent makes for every container."""
    resolver = "".join(f"{name} {' '.join(words)}\n" for name, words in network.names().items())
    name = hostname_of(pod)
    for path, text in (
        ("/etc/hostname", f"{name}\n"),
        ("/etc/hosts", hosts_file(pod)),
        (
            "/etc/passwd",
            "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n",
        ),
        ("/etc/resolv.conf", resolver),
        ("/proc/version", "Linux version 6.1.0-simulated\n"),
    ):
        if files.is_mounted(path):
            continue
        try:
            files.write(path, text.encode())
        except FileError:  # below a volume
            continue


def hosts_file(pod: Object) -> str:
    """The names that a pod resolves without a server."""
    spec = pod["spec"]
    shared = spec.get("hostNetwork")
    lines = [_MANAGED_FOR_HOST if shared else _MANAGED, *_HOSTS]
    name, whole = hostname_of(pod), ""
    if spec.get("subdomain"):
        whole = f"{name}.{spec['subdomain']}.{pod['metadata']['namespace']}.svc.cluster.local\t"
    for address in () if shared else pod["status"].get("podIPs") or ():
        lines.append(f"{address['ip']}\t{whole}{name}")
    if spec.get("hostAliases"):
        lines += ["", "# Entries added by HostAliases."]
        for alias in spec["hostAliases"]:
            lines.append("\t".join((alias["ip"], *(alias.get("hostnames") or ()))))
    return "\n".join(lines) + "\n"
