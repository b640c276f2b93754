"""The containers and pods that `debug` creates."""

from __future__ import annotations

import random
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from fairlead.cli.arguments import Options
from fairlead.cli.create.form import pairs
from fairlead.cli.debugging.profiles import (
    COPY,
    EPHEMERAL,
    NODE,
    PROFILES,
    give_host,
    with_profile,
)
from fairlead.cli.errors import CommandError
from fairlead.cli.pods.choice import named_containers

Object = dict[str, Any]
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"  # no words come of them
_SUFFIX_LENGTH = 5
_MAX_NAME_LENGTH = 253
_PROBES = ("liveness", "readiness", "startup")


def suffix() -> str:
    return "".join(random.choices(_LETTERS, k=_SUFFIX_LENGTH))


def container_name(options: Options, pod: Object) -> str:
    """The name from -c, or a free one."""
    if options.container:
        return str(options.container)
    taken = {name for name, _ in named_containers(pod)}
    while (name := f"debugger-{suffix()}") in taken:
        pass
    return name


def _described(options: Options) -> Object:
    """The fields of the container that the flags set."""
    fields: Object = {}
    if options.image:
        fields["image"] = options.image
    if options.image_pull_policy:
        fields["imagePullPolicy"] = options.image_pull_policy
    if options.env:
        variables = pairs(options.env, "--env takes NAME=VALUE, not {}")
        fields["env"] = [{"name": name, "value": text} for name, text in variables.items()]
    if options.behind:
        fields["args" if options.arguments_only else "command"] = options.behind
    return {**fields, "stdin": bool(options.stdin), "tty": bool(options.tty)}


def ephemeral_container(options: Options, name: str) -> Object:
    container = {"name": name, **_described(options)}
    if options.target:
        container["targetContainerName"] = options.target
    return with_profile(container, PROFILES[options.profile], EPHEMERAL)


def node_pod(options: Options, node: str, namespace: str) -> Object:
    """A pod on a node, whatever taints that has."""
    profile = PROFILES[options.profile]
    container = {"name": options.container or "debugger", **_described(options)}
    spec: Object = {
        "containers": [with_profile(container, profile, NODE)],
        "nodeName": node,
        "restartPolicy": "Never",
        "tolerations": [{"operator": "Exists"}],
    }
    give_host(spec, profile)
    name = f"node-debugger-{node}"[: _MAX_NAME_LENGTH - _SUFFIX_LENGTH - 1]
    labels = {"app.kubernetes.io/managed-by": "fairlead-debug"}
    metadata = {"name": f"{name}-{suffix()}", "namespace": namespace, "labels": labels}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def copied_pod(options: Options, pod: Object) -> tuple[Object, str]:
    """A copy of a pod, and its container for debugging: a new one, or the changed one of that name;
    "" if only images are changed. Raises CommandError."""
    metadata: Object = {"name": options.copy_to, "namespace": pod["metadata"]["namespace"]}
    spec = deepcopy(pod["spec"])
    spec.pop("ephemeralContainers", None)
    if not options.same_node:
        spec.pop("nodeName", None)
    if options.share_processes is not None:
        spec["shareProcessNamespace"] = options.share_processes
    _set_images(options, spec["containers"])
    name = _change_container(options, {"spec": spec})
    if not name:
        metadata |= _kept(pod, ("labels", "annotations"))
        return _pod(metadata, spec), ""
    wanted = {"labels": options.keep_labels, "annotations": options.keep_annotations}
    metadata |= _kept(pod, [part for part, is_kept in wanted.items() if is_kept])
    _strip(options, spec)
    spec.setdefault("shareProcessNamespace", True)
    return _pod(metadata, spec), name


def _pod(metadata: Object, spec: Object) -> Object:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _kept(pod: Object, parts: Any) -> Object:
    return {part: pod["metadata"][part] for part in parts if pod["metadata"].get(part)}


def _set_images(options: Options, containers: list[Object]) -> None:
    images = set_images(options)
    unknown = set(images) - {container["name"] for container in containers} - {"*"}
    if unknown:
        raise CommandError(f"--set-image: the pod has no container {sorted(unknown)[0]}")
    for container in containers:
        image = images.get(container["name"]) or images.get("*")
        if image:
            container["image"] = image


def set_images(options: Options) -> Mapping[str, str]:
    texts = [part for text in options.set_image for part in text.split(",") if part]
    return pairs(texts, "--set-image takes CONTAINER=IMAGE or *=IMAGE, not {}")


def _change_container(options: Options, copy: Object) -> str:
    """Add or change the container for debugging, and return its name."""
    containers = copy["spec"]["containers"]
    profile = PROFILES[options.profile]
    for index, container in enumerate(containers):
        if container["name"] == options.container:
            changed = {**container, **_described(options)}
            if options.behind and not options.arguments_only:
                changed.pop("args", None)
            containers[index] = with_profile(changed, profile, COPY)
            return str(container["name"])
    if not options.image:
        if options.set_image:
            return ""
        raise CommandError(f"the pod has no container {options.container}, and there is no --image")
    container = {"name": container_name(options, copy), **_described(options)}
    containers.append(with_profile(container, profile, COPY))
    return str(container["name"])


def _strip(options: Options, spec: Object) -> None:
    """Leave out what would end or delay the copy."""
    for container in spec["containers"]:
        for probe in _PROBES:
            if not getattr(options, f"keep_{probe}"):
                container.pop(f"{probe}Probe", None)
    if not options.keep_init_containers:
        spec.pop("initContainers", None)
