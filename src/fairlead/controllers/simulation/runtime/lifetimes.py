"""What is known of a command before it runs: whether others decide it, and how long it lasts."""

from __future__ import annotations

import posixpath
import re

from fairlead.codec.types.model import Object
from fairlead.controllers.simulation.runtime.environment_files import file_references
from fairlead.controllers.simulation.runtime.images import command_of, own_port
from fairlead.controllers.simulation.runtime.network_programs import NETWORK_PROGRAMS
from fairlead.controllers.simulation.runtime.programs import PROGRAMS, SERVERS
from fairlead.controllers.simulation.runtime.scripted import find_entry
from fairlead.controllers.simulation.script import Script
from fairlead.controllers.workloads.owners import controller_among

FOREVER = float("inf")
_OF_SERVERS = ("ports", "startupProbe", "livenessProbe", "readinessProbe")
SHORT_LIFE = 1.0  # seconds that an unknown program runs in a pod that is to finish
# What a command that talks to others calls.
_TALKS = re.compile(rf"\b(?:agnhost|{'|'.join(NETWORK_PROGRAMS)})\b")
_AGNHOST = ("agnhost", "agnhost-2")
_ONLY_SERVERS = [
    [name]
    for name in (
        "liveness",
        "netexec",
        "nettest",
        "pause",
        "porter",
        "serve-hostname",
        "test-webserver",
    )
]
# Volumes whose files nobody else changes while a container runs; `kube-api-access` are those of
# tokens.
_TOKENS = "kube-api-access-"


def default_lifetime(pod: Object, container: Object) -> float:
    """The lifetime of a program that the simulation does not know. Those of init containers end
    at once, those of pods that are to finish after a second unless they are servers."""
    initial = any(each is container for each in pod["spec"].get("initContainers") or ())
    if initial and container.get("restartPolicy") != "Always":
        return 0.0
    policy = pod["spec"].get("restartPolicy", "Always")
    if policy == "Always" or initial or is_server(pod, container):
        return FOREVER
    return SHORT_LIFE


def is_server(pod: Object, container: Object) -> bool:
    """Whether a container declares ports or probes, as programs have that do not end, or has the
    image of a server. The programs of a Job are to end, whatever they declare."""
    if own_port(container) is not None:
        return True
    declares = any(container.get(name) for name in _OF_SERVERS)
    return declares and not _is_of_job(pod)


def _is_of_job(pod: Object) -> bool:
    owner = controller_among(pod["metadata"].get("ownerReferences"))
    return owner is not None and owner["kind"] == "Job" and owner["apiVersion"].startswith("batch/")


def is_known(container: Object, script: Script) -> bool:
    """Whether the simulation knows the command of a container."""
    command = command_of(container)
    if command and posixpath.basename(command[0]) in PROGRAMS:
        return True
    return find_entry(script.commands, command) is not None


def is_live(pod: Object, container: Object) -> bool:
    """Whether what the command of a container does depends on more than its pod: on volumes that
    others write, or on the network. Such a command runs as far as the clock has come; what any
    other does is known when it starts."""
    command = command_of(container)
    name = posixpath.basename(command[0]) if command else ""
    if name in SERVERS and command[1:] != ["pause"]:
        return True
    if any(_TALKS.search(word) for word in command) and command[1:] != ["pause"]:
        return True
    fields = (
        (each.get("valueFrom") or {}).get("fieldRef") or {} for each in container.get("env") or ()
    )
    if any(each.get("fieldPath", "").startswith("status.") for each in fields):
        return True  # addresses, which a pod has once it runs
    if file_references(container):
        return True
    tokens = {
        volume["name"]
        for volume in pod["spec"].get("volumes") or ()
        if volume["name"].startswith(_TOKENS) and volume.get("projected") is not None
    }
    return any(mount["name"] not in tokens for mount in container.get("volumeMounts") or ())


def answers_itself(container: Object) -> bool:
    """Whether what listens in a container is known: no other port answers."""
    command = command_of(container)
    return bool(command) and posixpath.basename(command[0]) in PROGRAMS


def is_agnhost(container: Object) -> bool:
    """Whether a container runs a program of agnhost, whose ports are all known."""
    command = command_of(container)
    return bool(command) and posixpath.basename(command[0]) in _AGNHOST


def only_serves(container: Object) -> bool:
    """Whether a container runs a server that nothing but its clients can end."""
    command = command_of(container)
    name = posixpath.basename(command[0]) if command else ""
    return name in SERVERS and (name not in _AGNHOST or command[1:2] in _ONLY_SERVERS)
