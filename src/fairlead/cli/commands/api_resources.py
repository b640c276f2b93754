"""`api-resources`: shows the resources that the server serves."""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.base.terminal import printable
from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.errors import CommandFailed
from fairlead.cli.invocation import Invocation
from fairlead.cli.output import tables
from fairlead.client import ResourceType

_HEADER = ("NAME", "SHORTNAMES", "APIVERSION", "NAMESPACED", "KIND")
_WIDE = ("VERBS", "CATEGORIES")


def add_flags(parser: ArgumentReader) -> None:
    parser.add_argument("--api-group", metavar="GROUP", help="only resources of this group")
    parser.add_switch(
        "--namespaced",
        default=None,
        help="only namespaced resources; =false for cluster-scoped ones",
    )
    parser.add_argument(
        "--verbs", metavar="VERBS", default="", help="only resources with all these verbs"
    )
    parser.add_argument(
        "--categories", metavar="NAMES", default="", help="only resources in all these categories"
    )
    parser.add_argument("--sort-by", metavar="FIELD", default="", help="sort by name or kind")
    parser.add_argument("-o", "--output", metavar="FORMAT", default="", help="one of wide, name")
    parser.add_switch("--no-headers", help="omit the header line")
    parser.add_without_effect("--cached")


async def run(invocation: Invocation) -> int:
    options = invocation.options
    if options.output not in ("", "wide", "name"):
        raise CommandFailed(f"error: --output {options.output} is not available")
    if options.sort_by not in ("", "name", "kind"):
        raise CommandFailed("error: --sort-by takes name or kind")
    types = [type for type in await _preferred(invocation) if _is_wanted(invocation, type)]
    types.sort(key=lambda type: _order(options.sort_by, type))
    if options.output == "name":
        for type in types:
            invocation.screen.print(printable(type.qualified))
        return 0
    is_wide = options.output == "wide"
    rows = [_row(type, is_wide) for type in types]
    heads = [*_HEADER, *(_WIDE if is_wide else ())]
    if not options.no_headers:
        rows.insert(0, heads)
    columns = tables.Columns(invocation.screen, whole=is_wide)
    invocation.screen.out.write(columns.text(rows, heads))
    return 0


async def _preferred(invocation: Invocation) -> Sequence[ResourceType]:
    """Each resource once, in the preferred version of its group if that version has it."""
    preferred: dict[tuple[str, str], ResourceType] = {}
    for type in await invocation.client.discovery.all_resources(preferred_only=False):
        preferred.setdefault((type.group, type.name), type)
    return [type for type in preferred.values() if type.verbs]


def _is_wanted(invocation: Invocation, type: ResourceType) -> bool:
    options = invocation.options
    return (
        (options.api_group is None or type.group == options.api_group)
        and (options.namespaced is None or type.namespaced is options.namespaced)
        and set(_listed(options.verbs)) <= set(type.verbs)
        and set(_listed(options.categories)) <= set(type.categories)
    )


def _listed(text: str) -> list[str]:
    return text.split(",") if text else []


def _order(sort_by: str, type: ResourceType) -> tuple[str, str, str]:
    first = {"name": type.name, "kind": type.kind}.get(sort_by, "")
    return first, type.group, type.name


def _row(type: ResourceType, is_wide: bool) -> list[str]:
    row = [
        type.name,
        ",".join(type.short_names),
        type.api_version,
        "true" if type.namespaced else "false",
        type.kind,
    ]
    return [*row, ",".join(type.verbs), ",".join(type.categories)] if is_wide else row
