"""`edit`: changes objects in an editor."""

from __future__ import annotations

import asyncio
import os
import shlex
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson

from fairlead.base.terminal import printable
from fairlead.cli.apply.changes import changes, patch_type, type_of
from fairlead.cli.apply.last_applied import annotation_of, recorded
from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.error_messages import error_text
from fairlead.cli.errors import CommandError, CommandFailed
from fairlead.cli.file_flags import add_file_flags
from fairlead.cli.invocation import Invocation
from fairlead.cli.manifests import Manifest, ManifestError, Object, parsed
from fairlead.cli.output import documents
from fairlead.cli.output.documents import without
from fairlead.cli.output.formats import named
from fairlead.cli.resolution import ResolvedObject
from fairlead.cli.selection import check_choice, select_objects
from fairlead.cli.write_options import (
    Failures,
    add_manager_flag,
    add_validation_flag,
    check_subresource,
    write_query,
)
from fairlead.client import ApiError
from fairlead.client.errors import BadRequest, Conflict, Invalid, error_of_status
from fairlead.codec.types.model import Struct

_NO_CHANGES = "Edit cancelled, no changes made."
_NOT_SAVED = "Nothing was saved: the file was left as it was refused."
_RENAMED = "apiVersion, kind and name say which object it is: they cannot be changed here"
_FORMATS = ("yaml", "json")
_VARIABLES = ("KUBE_EDITOR", "EDITOR")
_DEFAULT_EDITOR = "vi"
_HEAD = """\
The saved text replaces the object. Lines that begin with # are ignored.
Save an empty file to change nothing. If the server refuses what you saved,
you get it back, with the reasons up here.
"""
_MAX_ATTEMPTS = 5
_EDITED = "the edited file"
_SHOWN_AS_IS = ("managedFields",)


def add_flags(parser: ArgumentReader) -> None:
    parser.add_argument("words", metavar="KIND NAME...", nargs="*")
    add_file_flags(parser, "edit")
    add_validation_flag(parser)
    add_manager_flag(parser, "fairlead-edit")
    parser.add_argument("-o", "--output", metavar="FORMAT", default="yaml", help="yaml or json")
    parser.add_argument("--subresource", metavar="NAME", default="", help="status")
    parser.add_switch("--output-patch", help="print the patch that is sent")
    parser.add_switch(
        "--save-config", help="save the configuration in an annotation, for apply --client-side"
    )
    parser.add_without_effect("--show-managed-fields", "--windows-line-endings")
    parser.set_defaults(all=False, all_namespaces=False, selector="", field_selector="")
    parser.set_defaults(dry_run="none")


async def run(invocation: Invocation) -> int:
    if invocation.options.output not in _FORMATS:
        raise CommandError(f"-o takes {' or '.join(_FORMATS)}")
    check_choice(invocation, invocation.options.words)
    check_subresource(invocation.options, ("status",))
    failures = Failures()
    words, subresource = invocation.options.words, invocation.options.subresource
    objects = [
        resolved async for resolved in select_objects(invocation, words, failures, subresource)
    ]
    failures.finish()
    path = new_file(f".{invocation.options.output}")
    editing = _Editing(invocation, path, objects)
    try:
        await editing.run()
    except CommandFailed:
        if editing.tried:
            invocation.screen.warn(f"Your text is kept in {path}")
            raise
        path.unlink(missing_ok=True)
        raise
    path.unlink(missing_ok=True)
    return 0


class _Editing:
    """The loop of editing and saving, until all objects are saved or the user stops."""

    def __init__(self, invocation: Invocation, path: Path, objects: list[ResolvedObject]) -> None:
        self._invocation = invocation
        self._path = path
        self._objects = [resolved._replace(value=editable(resolved.value)) for resolved in objects]
        self._as_json = invocation.options.output == "json"
        self.tried = False  # whether the user has changed the text

    async def run(self) -> None:
        """Raises CommandFailed; if `tried` is set, the file holds the user's text and must be
        kept."""
        text = text_of([resolved.value for resolved in self._objects], self._as_json)
        while True:
            after = await edit_text(self._path, text)
            if not without_comments(after).strip():
                self._invocation.screen.warn("Nothing was saved: the file is empty.")
                return
            if without_comments(after) == without_comments(text):
                if not self.tried:
                    self._invocation.screen.warn(_NO_CHANGES)
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
            message = str(error).removeprefix("error: ")
            return [f"this cannot be read: {message}"]
        except CommandError as error:
            return [str(error)]
        problems: list[str] = []
        for index, (resolved, value) in enumerate(zip(self._objects, values, strict=True)):
            try:
                self._objects[index] = await self._save_one(resolved, value)
            except (Invalid, BadRequest) as error:
                problems.append(_refused(resolved, error))
            except ApiError as error:
                again = f"To send it again: fairlead replace -f {self._path}"
                raise CommandFailed(f"{error_text(error)}\n{again}") from None
        return problems

    def _matched(self, values: list[Object]) -> list[Object]:
        """The edited values in the order of the objects; raises CommandError if an identity
        changed."""
        by_identity = {_identity(value): value for value in values}
        identities = [_identity(resolved.value) for resolved in self._objects]
        if len(values) != len(identities) or set(by_identity) != set(identities):
            raise CommandError(_RENAMED)
        return [by_identity[identity] for identity in identities]

    async def _save_one(self, resolved: ResolvedObject, value: Object) -> ResolvedObject:
        struct = type_of(await self._invocation.client.discovery.dialect(), resolved.resource.type)
        patch = patch_of(struct, resolved.value, value)
        name = named(resolved.resource.type, resolved.name)
        if not patch:
            self._invocation.screen.print(f"{name} skipped")
            return resolved
        options = self._invocation.options
        if options.save_config:
            annotation = annotation_of(await self._invocation.client.discovery.dialect())
            value = recorded(value, annotation)
            patch = patch_of(struct, resolved.value, value)
        if options.output_patch:
            self._invocation.screen.print(f"Patch: {printable(orjson.dumps(patch).decode())}")
        query = write_query(options)
        await save(resolved, struct, patch, self._invocation.options.subresource, query)
        self._invocation.screen.print(f"{name} edited")
        # The next attempt computes its patch from the saved value.
        return resolved._replace(value=value)


