"""Builders of services and ingresses."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

from fairlead.cli.create.form import Flag, Form, FormArguments, Object, pairs
from fairlead.cli.errors import CommandError

_RULE = re.compile(
    r"(?P<host>[^/=]*)(?P<path>/[^=]*)=(?P<service>[^:=,]+):(?P<port>[^,=]+)"
    r"(?:,(?P<tls>tls)(?:=(?P<secret>[^,]*))?)?"
)
_BACKEND = re.compile(r"([^:]+):([^:]+)")


def _port_number(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise CommandError(f'strconv.ParseUint: parsing "{text}": invalid syntax')
    if len(text) > 5 or not 1 <= int(text) <= 65535:
        raise CommandError("a port is a number from 1 to 65535")
    return int(text)


def _port(text: str) -> Object:
    """Parse `80` or `80:8080`; the target may be a port name."""
    first, colon, second = text.partition(":")
    port = _port_number(first)
    target: Any = port
    if colon:
        target = _port_number(second) if second.isdigit() else second
        if not second:
            raise CommandError(f'strconv.ParseUint: parsing "{second}": invalid syntax')
    name = f"{first}-{second}" if colon else first
    return {"name": name, "port": port, "protocol": "TCP", "targetPort": target}


async def _service(arguments: FormArguments, type: str) -> Object:
    ports = [_port(text) for text in arguments.values("tcp")]
    selector = {"app": arguments.name}
    spec: Object = {"type": type, "selector": selector}
    if type == "ExternalName":
        spec["externalName"] = arguments.required("external_name")
    elif type == "ClusterIP" and arguments.text("clusterip"):
        spec["clusterIP"] = arguments.text("clusterip")
    if spec.get("clusterIP") == "None":
        if ports:
            raise CommandError("can not map ports with clusterip=None")
    elif not ports and type != "ExternalName":
        raise CommandError("a port is missing: --tcp=80 or --tcp=80:8080")
    if type == "NodePort" and arguments.number("node_port"):
        for port in ports:
            port["nodePort"] = arguments.number("node_port")
    if ports:
        spec["ports"] = ports
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": arguments.name, "labels": selector},
        "spec": spec,
    }


def _backend(service: str, port: str) -> Object:
    named: Object = {"number": int(port)} if port.isdigit() else {"name": port}
    return {"service": {"name": service, "port": named}}


async def _ingress(arguments: FormArguments) -> Object:
    rules, default = arguments.options.rule, arguments.text("default_backend")
    if not rules and not default:
        raise CommandError(
            "no backend: give --rule for a host and path, --default-backend for all others"
        )
    spec: Object = {}
    if default:
        match = _BACKEND.fullmatch(default)
        if not match:
            raise CommandError("--default-backend takes SERVICE:PORT")
        spec["defaultBackend"] = _backend(match[1], match[2])
    if arguments.text("class"):
        spec["ingressClassName"] = arguments.text("class")
    if rules:
        spec |= _rules(rules)
    metadata: Object = {"name": arguments.name}
    if arguments.options.annotation:
        wrong = "--annotation takes KEY=VALUE, not {}"
        metadata["annotations"] = pairs(arguments.options.annotation, wrong)
    return {
        "apiVersion": arguments.dialect.group_name("networking.@/v1"),
        "kind": "Ingress",
        "metadata": metadata,
        "spec": spec,
    }


def _rules(texts: list[str]) -> Object:
    paths: dict[str, list[Object]] = {}
    secrets: dict[str, list[str]] = {}
    for text in texts:
        match = _RULE.fullmatch(text)
        if not match:
            raise CommandError(
                f"--rule takes HOST/PATH=SERVICE:PORT, optionally followed by ,tls or"
                f" ,tls=SECRET, not"
                f" {text}"
            )
        host, path = match["host"], match["path"]
        paths.setdefault(host, []).append(
            {
                "path": path.removesuffix("*") or "/",
                "pathType": "Prefix" if path.endswith("*") else "Exact",
                "backend": _backend(match["service"], match["port"]),
            }
        )
        if match["tls"] and host:
            hosts = secrets.setdefault(match["secret"] or "", [])
            hosts += [host] if host not in hosts else []
    rule_path: Object = {
        "rules": [
            {**({"host": host} if host else {}), "http": {"paths": listed}}
            for host, listed in paths.items()
        ]
    }
    if secrets:
        rule_path["tls"] = [
            {"hosts": hosts, **({"secretName": secret} if secret else {})}
            for secret, hosts in secrets.items()
        ]
    return rule_path


_TCP = Flag("tcp", "port and target port", "PORT[:TARGET]", many=True)
_SERVICES = {
    "clusterip": ("ClusterIP", "an address within the cluster", Flag("clusterip", "the address")),
    "nodeport": (
        "NodePort",
        "a port on every node",
        Flag("node_port", "the port", "PORT", default=0),
    ),
    "loadbalancer": ("LoadBalancer", "an address from outside", None),
    "externalname": ("ExternalName", "another name", Flag("external_name", "the name", "NAME")),
}
FORMS = {
    **{
        f"service {noun}": Form(
            f"a service with {what}",
            partial(_service, type=type),
            (_TCP, own) if own else (_TCP,),
            f"failed to create {type} service: ",
        )
        for noun, (type, what, own) in _SERVICES.items()
    },
    "ingress": Form(
        "an ingress",
        _ingress,
        (
            Flag(
                "rule",
                "rule; a path that ends with * matches a prefix",
                "HOST/PATH=SERVICE:PORT",
                many=True,
            ),
            Flag("class", "its class", "NAME"),
            Flag("annotation", "an annotation", "KEY=VALUE", many=True),
            Flag("default_backend", "backend for all other requests", "SERVICE:PORT"),
        ),
        "failed to create ingress: ",
    ),
}
