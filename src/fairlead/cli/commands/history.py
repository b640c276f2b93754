"""`history`: shows how an object has changed, and which manager changed it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.errors import UsageError
from fairlead.cli.invocation import Invocation, Paint
from fairlead.cli.output import documents, tables
from fairlead.cli.targets import ObjectReference, parse_object_reference
from fairlead.cli.versions.differences import DiffView, painted, parsed_path
from fairlead.cli.versions.entries import HEAD, HistoryEntry, history_entries, newer_than
from fairlead.cli.versions.retained import DELETED, history_of, object_at
from fairlead.cli.versions.served import writers_of
from fairlead.client.errors import NotFound
from fairlead.codec.types.durations import DurationError, parse_duration
from fairlead.codec.types.times import TimeError, parse_time

_FORMATS = {"json": documents.as_json, "yaml": documents.as_yaml}


def add_flags(parser: ArgumentReader) -> None:
    parser.add_argument("words", metavar="KIND NAME", nargs="*")
    parser.add_argument("--limit", metavar="N", help="only the newest N versions")
    parser.add_argument(
        "--since", metavar="AGE|TIME", help="only versions that are not older than this, such as 2m"
    )
    parser.add_argument(
        "--fields",
        metavar="PATH",
        action="append",
        default=[],
        help="only changes of this field, such as spec.replicas; can be repeated",
    )
    parser.add_argument(
        "--at",
        "--revision",
        dest="revision",
        metavar="R",
        help="show the object as it was at a revision",
    )
    parser.add_argument(
        "--diff", metavar="R", nargs=2, help="show the difference between two revisions"
    )
    parser.add_switch("--brief", help="one line per version: time, author, changed fields")
    parser.add_switch("--all", help="include managedFields, resourceVersion and generation")
    parser.add_switch("--show-secrets", help="show the values of Secrets")
    parser.add_argument(
        "-o", "--output", metavar="FORMAT", default="", help=f"one of {', '.join(_FORMATS)}"
    )


async def run(invocation: Invocation) -> int:
    options = invocation.options
    if options.output and options.output not in _FORMATS:
        formats = " or ".join(_FORMATS)
        raise UsageError(f"unknown output format {options.output!r}, it must be {formats}")
    diff_view, limit, start = _diff_view(invocation), _limit(options.limit), _start(options.since)
    reference = await parse_object_reference(invocation, options.words)
    if options.diff is not None:
        await _compare(invocation, reference, diff_view)
        return 0
    if options.revision is not None:
        value = await object_at(reference, _revision_text(options.revision, "--revision"))
        invocation.screen.print(_FORMATS[options.output or "yaml"](diff_view.shown(value)))
        return 0
    history = await history_of(reference)
    writers = await writers_of(reference)
    entries = _chosen(history_entries(history, diff_view, writers), invocation, start, limit)
    if options.output:
        written = _document(reference, history.since, entries, diff_view)
        invocation.screen.print(_FORMATS[options.output](written))
    elif options.brief:
        now = datetime.now(UTC)
        rows = [HEAD, *(entry.row(now) for entry in entries)]
        invocation.screen.print(tables.text(rows, invocation.screen, HEAD))
    else:
        _print_entries(invocation, reference, history.since, entries)
    return 0


async def _compare(invocation: Invocation, reference: ObjectReference, diff_view: DiffView) -> None:
    """Print the difference between two revisions, given in any order. Raises NotFound if the object
    existed at neither."""
    first, second = (_revision_text(text, "--diff") for text in invocation.options.diff)
    before = await _then(reference, first)
    after = await (_then if before is not None else object_at)(reference, second)
    lines = diff_view.difference(before, after)
    if invocation.options.output:
        document = {"from": first, "to": second, "difference": "\n".join(lines)}
        invocation.screen.print(
            _FORMATS[invocation.options.output]({**reference.document(), **document})
        )
    elif lines:
        heads = (f"--- revision {first}", f"+++ revision {second}")
        for line in painted([*heads, *lines], Paint(invocation.screen)):
            invocation.screen.print(line)
    else:
        invocation.screen.print("No differences match.")


async def _then(reference: ObjectReference, revision: str) -> dict[str, Any] | None:
    """The object at a revision; None if it did not exist then."""
    try:
        return await object_at(reference, revision)
    except NotFound:
        return None


def _diff_view(invocation: Invocation) -> DiffView:
    try:
        fields = [
            parsed_path(text) for value in invocation.options.fields for text in value.split(",")
        ]
    except ValueError as error:
        raise UsageError(f"--fields: {str(error)!r} is not the path of a field") from None
    # With --revision, show the resourceVersion: it identifies the version.
    noise = invocation.options.all or bool(fields) or invocation.options.revision is not None
    return DiffView(noise=noise, secrets=invocation.options.show_secrets, fields=fields)


def _limit(text: str | None) -> int | None:
    if text is None:
        return None
    if _revision_text(text, "--limit") == "0":
        raise UsageError("--limit: it must be at least 1")
    return int(text)


def _revision_text(text: str, flag: str) -> str:
    if not text.isascii() or not text.isdigit() or len(text) > 19:
        raise UsageError(f"{flag}: {text!r} is not a whole number")
    return str(int(text))


def _start(text: str | None) -> datetime | None:
    """Parse an age or a time to a point in time."""
    if text is None:
        return None
    try:
        return parse_time(text)
    except TimeError:
        pass
    try:
        return datetime.now(UTC) - timedelta(seconds=parse_duration(text))
    except (DurationError, OverflowError):
        raise UsageError(f"--since: {text!r} is neither an age such as 2m nor a time") from None


def _chosen(
    entries: list[HistoryEntry], invocation: Invocation, start: datetime | None, limit: int | None
) -> list[HistoryEntry]:
    if start is not None:
        entries = newer_than(entries, start)
    if invocation.options.fields:
        entries = [entry for entry in entries if entry.lines or entry.version.change == DELETED]
    return entries[-limit:] if limit is not None else entries


def _document(
    reference: ObjectReference, since: int, entries: list[HistoryEntry], diff_view: DiffView
) -> dict[str, Any]:
    return {
        **reference.document(),
        "knownSince": str(since) if since else None,
        "versions": [entry.document(diff_view) for entry in entries],
    }


def _print_entries(
    invocation: Invocation, reference: ObjectReference, since: int, entries: list[HistoryEntry]
) -> None:
    invocation.screen.print(f"{reference.title} ({reference.resource.type.api_version})")
    if since:
        invocation.screen.print(f"The server knows its history from revision {since} on.")
    paint, now = Paint(invocation.screen), datetime.now(UTC)
    for entry in entries:
        invocation.screen.print()
        for line in entry.description(paint, now):
            invocation.screen.print(line)
    if not entries:
        invocation.screen.print("\nNo changes match.")
