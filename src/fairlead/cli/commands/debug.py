"""`debug`: adds a container to a pod, copies a pod, or opens a node, to look inside."""

from __future__ import annotations

from typing import Any

from fairlead.base.terminal import printable
from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.debugging.objects import (
    container_name,
    copied_pod,
    ephemeral_container,
    node_pod,
    set_images,
)
from fairlead.cli.debugging.profiles import PROFILES
from fairlead.cli.errors import CommandError, UsageError
from fairlead.cli.invocation import Invocation
from fairlead.cli.local_patches import patched_here
from fairlead.cli.manifests import documents, named_by_file
from fairlead.cli.pods.attaching import (
    add_object_file_flag,
    add_stream_flags,
    attach,
    await_container,
    terminal_streams,
)
from fairlead.cli.targets import checked_name
from fairlead.client import Resource
from fairlead.client.errors import NotFound
from fairlead.client.resources import STRATEGIC_PATCH

Object = dict[str, Any]
_FIXED = ("name", "command", "image", "lifecycle", "volumeDevices")  # not for --custom
_PULL_POLICIES = ("", "Always", "IfNotPresent", "Never")
_VALUES = {
    ("--image",): ("IMAGE", "image of the container"),
    ("--image-pull-policy",): ("POLICY", "when the image is pulled"),
    ("-c", "--container"): ("NAME", "name of the container"),
    ("--target",): ("CONTAINER", "also see the processes of this container of the pod"),
    ("--copy-to",): ("NAME", "leave the pod alone: create a copy of this name"),
    ("--custom",): ("FILE", "fields of the container that are merged in, as JSON or YAML"),
}
_SWITCHES = {
    "--arguments-only": "the words behind -- are the arguments, not the command",
    "--same-node": "with --copy-to: on the node of the pod",
    "--replace": "with --copy-to: delete the pod",
    "--keep-labels": "with --copy-to: keep its labels, by which services select it",
    "--keep-annotations": "with --copy-to: keep its annotations",
    "--keep-liveness": "with --copy-to: keep its liveness probes",
    "--keep-readiness": "with --copy-to: keep its readiness probes",
    "--keep-startup": "with --copy-to: keep its startup probes",
}


def add_flags(parser: ArgumentReader) -> None:
    parser.keeps_behind = True
    parser.add_argument("words", metavar="POD | pod/NAME | node/NAME", nargs="*")
    for names, (value, text) in _VALUES.items():
        parser.add_argument(*names, metavar=value, default="", help=text)
    parser.add_argument(
        "--profile",
        metavar="PROFILE",
        default="general",
        help=f"what the container may do: {', '.join(PROFILES)}",
    )
    for name, value, text in (
        ("--env", "NAME=VALUE", "environment variable; can be repeated"),
        ("--set-image", "CONTAINER=IMAGE,...", "with --copy-to: other images; * for all"),
    ):
        parser.add_argument(name, metavar=value, action="append", default=[], help=text)
    for name, text in _SWITCHES.items():
        parser.add_switch(name, help=text)
    parser.add_switch(
        "--keep-init-containers", default=True, help="with --copy-to: keep its init containers"
    )
    parser.add_switch(
        "--share-processes", default=None, help="with --copy-to: all containers see all processes"
    )
    parser.add_switch("--attach", default=None, help="attach to the container; the default with -i")
    add_object_file_flag(parser)
    add_stream_flags(parser)


async def run(invocation: Invocation) -> int:
    options = invocation.options
    if options.filename:
        options.words.insert(0, named_by_file(options.filename))
    if len(options.words) != 1:
        raise UsageError("name what is debugged: a pod, pod/NAME or node/NAME")
    _check(invocation)
    kind, slash, name = options.words[0].partition("/")
    resource = await invocation.client.resource(kind if slash else "pods")
    target = await resource.get(checked_name(name if slash else kind), invocation.namespace)
    pods = await invocation.client.resource("pods")
    if (resource.type.kind, resource.type.group) == ("Node", ""):
        pod, container = await _on_node(invocation, pods, target)
    elif (resource.type.kind, resource.type.group) != ("Pod", ""):
        raise CommandError(f"a {resource.type.kind} cannot be debugged, only pods and nodes")
    elif options.copy_to:
        pod, container = await _by_copy(invocation, pods, target)
    else:
        pod, container = await _by_container(invocation, pods, target)
    is_attached = bool(options.stdin) if options.attach is None else bool(options.attach)
    if not is_attached or not container:
        return 0
    running = await await_container(invocation, pods, pod, container, None)
    streams = terminal_streams(invocation, running, container)
    return await attach(invocation, pods, running, container, streams)


