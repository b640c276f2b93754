"""`expose`: creates a service for the pods of an object."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any, NamedTuple

from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.create.creation import create_one, resolve_form
from fairlead.cli.create.form import pairs
from fairlead.cli.errors import CommandError, CommandFailed, UsageError
from fairlead.cli.file_flags import add_file_flags
from fairlead.cli.invocation import Invocation
from fairlead.cli.local_patches import add_override_flags, overridden
from fairlead.cli.manifests import manifests
from fairlead.cli.output.formats import add_output_flag, check_output
from fairlead.cli.resolution import Resolver, require_name
from fairlead.cli.targets import targets_of
from fairlead.cli.write_options import (
    EXPECTED,
    Failures,
    add_dry_run_flag,
    add_manager_flag,
    write_query,
)

Object = dict[str, Any]
_KINDS = ("Pod", "Service", "ReplicationController", "Deployment", "ReplicaSet")
_TYPES = ("ClusterIP", "NodePort", "LoadBalancer", "ExternalName")
_MAX_NAME_LENGTH = 63
_NONE = "None"
_TEXTS = {
    "--name": ("NAME", "name of the service; by default that of the object"),
    "--port": ("PORT,...", "port of the service; by default those of the containers"),
    "--target-port": ("PORT", "port of the containers, a number or a name"),
    "--protocol": ("PROTOCOL", "protocol of the ports, by default TCP"),
    "--type": ("TYPE", f"one of {', '.join(_TYPES)}"),
    "--selector": ("KEY=VALUE,...", "labels of the pods; by default those that the object selects"),
    "--cluster-ip": ("ADDRESS", "address in the cluster; None for a headless service"),
    "--external-ip": ("ADDRESS", "further address at which nodes take connections"),
    "--external-name": ("NAME", "the name that a service of type ExternalName stands for"),
    "--load-balancer-ip": ("ADDRESS", "address of the load balancer"),
    "--session-affinity": ("AFFINITY", "None or ClientIP"),
}


class _Port(NamedTuple):
    number: int
    protocol: str


def add_flags(parser: ArgumentReader) -> None:
    parser.add_argument("words", metavar="KIND NAME | KIND/NAME", nargs="*")
    add_file_flags(parser, "expose")
    for name, (value, text) in _TEXTS.items():
        parser.add_argument(name, metavar=value, default="", help=text)
    parser.add_argument(
        "-l", "--labels", metavar="KEY=VALUE,...", default="", help="labels of the service"
    )
    add_override_flags(parser)
    add_output_flag(parser)
    add_dry_run_flag(parser)
    add_manager_flag(parser, "fairlead-expose")
    parser.add_switch(
        "--save-config", help="save the configuration in an annotation, for apply --client-side"
    )


async def run(invocation: Invocation) -> int:
    check_output(invocation)
    query, failures = write_query(invocation.options), Failures()
    async for value in _objects(invocation):
        try:
            service = service_of(value, vars(invocation.options))
            resolved = await overridden(invocation, await resolve_form(invocation, service))
            await create_one(invocation, resolved, query, "exposed")
        except (CommandFailed, *EXPECTED) as error:
            failures.add(error)
    return failures.finish()


async def _objects(invocation: Invocation) -> AsyncIterator[Object]:
    options = invocation.options
    if bool(options.filename) == bool(options.words):
        raise UsageError("name what is exposed, as KIND NAME, KIND/NAME or by a file (-f)")
    if options.words:
        for target in await targets_of(invocation.client, options.words):
            for name in target.names:
                yield await target.resource.get(name, invocation.namespace)
            if not target.names:
                raise UsageError("name what is exposed: KIND NAME or KIND/NAME")
        return
    resolver = Resolver(invocation)
    for manifest in manifests(options.filename, options.recursive):
        resolved = await resolver.of(manifest)
        yield await resolved.resource.get(require_name(resolved), resolved.namespace)


def service_of(value: Object, flags: Mapping[str, Any]) -> Object:
    """A service for the pods of an object; raises CommandError. `flags` are those of `expose`."""
    kind, metadata = value["kind"], value["metadata"]
    if kind not in _KINDS:
        raise CommandError(f"a {kind} cannot be exposed, only {', '.join(_KINDS)}")
    name = flags["name"] or metadata["name"][:_MAX_NAME_LENGTH]
    labels = _pairs(flags, "labels") or metadata.get("labels") or {}
    spec: Object = {"ports": _ports(value, flags)}
    if flags["external_name"]:
        spec |= {"type": "ExternalName", "externalName": flags["external_name"]}
    else:
        spec["selector"] = _pairs(flags, "selector") or _selector(value)
    if flags["type"]:
        if flags["type"] not in _TYPES:
            raise CommandError(f"--type takes {', '.join(_TYPES)}")
        spec["type"] = flags["type"]
    for flag, field in (
        ("cluster_ip", "clusterIP"),
        ("load_balancer_ip", "loadBalancerIP"),
        ("session_affinity", "sessionAffinity"),
    ):
        if flags[flag]:
            spec[field] = flags[flag]
    if flags["external_ip"]:
        spec["externalIPs"] = [flags["external_ip"]]
    if not spec["ports"]:
        if spec.get("clusterIP") != _NONE and spec.get("type") != "ExternalName":
            raise CommandError("a port is missing: the object has none, and there is no --port")
        del spec["ports"]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, **({"labels": labels} if labels else {})},
        "spec": spec,
    }


def _pairs(flags: Mapping[str, Any], flag: str) -> dict[str, str]:
    texts = [text for text in str(flags[flag] or "").split(",") if text]
    return pairs(texts, f"--{flag} takes KEY=VALUE, not {{}}")


def _selector(value: Object) -> dict[str, str]:
    kind, spec = value["kind"], value.get("spec") or {}
    if kind == "Pod":
        selector = value["metadata"].get("labels")
    elif kind in ("Deployment", "ReplicaSet"):
        selector = (spec.get("selector") or {}).get("matchLabels")
        if (spec.get("selector") or {}).get("matchExpressions"):
            raise CommandError(
                f"the {kind} {value['metadata']['name']} selects by expressions, which services"
                " cannot: give --selector"
            )
    else:
        selector = spec.get("selector")
    if not selector:
        raise CommandError(
            f"the {kind} {value['metadata']['name']} has no labels to select by: give --selector"
        )
    return dict(selector)


# Ports


def _ports(value: Object, flags: Mapping[str, Any]) -> list[Object]:
    known = _known_ports(value)
    numbers = [_number(text) for text in str(flags["port"]).split(",") if text]
    chosen = known
    if numbers:
        protocols = {port.number: port.protocol for port in reversed(known)}
        chosen = [_Port(number, protocols.get(number, "TCP")) for number in numbers]
    target = flags["target_port"]
    return [
        {
            **({"name": f"port-{index}"} if len(chosen) > 1 else {}),
            "port": port.number,
            "protocol": flags["protocol"] or port.protocol,
            "targetPort": (int(target) if target.isdigit() else target) if target else port.number,
        }
        for index, port in enumerate(chosen, 1)
    ]


def _known_ports(value: Object) -> list[_Port]:
    spec = value.get("spec") or {}
    if value["kind"] == "Service":
        listed = [(port["port"], port) for port in spec.get("ports") or ()]
    else:
        template = (
            spec if value["kind"] == "Pod" else (spec.get("template") or {}).get("spec") or {}
        )
        listed = [
            (port["containerPort"], port)
            for container in template.get("containers") or ()
            for port in container.get("ports") or ()
        ]
    ports = (_Port(int(number), port.get("protocol") or "TCP") for number, port in listed)
    return list(dict.fromkeys(ports))


def _number(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 5 or not 0 < int(text) < 65536:
        raise CommandError(f"--port takes numbers from 1 to 65535, not {text!r}")
    return int(text)
