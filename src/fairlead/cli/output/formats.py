"""The flag `-o` of commands that change objects, and what they print."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.errors import UsageError
from fairlead.cli.invocation import Invocation
from fairlead.cli.output import documents
from fairlead.client import ResourceType

FORMATS = ("json", "yaml", "name")


def add_output_flag(parser: ArgumentReader) -> None:
    parser.add_argument(
        "-o", "--output", metavar="FORMAT", default="", help=f"one of {', '.join(FORMATS)}"
    )
    parser.add_switch("--show-managed-fields", help="show who owns which fields in json and yaml")


def check_output(at: Invocation) -> None:
    """Raises UsageError for a format that there is not, before anything is changed."""
    if at.options.output and at.options.output not in FORMATS:
        raise UsageError(unknown_format(at.options.output))


def show_result(
    at: Invocation, type: ResourceType, value: Mapping[str, Any], done: str, note: str = ""
) -> None:
    """Tell what was done with an object, or show it as `-o` asks; raises UsageError."""
    name = named(type, (value.get("metadata") or {}).get("name", ""))
    wanted = at.options.output
    if not wanted:
        at.screen.print(f"{name} {done}{note}")
    elif wanted == "name":
        at.screen.print(name)
    else:
        show_document(at, without_managers(at, value))


def show_document(at: Invocation, value: Mapping[str, Any]) -> None:
    """An object, or a list of them, as JSON or YAML; raises UsageError."""
    if at.options.output == "json":
        at.screen.print(documents.as_json(value))
    elif at.options.output == "yaml":
        at.screen.print_document(documents.as_yaml(value))
    else:
        raise UsageError(unknown_format(at.options.output))


def without_managers(at: Invocation, value: Mapping[str, Any]) -> Mapping[str, Any]:
    """What is shown of an object: who owns its fields only if that is asked for."""
    metadata = value.get("metadata") or {}
    if getattr(at.options, "show_managed_fields", False) or "managedFields" not in metadata:
        return value
    rest = {name: item for name, item in metadata.items() if name != "managedFields"}
    return {**value, "metadata": rest}


def unknown_format(wanted: str) -> str:
    return (
        f'unable to match a printer suitable for the output format "{wanted}", allowed formats'
        f" are: {','.join(FORMATS)}"
    )


def named(type: ResourceType, name: str) -> str:
    """An object as messages name it: deployment.apps/web."""
    return f"{singular(type)}/{name}"


def singular(type: ResourceType) -> str:
    return f"{type.singular}.{type.group}" if type.group else type.singular