def _check(invocation: Invocation) -> None:
    """Raises CommandError for flags that contradict each other."""
    options = invocation.options
    wrong = ""
    if options.profile not in PROFILES:
        wrong = f"--profile={options.profile} is unknown: it takes {', '.join(PROFILES)}"
    elif options.image_pull_policy not in _PULL_POLICIES:
        wrong = f"--image-pull-policy takes {', '.join(_PULL_POLICIES[1:])}"
    elif options.tty and not options.stdin:
        wrong = "-t needs -i: a terminal has keys"
    elif options.attach and not options.image and not options.container:
        wrong = "--attach needs the container to attach to: -c or --image"
    elif options.copy_to:
        wrong = _wrong_copy(invocation)
    elif options.replace or options.same_node or options.set_image:
        wrong = "--replace, --same-node and --set-image need --copy-to"
    elif not options.image:
        wrong = "the image is missing: --image=IMAGE"
    if wrong:
        raise CommandError(wrong)


def _wrong_copy(invocation: Invocation) -> str:
    options = invocation.options
    if options.target:
        return "--target and --copy-to contradict each other: use --share-processes"
    if not options.image and not set_images(options) and not options.behind:
        return "nothing is changed in the copy: give --image, --set-image or a command behind --"
    if options.behind and not options.container and not options.image:
        return "a command needs its container: -c, or --image for a new one"
    return ""


async def _by_container(invocation: Invocation, pods: Resource, pod: Object) -> tuple[Object, str]:
    options, metadata = invocation.options, pod["metadata"]
    name = container_name(options, pod)
    container = ephemeral_container(options, name)
    wanted = {**pod, "spec": {**pod["spec"], "ephemeralContainers": [container]}}
    wanted = await _customized(invocation, pods, wanted, "ephemeralContainers", name)
    _warn_of_user(invocation, pod, container)
    existing = pod["spec"].get("ephemeralContainers") or []
    order = [{"name": entry["name"]} for entry in (*existing, container)]
    patch = {
        "spec": {
            "$setElementOrder/ephemeralContainers": order,
            "ephemeralContainers": wanted["spec"]["ephemeralContainers"],
        }
    }
    try:
        changed = await pods.patch(
            metadata["name"],
            patch,
            metadata["namespace"],
            type=STRATEGIC_PATCH,
            subresource="ephemeralcontainers",
        )
    except NotFound as error:
        if error.details.get("name"):
            raise
        raise CommandError(
            f"the server has no ephemeral containers: use --copy-to ({error.message})"
        ) from None
    _tell(invocation, f"pod/{metadata['name']} has the container {name}")
    return changed, name


async def _by_copy(invocation: Invocation, pods: Resource, pod: Object) -> tuple[Object, str]:
    copy, name = copied_pod(invocation.options, pod)
    copy = await _customized(invocation, pods, copy, "containers", name)
    namespace = pod["metadata"]["namespace"]
    created = await pods.create(copy, namespace)
    _tell(invocation, f"pod/{created['metadata']['name']} created")
    if invocation.options.replace:
        deletion = {"gracePeriodSeconds": 0, "preconditions": {"uid": pod["metadata"]["uid"]}}
        await pods.delete(pod["metadata"]["name"], namespace, deletion)
        _tell(invocation, f'pod "{pod["metadata"]["name"]}" deleted')
    return created, name


async def _on_node(invocation: Invocation, pods: Resource, node: Object) -> tuple[Object, str]:
    if invocation.options.copy_to or invocation.options.target:
        raise CommandError("--copy-to and --target are for pods, not for nodes")
    pod = node_pod(invocation.options, node["metadata"]["name"], invocation.namespace)
    name = str(pod["spec"]["containers"][0]["name"])
    pod = await _customized(invocation, pods, pod, "containers", name)
    created = await pods.create(pod, invocation.namespace)
    _tell(invocation, f"pod/{created['metadata']['name']} created")
    return created, name


async def _customized(
    invocation: Invocation, pods: Resource, pod: Object, part: str, name: str
) -> Object:
    """The pod whose container of this name has the fields of --custom; raises CommandError."""
    path = invocation.options.custom
    if not path or not name:
        return pod
    patch = {"spec": {part: [{**_fields(path), "name": name}]}}
    return await patched_here(invocation, pods.type, pod, patch, "strategic")


def _fields(path: str) -> Object:
    """The fields in the file of --custom; raises CommandError."""
    try:
        with open(path, encoding="utf-8") as file:
            values = [value for value in documents(file.read(), path) if value is not None]
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    if len(values) != 1 or not isinstance(values[0], dict):
        raise CommandError(f"{path}: the fields of one container are needed")
    fixed = [field for field in _FIXED if field in values[0]]
    if fixed:
        raise CommandError(f"{path}: --custom cannot change {fixed[0]}")
    return values[0]


def _warn_of_user(invocation: Invocation, pod: Object, container: Object) -> None:
    """Capabilities do little for a user that is not root."""
    user = (pod["spec"].get("securityContext") or {}).get("runAsUser")
    context = container.get("securityContext") or {}
    has_rights = context.get("privileged") or (context.get("capabilities") or {}).get("add")
    if user and has_rights:
        invocation.screen.warn(
            f"The pod runs as user {user}, who can make no use of some rights of the profile:"
            " --custom can set securityContext.runAsUser to 0."
        )


def _tell(invocation: Invocation, text: str) -> None:
    if not invocation.options.quiet:
        invocation.screen.print(printable(text))
        invocation.screen.flush()
