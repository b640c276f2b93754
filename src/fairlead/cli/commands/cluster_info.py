"""`cluster-info`: shows where the server and its services are, or dumps the state of all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fairlead.base.terminal import printable, write_bytes
from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.error_messages import error_text
from fairlead.cli.errors import CommandError, UsageError
from fairlead.cli.invocation import GREEN, Invocation, Paint
from fairlead.cli.output import documents
from fairlead.cli.pods.logs import LogStream
from fairlead.client import ApiError, Resource, Unreachable
from fairlead.client.errors import Forbidden, NotFound

Object = dict[str, Any]
_SHAPES = {"json": documents.as_json, "yaml": documents.as_yaml}
_SERVICE = "@/cluster-service"
_NAME = "@/name"
_HTTPS = 443
# The lists of each namespace in a dump, by the name of their file.
_LISTS = {
    "events": "events",
    "replication-controllers": "replicationcontrollers",
    "services": "services",
    "daemonsets": "daemonsets.apps",
    "deployments": "deployments.apps",
    "replicasets": "replicasets.apps",
    "statefulsets": "statefulsets.apps",
    "pods": "pods",
}


def add_flags(parser: ArgumentReader) -> None:
    parser.add_argument("words", metavar="dump", nargs="*")
    parser.add_switch("-A", "--all-namespaces", help="with dump: all namespaces")
    parser.add_argument(
        "--namespaces",
        metavar="NAMES",
        action="append",
        default=[],
        help="with dump: these namespaces, separated by commas",
    )
    parser.add_argument(
        "--output-directory",
        metavar="DIRECTORY",
        default="",
        help="with dump: write a file for each list and log, in place of the output",
    )
    parser.add_argument(
        "-o", "--output", metavar="FORMAT", default="json", help=f"one of {', '.join(_SHAPES)}"
    )


async def run(invocation: Invocation) -> int:
    words = invocation.options.words
    if words not in ([], ["dump"]):
        raise UsageError(f"unexpected argument {words[0]!r}: only dump can follow")
    if invocation.options.output not in _SHAPES:
        raise CommandError(f"-o takes {' or '.join(_SHAPES)}")
    if words:
        await _Dump(invocation).run()
    else:
        await _show(invocation)
    return 0


async def _show(invocation: Invocation) -> None:
    server = invocation.client.access.place.server.rstrip("/")
    paint = Paint(invocation.screen)
    dialect = await invocation.client.discovery.dialect()
    services = await invocation.client.resource("services")
    listed = await services.list(
        f"{dialect.system_prefix}-system", labelSelector=f"{dialect.label(_SERVICE)}=true"
    )
    places = {"The control plane": server}
    for service in listed["items"]:
        labels = service["metadata"].get("labels") or {}
        name = labels.get(dialect.label(_NAME)) or service["metadata"]["name"]
        places[str(name)] = _address(services, server, service)
    for name, place in places.items():
        invocation.screen.print(f"{paint(printable(name), GREEN)} is at {printable(place)}")
    invocation.screen.print("\n`fairlead cluster-info dump` shows the state of the cluster.")


def _address(services: Resource, server: str, service: Object) -> str:
    """The addresses of a load balancer, or the path of the server's proxy."""
    metadata, ports = service["metadata"], service["spec"].get("ports") or ()
    status = (service.get("status") or {}).get("loadBalancer") or {}
    for ingress in status.get("ingress") or ():
        host = ingress.get("ip") or ingress.get("hostname")
        return " ".join(f"http://{host}:{port['port']}" for port in ports)
    name = str(metadata["name"])
    if ports:
        first = ports[0]
        port = first.get("name") or ""
        is_secure = port == "https" or first["port"] == _HTTPS
        name = f"https:{name}:{port}" if is_secure else f"{name}:{port}".removesuffix(":")
    space = metadata["namespace"]
    return f"{server}{services.type.prefix}/namespaces/{space}/services/{name}/proxy"


class _Dump:
    """Writes the nodes, and the main lists and the logs of namespaces. What you may not see is left
    out, with a note."""

    def __init__(self, invocation: Invocation) -> None:
        options = invocation.options
        self._invocation = invocation
        self._as_text = _SHAPES[options.output]
        self._extension = options.output
        self._directory = Path(options.output_directory) if options.output_directory else None
        if options.output_directory == "-":
            self._directory = None

    async def run(self) -> None:
        """Raises CommandError and Unreachable."""
        await self._list("nodes", "nodes", "")
        for namespace in await self._namespaces():
            for name, kind in _LISTS.items():
                await self._list(name, kind, namespace)
        if self._directory is not None:
            self._invocation.screen.print(f"The cluster is dumped to {self._directory}")

    async def _namespaces(self) -> list[str]:
        options = self._invocation.options
        if options.all_namespaces:
            namespaces = await self._invocation.client.resource("namespaces")
            return [str(item["metadata"]["name"]) for item in (await namespaces.list())["items"]]
        named = [part for text in options.namespaces for part in text.split(",") if part]
        if named:
            return named
        dialect = await self._invocation.client.discovery.dialect()
        system = f"{dialect.system_prefix}-system"
        return list(dict.fromkeys((system, self._invocation.namespace)))

    async def _list(self, name: str, kind: str, namespace: str) -> None:
        resource = await self._invocation.client.resource(kind)
        try:
            listed = await resource.list(namespace)
        except (Forbidden, NotFound) as error:
            self._invocation.screen.warn(f"left out: {error_text(error)}")
            return
        text = self._as_text(documents.without_managed_fields(listed))
        self._write(f"{text}\n".encode(), namespace, f"{name}.{self._extension}")
        if name == "pods":
            for pod in listed["items"]:
                await self._logs(resource, pod)

    async def _logs(self, pods: Resource, pod: Object) -> None:
        space, name = str(pod["metadata"]["namespace"]), str(pod["metadata"]["name"])
        written: list[bytes] = []
        for container in pod["spec"]["containers"]:
            title = f"container {container['name']} of pod {space}/{name}"
            written.append(f"==== START logs for {title} ====\n".encode())
            try:
                stream = LogStream(pods, space, name, str(container["name"]))
                written += [piece async for piece in stream.pieces({})]
            except (ApiError, Unreachable) as error:
                written.append(f"{error_text(error)}\n".encode())
            written.append(f"==== END logs for {title} ====\n".encode())
        self._write(b"".join(written), space, name, "logs.txt")

    def _write(self, content: bytes, *path_names: str) -> None:
        if self._directory is None:
            write_bytes(self._invocation.screen.out, content)
            return
        path = self._directory.joinpath(*(_file_name(name) for name in path_names if name))
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        except OSError as error:
            raise CommandError(f"{path}: {error.strerror}") from None


def _file_name(name: str) -> str:
    """A name that a server sent, as the name of a file; raises CommandError."""
    if "/" in name or name in ("", ".", ".."):
        raise CommandError(f"{name!r} cannot be the name of a file")
    return name
