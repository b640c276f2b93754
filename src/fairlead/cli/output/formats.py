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


def show_result(
    at: Invocation, type: ResourceType, value: Mapping[str, Any], done: str, note: str = ""
) -> None:
    """Tell what was done with an object, or show it as `-o` asks; raises UsageError."""
    name = f"{_singular(type)}/{value['metadata'].get('name', '')}"
    wanted = at.options.output
    if not wanted:
        at.screen.print(f"{name} {done}{note}")
    elif wanted == "name":
        at.screen.print(name)
    elif wanted == "json":
        at.screen.print(documents.as_json(value))
    elif wanted == "yaml":
        at.screen.print(documents.as_yaml(value))
    else:
        raise UsageError(unknown_format(wanted))


def unknown_format(wanted: str) -> str:
    return (
        f'unable to match a printer suitable for the output format "{wanted}", allowed formats'
        f" are: {','.join(FORMATS)}"
    )


def _singular(type: ResourceType) -> str:
    return f"{type.singular}.{type.group}" if type.group else type.singular
