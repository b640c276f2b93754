"""Objects of files that are changed without a server, for `--local`."""

from __future__ import annotations

from collections.abc import AsyncIterator

from fairlead.base.dialect import CLUSTER, KUBERNETES, Dialect
from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.errors import CommandError
from fairlead.cli.invocation import Invocation
from fairlead.cli.manifests import manifests
from fairlead.cli.resolution import ResolvedObject
from fairlead.client import Resource, ResourceType
from fairlead.client.discovery import Discovery, Group

_NOWHERE = "https://localhost"  # no request is sent, and a configuration may be missing


def add_local_flag(parser: ArgumentReader) -> None:
    parser.add_switch("--local", help="change the objects of -f here, without a server")


def is_local(invocation: Invocation) -> bool:
    return bool(getattr(invocation.options, "local", False))


class _NoServer(Discovery):
    """The kinds of one dialect, in place of those that a server tells."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect

    async def groups(self) -> tuple[Group, ...]:
        return ()

    async def dialect(self) -> Dialect:
        return self._dialect


async def local_objects(invocation: Invocation) -> AsyncIterator[ResolvedObject]:
    """The objects of the files; raises CommandError if there are none."""
    options = invocation.options
    if not options.filename:
        raise CommandError("--local changes objects of files: name them with -f")
    if not options.kubeconfig:
        options.server = options.server or _NOWHERE
    for value, origin in manifests(options.filename, options.recursive):
        domain = f".{CLUSTER.group_domain}/"
        dialect = CLUSTER if domain in value["apiVersion"] else KUBERNETES
        invocation.client.discovery = _NoServer(dialect)
        group, _, version = value["apiVersion"].rpartition("/")
        kind = value["kind"]
        # Names of resources are seldom anything else; they are only printed.
        type = ResourceType(group, version, f"{kind.lower()}s", kind, False, kind.lower())
        value = {**value, "metadata": dict(value.get("metadata") or {})}
        resource = Resource(invocation.client.session, type, "")
        yield ResolvedObject(resource, value, "", origin)
