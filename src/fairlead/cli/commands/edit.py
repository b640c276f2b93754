"""`edit`: changes objects in an editor."""

from __future__ import annotations

from pathlib import Path

from fairlead.cli.apply.changes import type_of
from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.edit.editor import edited, new_file
from fairlead.cli.edit.save import patch_of, save, shown
from fairlead.cli.edit.text import commented, text_of, values_of, without_comments
from fairlead.cli.error_messages import worded
from fairlead.cli.errors import CommandError, CommandFailed
from fairlead.cli.invocation import Invocation
from fairlead.cli.manifests import ManifestError, Object, add_file_flags
from fairlead.cli.output.formats import named
from fairlead.cli.resolution import ResolvedObject
from fairlead.cli.selection import check_choice, chosen_objects
from fairlead.cli.write_options import (
    Failures,
    add_manager_flag,
    add_validation_flag,
    check_subresource,
    write_query,
)
from fairlead.client import ApiError
from fairlead.client.errors import BadRequest, Invalid

_NO_CHANGES = "Edit cancelled, no changes made."
_NOT_SAVED = "Nothing was saved: the file was left as it was refused."
_RENAMED = "apiVersion, kind and name say which object it is: they cannot be changed here"
_FORMATS = ("yaml", "json")


def add_flags(parser: ArgumentReader) -> None:
    parser.add_argument("words", metavar="KIND NAME...", nargs="*")
    add_file_flags(parser, "edit")
    add_validation_flag(parser)
    add_manager_flag(parser, "fairlead-edit")
    parser.add_argument("-o", "--output", metavar="FORMAT", default="yaml", help="yaml or json")
    parser.add_argument("--subresource", metavar="NAME", default="", help="status")
    parser.set_defaults(all=False, all_namespaces=False, selector="", field_selector="")
    parser.set_defaults(dry_run="none")


async def run(at: Invocation) -> int:
    if at.options.output not in _FORMATS:
        raise CommandError(f"-o takes {' or '.join(_FORMATS)}")
    check_choice(at, at.options.words)
    check_subresource(at.options, ("status",))
    failures = Failures()
    words, subresource = at.options.words, at.options.subresource
    found = [one async for one in chosen_objects(at, words, failures, subresource)]
    failures.finish()
    path = new_file(f".{at.options.output}")
    editing = _Editing(at, path, found)
    try:
        await editing.run()
    except CommandFailed:
        if editing.tried:
            at.screen.warn(f"Your text is kept in {path}")
            raise
        path.unlink(missing_ok=True)
        raise
    path.unlink(missing_ok=True)
    return 0


class _Editing:
    """The loop of editing and saving, until all objects are saved or the user stops."""

    def __init__(self, at: Invocation, path: Path, objects: list[ResolvedObject]) -> None:
        self._at = at
        self._path = path
        self._objects = [one._replace(value=shown(one.value)) for one in objects]
        self._as_json = at.options.output == "json"
        self.tried = False  # whether the user has changed the text

    async def run(self) -> None:
        """Raises CommandFailed; if `tried` is set, the file holds the user's text and must be
        kept."""
        text = text_of([one.value for one in self._objects], self._as_json)
        while True:
            after = await edited(self._path, text)
            if not without_comments(after).strip():
                self._at.screen.warn("Nothing was saved: the file is empty.")
                return
            if without_comments(after) == without_comments(text):
                if not self.tried:
                    self._at.screen.warn(_NO_CHANGES)
                    return
                raise CommandError(_NOT_SAVED)
            self.tried = True
            problems = await self._saved(after)
            if not problems:
                return
            text = commented(problems, without_comments(after))

    async def _saved(self, text: str) -> list[str]:
        """Save the objects of the text; return the problems of invalid objects. Saved objects are
        not sent again."""
        try:
            values = self._matched(values_of(text))
        except ManifestError as error:
            said = str(error).removeprefix("error: ")
            return [f"this cannot be read: {said}"]
        except CommandError as error:
            return [str(error)]
        problems: list[str] = []
        for place, (one, value) in enumerate(zip(self._objects, values, strict=True)):
            try:
                self._objects[place] = await self._save_one(one, value)
            except (Invalid, BadRequest) as error:
                problems.append(_refused(one, error))
            except ApiError as error:
                again = f"To send it again: fairlead replace -f {self._path}"
                raise CommandFailed(f"{worded(error)}\n{again}") from None
        return problems

    def _matched(self, values: list[Object]) -> list[Object]:
        """The edited values in the order of the objects; raises Mistake if an identity changed."""
        by_identity = {_identity(value): value for value in values}
        wanted = [_identity(one.value) for one in self._objects]
        if len(values) != len(wanted) or set(by_identity) != set(wanted):
            raise CommandError(_RENAMED)
        return [by_identity[one] for one in wanted]

    async def _save_one(self, one: ResolvedObject, value: Object) -> ResolvedObject:
        struct = type_of(await self._at.client.discovery.dialect(), one.resource.type)
        patch = patch_of(struct, one.value, value)
        name = named(one.resource.type, one.name)
        if not patch:
            self._at.screen.print(f"{name} skipped")
            return one
        query = write_query(self._at.options)
        await save(one, struct, patch, self._at.options.subresource, query)
        self._at.screen.print(f"{name} edited")
        # The next attempt computes its patch from the saved value.
        return one._replace(value=value)


def _identity(value: Object) -> tuple[str, str, str, str]:
    metadata = value.get("metadata") or {}
    return (
        str(value.get("apiVersion")),
        str(value.get("kind")),
        str(metadata.get("namespace") or ""),
        str(metadata.get("name") or ""),
    )


def _refused(one: ResolvedObject, error: ApiError) -> str:
    lines = [
        f"* {cause.get('field', '')}: {cause.get('message', '')}" for cause in error.causes
    ] or [error.message]
    listed = "\n".join(dict.fromkeys(lines))
    return f'{one.resource.type.qualified} "{one.name}" was not valid:\n{listed}'
