"""`token create`: creates a token of a service account."""

from __future__ import annotations

from typing import Any

from fairlead.cli.arguments import ArgumentReader, seconds
from fairlead.cli.errors import CommandFailed, UsageError
from fairlead.cli.invocation import Invocation
from fairlead.cli.output.formats import add_document_flag, print_document, wants_document
from fairlead.client import ApiError

_KINDS = {"Pod": "v1", "Secret": "v1"}


def add_flags(parser: ArgumentReader) -> None:
    parser.add_argument("words", metavar="SERVICEACCOUNT", nargs="*")
    parser.add_argument(
        "--audience",
        metavar="NAME",
        action="append",
        default=[],
        help="audience of the token; can be repeated",
    )
    parser.add_argument(
        "--duration", type=seconds, metavar="DURATION", help="lifetime of the token"
    )
    parser.add_argument(
        "--bound-object-kind",
        metavar="KIND",
        default="",
        help=f"{' or '.join(_KINDS)}: bind the token to the life of an object of this kind",
    )
    parser.add_argument(
        "--bound-object-name", metavar="NAME", default="", help="name of that object"
    )
    parser.add_argument("--bound-object-uid", metavar="UID", default="", help="uid of that object")
    add_document_flag(parser)


async def run(invocation: Invocation) -> int:
    if len(invocation.options.words) != 1:
        raise UsageError(f"give one NAME, not {len(invocation.options.words)}")
    as_document = wants_document(invocation)
    name = invocation.options.words[0].removeprefix("serviceaccount/").removeprefix("sa/")
    group = (await invocation.client.discovery.dialect()).group_name("authentication.@")
    body = {"apiVersion": f"{group}/v1", "kind": "TokenRequest", "spec": _spec(invocation)}
    accounts = invocation.client.of(
        await invocation.client.discovery.of_kind("v1", "ServiceAccount")
    )
    try:
        answer = await accounts.create(body, invocation.namespace, name=name, subresource="token")
    except ApiError as error:
        if error.code == 401:
            raise
        raise CommandFailed(f"error: failed to create token: {error}") from None
    token = (answer.get("status") or {}).get("token")
    if not token:
        raise CommandFailed("error: the server answered without a token")
    if as_document:
        print_document(invocation, answer)
    else:
        invocation.screen.print(token)
    return 0


def _spec(invocation: Invocation) -> dict[str, Any]:
    """The spec of the TokenRequest; raises UsageError for flags that contradict each other."""
    options = invocation.options
    spec: dict[str, Any] = {}
    if options.audience:
        spec["audiences"] = options.audience
    if options.duration is not None:
        if options.duration <= 0:
            raise UsageError("--duration must be positive")
        if options.duration != int(options.duration):
            raise UsageError("--duration takes whole seconds")
        spec["expirationSeconds"] = int(options.duration)
    kind, name, uid = (
        options.bound_object_kind,
        options.bound_object_name,
        options.bound_object_uid,
    )
    if not kind:
        for flag, value in (("name", name), ("uid", uid)):
            if value:
                raise UsageError(f"--bound-object-{flag} needs --bound-object-kind")
        return spec
    if kind not in _KINDS:
        raise UsageError(f"--bound-object-kind takes {', '.join(_KINDS)}")
    if not name:
        raise UsageError("--bound-object-kind needs --bound-object-name")
    bound = {"kind": kind, "apiVersion": _KINDS[kind], "name": name}
    return {**spec, "boundObjectRef": {**bound, **({"uid": uid} if uid else {})}}
