"""The objects that a command is to change: by words, files or labels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.errors import CommandFailed, UsageError
from fairlead.cli.invocation import Invocation
from fairlead.cli.manifests import add_file_flags, manifests
from fairlead.cli.refusals import worded
from fairlead.cli.screen import printable
from fairlead.cli.targets import targets_of
from fairlead.client import ApiError, Resource

Object = dict[str, Any]


class Chosen(NamedTuple):
    """An object as it is on the server."""

    resource: Resource
    value: Object

    @property
    def name(self) -> str:
        return str(self.value["metadata"]["name"])

    @property
    def namespace(self) -> str:
        return str(self.value["metadata"].get("namespace") or "")

    @property
    def shown(self) -> str:
        """As results name it: deployment.apps/web."""
        type = self.resource.type
        group = f".{type.group}" if type.group else ""
        return f"{type.singular}{group}/{self.name}"


@dataclass(slots=True)
class Choice:
    """What was found, and what went wrong with the others or is going wrong with these."""

    found: list[Chosen] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def failed(self, error: Exception) -> None:
        self.errors.append(worded(error))

    def end(self, at: Invocation) -> int:
        """Tell the errors; gives the exit code."""
        at.screen.flush()
        for error in self.errors:
            at.screen.warn(printable(error))
        return 1 if self.errors else 0


def add_choosing_flags(parser: ArgumentReader, what: str) -> None:
    parser.add_argument("words", metavar="KIND [NAME...] | KIND/NAME...", nargs="*")
    add_file_flags(parser, what)
    parser.add_argument("-l", "--selector", metavar="LABELS", help="only objects with these labels")


async def chosen(at: Invocation, *, all_unless_named: bool = False) -> Choice:
    """Those that the flags of `add_choosing_flags` name; raises UsageError, ManifestError,
    UnknownResource. Where no names are given either all are meant, or labels have to say which."""
    choice = Choice()
    options = at.options
    if options.filename:
        await _of_files(at, choice)
    elif options.words:
        await _of_words(at, choice, all_unless_named)
    else:
        raise UsageError("You must provide one or more resources by argument or filename.")
    return choice


async def _of_words(at: Invocation, choice: Choice, all_unless_named: bool) -> None:
    selector = at.options.selector
    for resource, names in await targets_of(at.client, at.options.words):
        if names and selector:
            raise UsageError("name cannot be provided when a selector is specified")
        for name in names:
            await _add(choice, resource, name, at.namespace)
        if names:
            continue
        if not selector and not all_unless_named:
            raise CommandFailed("error: resource(s) were provided, but no name was specified")
        query = {"labelSelector": selector} if selector else {}
        for value in (await resource.list(at.namespace, **query))["items"]:
            choice.found.append(Chosen(resource, value))


async def _of_files(at: Invocation, choice: Choice) -> None:
    if at.options.words:
        raise UsageError(
            "when paths, URLs, or stdin is provided as resource input, you may not"
            " specify resource arguments as well"
        )
    for value, _ in manifests(at.options.filename, at.options.recursive):
        resource = await at.client.resource_of(value)
        said = value.get("metadata") or {}
        namespace = said.get("namespace") or at.namespace
        if at.options.namespace and namespace != at.namespace:
            raise CommandFailed(
                f'error: the namespace from the provided object "{namespace}" does not match the'
                f" namespace \"{at.namespace}\". You must pass '--namespace={namespace}' to perform"
                " this operation."
            )
        if not said.get("name"):
            raise CommandFailed("error: resource name may not be empty")
        await _add(choice, resource, said["name"], namespace)


async def _add(choice: Choice, resource: Resource, name: str, namespace: str) -> None:
    try:
        choice.found.append(Chosen(resource, await resource.get(name, namespace)))
    except ApiError as error:
        choice.failed(error)
