"""The flag `-o` of commands that change objects or print one document, and the output of their
results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fairlead.base.terminal import printable
from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.errors import CommandError, UsageError
from fairlead.cli.invocation import Invocation
from fairlead.cli.output import documents, flags, printers
from fairlead.cli.output.flags import add_template_flags, choice_of
from fairlead.client import ResourceType

if TYPE_CHECKING:
    from fairlead.cli.output.printers import Printer

_TABLES = ("wide", "custom-columns", "custom-columns-file")
FORMATS = tuple(name for name in flags.FORMATS if name not in _TABLES)
_SHAPES = {"json": documents.as_json, "yaml": documents.as_yaml}


def add_output_flag(parser: ArgumentReader) -> None:
    parser.add_argument(
        "-o", "--output", metavar="FORMAT", default="", help=f"one of {', '.join(FORMATS)}"
    )
    parser.add_switch("--show-managed-fields", help="include managedFields in json and yaml")
    add_template_flags(parser)


def check_output(invocation: Invocation) -> None:
    """Raises CommandFailed for an unknown format, before anything is changed."""
    output = invocation.options.output
    if output.partition("=")[0] in _TABLES:
        raise CommandError(f"-o {output} is not possible here, only {', '.join(FORMATS)}")
    if output or getattr(invocation.options, "template", ""):
        _printer(invocation)


def show_result(
    invocation: Invocation,
    type: ResourceType,
    value: Mapping[str, Any],
    action: str,
    note: str = "",
) -> None:
    """Print what was done with an object, or the object in the format of `-o`; raises
    CommandFailed."""
    name = named(type, (value.get("metadata") or {}).get("name", ""))
    output = invocation.options.output
    if not output and not getattr(invocation.options, "template", ""):
        invocation.screen.print(f"{name} {action}{note}")
    elif output == "name":
        invocation.screen.print(name)
    else:
        show_document(invocation, value)


def show_document(invocation: Invocation, value: Mapping[str, Any]) -> None:
    """Print an object or list in the format of `-o`, without managedFields unless requested; raises
    CommandFailed."""
    invocation.screen.out.write(_printer(invocation)(dict(value)))


def _printer(invocation: Invocation) -> Printer:
    """The printer of the command. Shared, because it separates its documents."""
    options = invocation.options
    printer: Printer | None = getattr(options, "printer", None)
    if printer is None:
        printer = options.printer = printers.printer_for(choice_of(options))
    return printer


def named(type: ResourceType, name: str) -> str:
    """The name of an object in messages: deployment.apps/web."""
    return printable(f"{singular(type)}/{name}")


def singular(type: ResourceType) -> str:
    return f"{type.singular}.{type.group}" if type.group else type.singular


# The flag `-o` of commands that print a table, or one document as JSON or YAML.


def add_document_flag(parser: ArgumentReader) -> None:
    parser.add_argument(
        "-o", "--output", metavar="FORMAT", default="", help=f"one of {', '.join(_SHAPES)}"
    )


def wants_document(invocation: Invocation) -> bool:
    """Whether a document is requested; raises UsageError for an unknown format."""
    output = invocation.options.output
    if output and output not in _SHAPES:
        raise UsageError(f"-o {output} is not possible here, only {', '.join(_SHAPES)}")
    return bool(output)


def print_document(invocation: Invocation, value: Any) -> None:
    invocation.screen.print(_SHAPES[invocation.options.output](value))
