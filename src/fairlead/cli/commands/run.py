"""`run`: creates a pod from an image, and may attach to it."""

from __future__ import annotations

import re
from typing import Any

from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.create.creation import create_one, resolve_form
from fairlead.cli.create.form import pairs
from fairlead.cli.delete.options import Deletion, add_deletion_flags, deletion_of
from fairlead.cli.errors import CommandError, CommandFailed, UsageError
from fairlead.cli.invocation import Invocation
from fairlead.cli.local_patches import add_override_flags, overridden
from fairlead.cli.output.formats import add_output_flag, check_output
from fairlead.cli.pods.attaching import (
    add_patience_flag,
    add_stream_flags,
    attach,
    await_container,
    terminal_streams,
)
from fairlead.cli.pods.choice import status_of
from fairlead.cli.write_options import (
    add_dry_run_flag,
    add_manager_flag,
    dry_run,
    write_query,
)
from fairlead.client import ApiError, Resource, Unreachable
from fairlead.client.errors import NotFound

Object = dict[str, Any]
_POLICIES = ("Always", "OnFailure", "Never")
_PULL_POLICIES = ("", "Always", "IfNotPresent", "Never")
_VARIABLE = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*")
_ENDED = ("Succeeded", "Failed")


def add_flags(parser: ArgumentReader) -> None:
    parser.keeps_behind = True
    parser.add_argument("words", metavar="NAME", nargs="*")
    parser.add_argument("--image", metavar="IMAGE", default="", help="image of the container")
    parser.add_argument(
        "--restart", metavar="POLICY", default="Always", help=f"one of {', '.join(_POLICIES)}"
    )
    parser.add_argument(
        "--image-pull-policy", metavar="POLICY", default="", help="when the image is pulled"
    )
    for name, value, text in (
        ("--env", "NAME=VALUE", "environment variable; can be repeated"),
        ("--annotations", "KEY=VALUE", "annotation of the pod; can be repeated"),
    ):
        parser.add_argument(name, metavar=value, action="append", default=[], help=text)
    parser.add_argument(
        "-l", "--labels", metavar="KEY=VALUE,...", default="", help="labels; by default run=NAME"
    )
    parser.add_argument("--port", metavar="PORT", default="", help="port of the container")
    parser.add_switch("--expose", help="also create a service, with --port")
    parser.add_switch(
        "--command", help="the words behind -- are the command, not the arguments of the image's"
    )
    parser.add_switch("--privileged", help="run the container with all rights on its node")
    parser.add_switch("--attach", help="wait for the container and attach to it")
    parser.add_switch("--rm", help="delete the pod at the end; it must be attached")
    parser.add_switch("--leave-stdin-open", help="keep its input open when the first client leaves")
    add_stream_flags(parser)
    add_patience_flag(parser)
    add_override_flags(parser)
    add_deletion_flags(parser, waits=False)
    add_output_flag(parser)
    add_dry_run_flag(parser)
    add_manager_flag(parser, "fairlead-run")
    parser.add_switch(
        "--save-config", help="save the configuration in an annotation, for apply --client-side"
    )


async def run(invocation: Invocation) -> int:
    options = invocation.options
    check_output(invocation)
    deletion = deletion_of(options, invocation.screen, options.force)
    is_attached = bool(options.attach or options.stdin or options.tty)
    _check(invocation, is_attached)
    resolved = await overridden(invocation, await resolve_form(invocation, _pod(invocation)))
    query = write_query(options)
    if is_attached:  # what is printed is what the container prints
        pod = await resolved.resource.create(resolved.value, resolved.namespace, **query)
    else:
        pod = await create_one(invocation, resolved, query)
    service = await _expose(invocation, query) if options.expose else None
    if not is_attached:
        return 0
    try:
        return await _attached(invocation, resolved.resource, pod)
    finally:
        if options.rm:
            await _remove(invocation, resolved.resource, pod, deletion)
            if service is not None:
                services = await invocation.client.resource("services")
                await _remove(invocation, services, service, deletion)


