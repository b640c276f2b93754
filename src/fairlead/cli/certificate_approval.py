"""Approves and denies certificate signing requests."""

from __future__ import annotations

from typing import Any, NamedTuple

from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.errors import CommandError, CommandFailed, UsageError
from fairlead.cli.file_flags import add_file_flags
from fairlead.cli.invocation import Invocation
from fairlead.cli.manifests import manifests
from fairlead.cli.output.formats import add_output_flag, check_output, show_result
from fairlead.cli.write_options import EXPECTED, Failures
from fairlead.client import Resource
from fairlead.client.errors import Conflict
from fairlead.codec.types.times import now

_KIND = "CertificateSigningRequest"
_MAX_TRIES = 10


class Decision(NamedTuple):
    """The condition to add to a request, and the opposite condition that it must not have."""

    condition: str
    opposite: str
    reason: str
    command: str
    action: str


def add_deciding_flags(parser: ArgumentReader, decision: Decision) -> None:
    parser.add_argument("words", metavar="NAME", nargs="*")
    add_file_flags(parser, decision.command)
    parser.add_switch("--force", help=f"write it again if it is {decision.action} already")
    add_output_flag(parser)


async def decide(invocation: Invocation, decision: Decision) -> int:
    """Add the condition to all requests of the command line; return the exit code."""
    check_output(invocation)
    group = (await invocation.client.discovery.dialect()).group_name("certificates.@")
    resource = invocation.client.of(await invocation.client.discovery.of_kind(f"{group}/v1", _KIND))
    failures = Failures()
    for name in _names(invocation, group):
        try:
            value = await _decided(resource, name, decision, invocation.options.force)
        except (CommandFailed, *EXPECTED) as error:
            failures.add(error)
        else:
            show_result(invocation, resource.type, value, decision.action)
    return failures.finish()


def _names(invocation: Invocation, group: str) -> list[str]:
    """The names of the requests, from the words and from files."""
    names = [
        word.rpartition("/")[2] if _is_pair(word) else word for word in invocation.options.words
    ]
    for value, origin in manifests(invocation.options.filename, invocation.options.recursive):
        if value["kind"] != _KIND or not value["apiVersion"].startswith(f"{group}/"):
            raise CommandError(f"{origin}: can only handle certificate signing requests")
        name = (value.get("metadata") or {}).get("name")
        if not name:
            raise CommandError("the name is empty")
        names.append(name)
    if not names:
        raise UsageError("name signing requests, or a file with them (-f)")
    return names


def _is_pair(word: str) -> bool:
    return word.startswith(("csr/", "certificatesigningrequest"))


async def _decided(
    resource: Resource, name: str, decision: Decision, force: bool
) -> dict[str, Any]:
    """Add the condition to one request and return it. Reads it again on a conflict, up to 10
    times."""
    tries = 0
    while True:
        value = await resource.get(name)
        conditions = value.setdefault("status", {}).setdefault("conditions", [])
        types = [condition["type"] for condition in conditions]
        if decision.opposite in types:
            raise CommandError(f'the request "{name}" was {decision.opposite} before')
        if decision.condition in types and not force:
            return value
        if decision.condition not in types:
            conditions.append(_condition(decision))
        try:
            return await resource.replace(value, subresource="approval")
        except Conflict:
            tries += 1
            if tries == _MAX_TRIES:
                raise


def _condition(decision: Decision) -> dict[str, str]:
    return {
        "type": decision.condition,
        "status": "True",
        "reason": decision.reason,
        "message": f"This CSR was {decision.action} by fairlead certificate {decision.command}.",
        "lastUpdateTime": now(),
    }