def _identity(value: Object) -> tuple[str, str, str, str]:
    metadata = value.get("metadata") or {}
    return (
        str(value.get("apiVersion")),
        str(value.get("kind")),
        str(metadata.get("namespace") or ""),
        str(metadata.get("name") or ""),
    )


def _refused(resolved: ResolvedObject, error: ApiError) -> str:
    lines = [
        f"* {cause.get('field', '')}: {cause.get('message', '')}" for cause in error.causes
    ] or [error.message]
    listed = "\n".join(dict.fromkeys(lines))
    return f'{resolved.resource.type.qualified} "{resolved.name}" was not valid:\n{listed}'


# Runs the user's editor on a temporary file that only the user can read.


def new_file(ending: str) -> Path:
    handle, name = tempfile.mkstemp(prefix="fairlead-edit-", suffix=ending)
    os.close(handle)
    return Path(name)


async def edit_text(path: Path, text: str) -> str:
    """The text after editing; raises CommandError."""
    command = next(
        (os.environ[name] for name in _VARIABLES if os.environ.get(name)), _DEFAULT_EDITOR
    )
    await asyncio.to_thread(path.write_text, text)
    try:
        process = await asyncio.create_subprocess_exec(*shlex.split(command), str(path))
    except (OSError, ValueError) as error:
        raise CommandError(f"the editor does not start: {command}: {error}") from None
    if await process.wait():
        raise CommandError(f"the editor failed: {command}")
    try:
        return await asyncio.to_thread(path.read_text)
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"the edited file cannot be read: {error}") from None


async def edited(manifests: Sequence[Manifest]) -> list[Manifest]:
    """The objects after the user has edited them; none of them if nothing is left. Raises
    CommandError."""
    path = new_file(".yaml")
    try:
        text = text_of([manifest.value for manifest in manifests], as_json=False)
        return [Manifest(value, _EDITED) for value in values_of(await edit_text(path, text))]
    finally:
        path.unlink(missing_ok=True)


# The text format of the editor.


def text_of(values: Sequence[Object], as_json: bool) -> str:
    """A single object as it is, several as a List."""
    listed = {"apiVersion": "v1", "items": [*values], "kind": "List", "metadata": {}}
    value = values[0] if len(values) == 1 else listed
    body = documents.as_json(value) if as_json else documents.as_yaml(value)
    return commented([], body)


def commented(problems: Sequence[str], body: str, head: str = _HEAD) -> str:
    """The body below the instructions and the problems of the last attempt, as comments."""
    texts = (head, *map(printable, problems))
    lines = [line for text in texts for line in (*text.splitlines(), "")]
    head = "".join(f"# {line}".rstrip() + "\n" for line in lines)
    return f"{head}{body.rstrip()}\n"


def without_comments(text: str) -> str:
    return "".join(line for line in text.splitlines(True) if not line.startswith("#"))


def values_of(text: str) -> list[Object]:
    """The objects in the edited text; raises ManifestError."""
    return [manifest.value for manifest in parsed(without_comments(text), _EDITED)]


# Saves edited objects: sends only the edited fields, and raises a conflict if another client
# changed the same fields meanwhile.


def editable(value: Object) -> Object:
    """The object as it is shown in the editor."""
    return without(value, _SHOWN_AS_IS)


def patch_of(struct: Struct | None, before: Object, after: Object) -> Object:
    """The patch of the edit; empty if nothing changed."""
    return changes(struct, before, after, before)


async def save(
    resolved: ResolvedObject,
    struct: Struct | None,
    patch: Object,
    subresource: str,
    query: dict[str, Any],
) -> Object:
    """Send the patch with the current resourceVersion; up to 5 attempts. Raises Conflict if another
    client changed the same fields since the object was shown, and ApiError."""
    for _ in range(_MAX_ATTEMPTS):
        live = await resolved.resource.get(
            resolved.name, resolved.namespace, subresource=subresource
        )
        if _overlap(patch, _changes_of_others(struct, resolved.value, live)):
            break
        metadata = {"resourceVersion": live["metadata"]["resourceVersion"]}
        metadata |= patch.get("metadata") or {}
        try:
            return await resolved.resource.patch(
                resolved.name,
                {**patch, "metadata": metadata},
                resolved.namespace,
                type=patch_type(struct),
                subresource=subresource,
                **query,
            )
        except Conflict:
            continue
    raise _conflict(resolved)


def _changes_of_others(struct: Struct | None, before: Object, live: Object) -> Object:
    sides = [without(side) for side in (before, live)]
    return changes(struct, sides[0], sides[1], sides[0])


def _overlap(first: Any, other: Any) -> bool:
    """Whether two patches touch the same field. A list counts as one field."""
    if not isinstance(first, dict) or not isinstance(other, dict):
        return True
    return any(key in other and _overlap(value, other[key]) for key, value in first.items())


def _conflict(resolved: ResolvedObject) -> Conflict:
    name = resolved.resource.type.qualified
    error = error_of_status(
        {
            "code": 409,
            "reason": "Conflict",
            "message": f'{name} "{resolved.name}" was changed meanwhile,'
            " in fields that you changed",
        }
    )
    assert isinstance(error, Conflict)
    return error
