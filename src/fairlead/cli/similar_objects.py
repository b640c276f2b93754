"""Suggestions for mistyped names of objects."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from fairlead.base.terminal import printable
from fairlead.cli import suggestions
from fairlead.cli.invocation import Invocation
from fairlead.client import AccessError, ApiError, Resource, UnknownResource, Unreachable
from fairlead.client.errors import NotFound
from fairlead.client.resources import METADATA_LIST, PAGE, InvalidName

_MOST = 3  # names that are suggested, and that suggestions are looked for


async def hint(resource: Resource, name: str, namespace: str | None) -> str:
    """A text with the objects that are called like one that does not exist, such as the pods of
    a workload of this name; empty if there are none, or if they cannot be listed."""
    with suppress(ApiError, Unreachable):
        page = await resource.page(namespace, accept=METADATA_LIST, limit=PAGE)
        names = [item["metadata"]["name"] for item in page.get("items") or ()]
        longer = [each for each in names if each.startswith(f"{name}-")][:_MOST]
        return printable(suggestions.listed(longer) or suggestions.similar(name, names))
    return ""


async def suggest(invocation: Invocation, errors: Iterable[NotFound]) -> None:
    """Print the objects that are called like those that the server did not find."""
    for error in list(errors)[:_MOST]:
        name, kind = error.details.get("name"), error.details.get("kind")
        if not isinstance(name, str) or not isinstance(kind, str):
            continue
        group = error.details.get("group")
        with suppress(AccessError, ApiError, InvalidName, Unreachable, UnknownResource):
            resource = await invocation.client.resource(f"{kind}.{group}" if group else kind)
            if close := await hint(resource, name, invocation.namespace):
                invocation.screen.warn(close)
