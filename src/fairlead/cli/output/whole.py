"""The flag `-o` of commands that print a table, or one document as JSON or YAML."""

from __future__ import annotations

from typing import Any

from fairlead.cli.arguments import ArgumentReader
from fairlead.cli.errors import UsageError
from fairlead.cli.invocation import Invocation
from fairlead.cli.output import documents

_SHAPES = {"json": documents.as_json, "yaml": documents.as_yaml}


def add_document_flag(parser: ArgumentReader) -> None:
    parser.add_argument(
        "-o", "--output", metavar="FORMAT", default="", help=f"one of {', '.join(_SHAPES)}"
    )


def wants_document(at: Invocation) -> bool:
    """Whether a document is requested; raises UsageError for an unknown format."""
    wanted = at.options.output
    if wanted and wanted not in _SHAPES:
        raise UsageError(f"-o {wanted} is not possible here, only {', '.join(_SHAPES)}")
    return bool(wanted)


def show_document(at: Invocation, value: Any) -> None:
    at.screen.print(_SHAPES[at.options.output](value))