def _check(invocation: Invocation, is_attached: bool) -> None:
    """Raises CommandError and UsageError for flags that contradict each other."""
    options = invocation.options
    if len(options.words) != 1:
        raise UsageError("give the pod one NAME; arguments of its program come behind --")
    wrong = ""
    if not options.image:
        wrong = "the image is missing: --image=IMAGE"
    elif options.restart not in _POLICIES:
        wrong = f"--restart takes {', '.join(_POLICIES)}"
    elif options.image_pull_policy not in _PULL_POLICIES:
        wrong = f"--image-pull-policy takes {', '.join(_PULL_POLICIES[1:])}"
    elif options.tty and not options.stdin:
        wrong = "-t needs -i: a terminal has keys"
    elif options.rm and not is_attached:
        wrong = "--rm needs --attach, -i or -t: nobody would see the end of the container"
    elif is_attached and dry_run(options) != "none":
        wrong = "a dry run creates nothing to attach to: leave out --attach, -i and -t"
    elif options.expose and not options.port:
        wrong = "--expose needs --port"
    elif options.command and not options.behind:
        wrong = "--command needs a command behind --"
    if wrong:
        raise CommandError(wrong)


def _pod(invocation: Invocation) -> Object:
    options = invocation.options
    name = options.words[0]
    container: Object = {"name": name, "image": options.image}
    if options.behind:
        container["command" if options.command else "args"] = options.behind
    if options.env:
        container["env"] = [_variable(text) for text in options.env]
    if options.port:
        container["ports"] = [{"containerPort": _port(options.port)}]
    if options.image_pull_policy:
        container["imagePullPolicy"] = options.image_pull_policy
    if options.privileged:
        container["securityContext"] = {"privileged": True}
    if options.stdin:
        container |= {"stdin": True, "stdinOnce": not options.leave_stdin_open}
    if options.tty:
        container["tty"] = True
    metadata: Object = {"name": name, "labels": _labels(invocation)}
    if options.annotations:
        wrong = "--annotations takes KEY=VALUE, not {}"
        metadata["annotations"] = pairs(options.annotations, wrong)
    spec = {"containers": [container], "restartPolicy": options.restart}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _labels(invocation: Invocation) -> dict[str, str]:
    texts = [text for text in invocation.options.labels.split(",") if text]
    return pairs(texts, "--labels takes KEY=VALUE, not {}") or {"run": invocation.options.words[0]}


def _variable(text: str) -> Object:
    name, sign, value = text.partition("=")
    if not sign or not _VARIABLE.fullmatch(name):
        raise CommandError(f"--env takes NAME=VALUE, not {text!r}")
    return {"name": name, "value": value}


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 5 or not 0 < int(text) < 65536:
        raise CommandError(f"--port takes a number from 1 to 65535, not {text!r}")
    return int(text)


async def _expose(invocation: Invocation, query: dict[str, Any]) -> Object:
    """Create a service for the pod."""
    options, number = invocation.options, _port(invocation.options.port)
    labels = _labels(invocation)
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": options.words[0]},
        "spec": {
            "ports": [{"port": number, "protocol": "TCP", "targetPort": number}],
            "selector": labels,
        },
    }
    return await create_one(invocation, await resolve_form(invocation, service), query)


# Attached


async def _attached(invocation: Invocation, pods: Resource, pod: Object) -> int:
    """Attach to the container, and return its exit code if it is not restarted."""
    container = str(pod["spec"]["containers"][0]["name"])
    patience = invocation.options.pod_running_timeout
    streams = terminal_streams(invocation, pod, container)
    found = await await_container(invocation, pods, pod, container, patience)
    await attach(invocation, pods, found, container, streams)
    if pod["spec"].get("restartPolicy") == "Always":
        return 0
    metadata = pod["metadata"]
    ended = await pods.wait(metadata["name"], _has_ended, metadata["namespace"], timeout=patience)
    if ended is None:
        raise CommandError(f"the pod {metadata['name']} was deleted")
    state = ((status_of(ended, container) or {}).get("state") or {}).get("terminated") or {}
    code = int(state.get("exitCode") or 0)
    if code and not invocation.options.quiet:
        invocation.screen.warn(f"the container ended with exit code {code}")
    return code or int(ended["status"].get("phase") == "Failed")


def _has_ended(pod: Object | None) -> bool:
    return pod is None or (pod.get("status") or {}).get("phase") in _ENDED


async def _remove(
    invocation: Invocation, resource: Resource, value: Object, deletion: Deletion
) -> None:
    """Delete what this command has created; raises CommandFailed."""
    metadata = value["metadata"]
    options = {**deletion.options(), "preconditions": {"uid": metadata["uid"]}}
    try:
        await resource.delete(metadata["name"], metadata["namespace"], options)
    except NotFound:
        return
    except (ApiError, Unreachable) as error:
        kind = resource.type.singular
        raise CommandFailed(f"error: {kind} {metadata['name']} is left behind: {error}") from None
    if not invocation.options.quiet:
        invocation.screen.print(f'{resource.type.singular} "{metadata["name"]}" deleted')
