"""`apply edit-last-applied`: edits the record of client-side apply."""

from __future__ import annotations

from fairlead.cli.apply.last_applied import (
    Object,
    annotation_of,
    last_applied,
    not_recorded,
    record,
)
from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.commands.edit import commented, edit_text, new_file, values_of, without_comments
from fairlead.cli.errors import CommandError, CommandFailed
from fairlead.cli.invocation import Invocation
from fairlead.cli.output.documents import as_json, as_yaml
from fairlead.cli.output.formats import named
from fairlead.cli.resolution import ResolvedObject
from fairlead.cli.selection import add_selection_flags, check_choice, select_objects
from fairlead.cli.write_options import EXPECTED, Failures, add_manager_flag, write_query

_FORMATS = {"yaml": as_yaml, "json": as_json}
_HEAD = """\
The saved text becomes the record of what apply --client-side applied last; the
object itself stays as it is. Lines that begin with # are ignored. Save an empty
file to change nothing.
"""


def add_flags(parser: ArgumentReader) -> None:
    parser.add_argument("words", metavar="KIND NAME...", nargs="*")
    add_selection_flags(parser, "edit")
    add_manager_flag(parser, "")
    parser.add_argument("-o", "--output", metavar="FORMAT", default="yaml", help="yaml or json")
    parser.add_without_effect("--windows-line-endings")
    parser.set_defaults(dry_run="none")


async def run(invocation: Invocation) -> int:
    options = invocation.options
    if options.output not in _FORMATS:
        raise CommandError(f"-o takes {' or '.join(_FORMATS)}")
    check_choice(invocation, options.words)
    annotation = annotation_of(await invocation.client.discovery.dialect())
    failures = Failures()
    async for resolved in select_objects(invocation, options.words, failures):
        configuration = last_applied(resolved.value, annotation)
        if configuration is None:
            failures.add(not_recorded(resolved))
            continue
        try:
            await _edit(invocation, resolved, configuration, annotation)
        except (CommandFailed, *EXPECTED) as error:
            failures.add(error)
    return failures.finish()


async def _edit(
    invocation: Invocation, resolved: ResolvedObject, configuration: Object, annotation: str
) -> None:
    """Raises CommandFailed and ApiError; the edited text is kept then."""
    options = invocation.options
    path = new_file(f".{options.output}")
    before = _FORMATS[options.output](configuration)
    after = without_comments(await edit_text(path, commented([], before, _HEAD))).strip()
    if not after or after == before.strip():
        invocation.screen.warn("Edit cancelled, no changes made.")
    else:
        try:
            value = _edited(after, configuration)
            await record(resolved, value, annotation, write_query(options))
        except (CommandFailed, *EXPECTED):
            invocation.screen.warn(f"Your text is kept in {path}")
            raise
        invocation.screen.print(f"{named(resolved.resource.type, resolved.name)} edited")
    path.unlink(missing_ok=True)


def _edited(text: str, before: Object) -> Object:
    """The object in the text; raises CommandError if it is another one than before."""
    values = values_of(text)
    if [_identity(value) for value in values] != [_identity(before)]:
        raise CommandError(
            "apiVersion, kind and name say which object it is: they cannot be changed here"
        )
    return values[0]


def _identity(value: Object) -> tuple[object, ...]:
    metadata = value.get("metadata") or {}
    return (value.get("apiVersion"), value.get("kind"), metadata.get("name"))
