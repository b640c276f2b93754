"""`events`: shows events."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.errors import CommandError
from fairlead.cli.invocation import Invocation
from fairlead.cli.output.flags import add_template_flags, choice_of
from fairlead.cli.output.printers import Printer, printer_for
from fairlead.cli.output.tables import Columns, cell
from fairlead.client import Resource
from fairlead.client.resources import PAGE
from fairlead.client.watch import DELETED, objects_of
from fairlead.codec.types.times import UNKNOWN, duration_text, moment

Object = dict[str, Any]

_HEAD = ("LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE")
_BEFORE_ALL = datetime.min.replace(tzinfo=UTC)


def add_flags(parser: ArgumentReader) -> None:
    parser.add_switch("-A", "--all-namespaces", help="events of all namespaces")
    parser.add_argument(
        "--for", dest="about", metavar="KIND/NAME", default="", help="only events of this object"
    )
    parser.add_argument(
        "--types", metavar="TYPES", default="", help="only events of these types: Normal, Warning"
    )
    parser.add_switch("-w", "--watch", help="also show new events as they happen")
    parser.add_switch("--no-headers", help="omit the header line")
    parser.add_argument(
        "-o",
        "--output",
        metavar="FORMAT",
        default="",
        help="output format, such as json, yaml or name",
    )
    parser.add_switch("--show-managed-fields", help="include managedFields in json and yaml")
    parser.add_argument(
        "--chunk-size",
        metavar="NUMBER",
        type=int,
        default=PAGE,
        help="number of events per list request; 0 for all at once",
    )
    add_template_flags(parser)


async def run(invocation: Invocation) -> int:
    options = invocation.options
    printer = None
    if options.output or options.template:
        printer = printer_for(choice_of(options))
    types = [type.strip() for type in options.types.split(",") if type.strip()]
    if any(type.lower() not in ("normal", "warning") for type in types):
        raise CommandError("--types takes Normal, Warning or both")
    events = await invocation.client.resource("events")
    namespace = "" if options.all_namespaces else invocation.namespace
    query = await _about(invocation)
    listed = await events.list(namespace, limit=options.chunk_size, **query)
    listed_events = sorted(objects_of(listed), key=_order)
    show = _Show(invocation, types, printer)
    if not show(listed_events) and not options.watch:
        where = "" if options.all_namespaces else f" in {namespace} namespace"
        invocation.screen.warn(f"No events found{where}.")
    if options.watch:
        await _follow(events, namespace, listed, query, show)
    return 0


async def _about(invocation: Invocation) -> dict[str, Any]:
    """The field selector for events of the object in --for; raises CommandError."""
    about = invocation.options.about
    if not about:
        return {}
    kind, slash, name = about.partition("/")
    if not slash or not kind or not name or "/" in name:
        raise CommandError("--for takes one object, such as pod/web")
    type = await invocation.client.discovery.find(kind)
    fields = {"apiVersion": type.api_version, "kind": type.kind, "name": name}
    parts = [f"involvedObject.{field}={value}" for field, value in fields.items()]
    return {"fieldSelector": ",".join(parts)}


async def _follow(
    events: Resource, namespace: str, listed: Object, query: dict[str, Any], show: _Show
) -> None:
    async for type, value in events.watch(namespace, since=listed, **query):
        if type != DELETED:
            show([value], is_alone=True)


class _Show:
    """Prints events as a table or in the format of -o."""

    def __init__(
        self, invocation: Invocation, types: Sequence[str], printer: Printer | None
    ) -> None:
        self._invocation = invocation
        self._printer = printer
        self._types = {type.lower() for type in types}
        self._columns = Columns(invocation.screen)
        self._needs_head = not invocation.options.no_headers

    def __call__(self, events: Sequence[Object], is_alone: bool = False) -> int:
        """Print the events of the wanted types; return how many there are."""
        new_events = [
            event
            for event in events
            if not self._types or str(event.get("type", "")).lower() in self._types
        ]
        if self._printer is not None:
            listed = {"apiVersion": "v1", "items": new_events, "kind": "List", "metadata": {}}
            for value in new_events if is_alone else [listed]:
                self._invocation.screen.out.write(self._printer(value))
        elif new_events:
            rows = [self._row(event) for event in new_events]
            heads = self._with_namespace("NAMESPACE", _HEAD)
            if self._needs_head:
                rows.insert(0, heads)
                self._needs_head = False
            self._invocation.screen.out.write(self._columns.text(rows, heads))
        self._invocation.screen.flush()
        return len(new_events)

    def _row(self, event: Object) -> list[str]:
        about = event.get("involvedObject") or {}
        cells = (
            _last_seen(event),
            cell(event.get("type")),
            cell(event.get("reason")),
            f"{cell(about.get('kind'))}/{cell(about.get('name'))}",
            cell(str(event.get("message") or "").strip()),
        )
        return self._with_namespace(cell(event["metadata"].get("namespace")), cells)

    def _with_namespace(self, namespace: str, cells: Sequence[str]) -> list[str]:
        return [namespace, *cells] if self._invocation.options.all_namespaces else [*cells]


def _last_seen(event: Object) -> str:
    """The LAST SEEN column: time since the last occurrence, count, and time since the first."""
    series = event.get("series") or {}
    first = moment(event.get("firstTimestamp")) or moment(event.get("eventTime"))
    count = series.get("count") or event.get("count") or 1
    last = moment(series.get("lastObservedTime")) or moment(event.get("lastTimestamp"))
    now = datetime.now(UTC)
    if count > 1 and last is not None:
        return f"{_ago(last, now)} (x{count} over {_ago(first, now)})"
    return _ago(first, now)


def _ago(when: datetime | None, now: datetime) -> str:
    return UNKNOWN if when is None else duration_text(max(now - when, timedelta()))


def _order(event: Object) -> datetime:
    """Sort key: the time of the last occurrence."""
    series = event.get("series") or {}
    stamps = (series.get("lastObservedTime"), event.get("lastTimestamp"), event.get("eventTime"))
    for stamp in stamps:
        when = moment(stamp)
        if when is not None:
            return when
    return _BEFORE_ALL
