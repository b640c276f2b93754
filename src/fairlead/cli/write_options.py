"""Shared by commands that change objects: flags, query parameters, and errors of single objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairlead.cli.arguments import ArgumentReader, Options
from fairlead.cli.error_messages import error_text
from fairlead.cli.errors import CommandError, CommandFailed, UsageError
from fairlead.client import AccessError, ApiError, UnknownKind, UnknownResource, Unreachable
from fairlead.client.errors import NotFound, error_of_status
from fairlead.client.resources import InvalidName
from fairlead.codec.types.durations import DurationError, parse_duration

MANAGER = "fairlead"
# Errors that can concern one object. After an access or connection error, the remaining objects are
# not tried.
_AT_AN_END = (AccessError, Unreachable)
EXPECTED = (ApiError, InvalidName, UnknownKind, UnknownResource, *_AT_AN_END)

_NOTES = {"none": "", "client": " (dry run)", "server": " (server dry run)"}
_OLD_DRY_RUNS = {"unchanged": "client", "true": "client", "false": "none"}
_VALIDATIONS = {
    **dict.fromkeys(("strict", "true"), "Strict"),
    "warn": "Warn",
    **dict.fromkeys(("ignore", "false"), "Ignore"),
}


def add_dry_run_flag(parser: ArgumentReader) -> None:
    parser.add_choice(
        "--dry-run",
        bare="unchanged",
        metavar="=none|client|server",
        default="none",
        help="print what would be done: client sends no request, server does"
        " everything but storing",
    )


def add_manager_flag(parser: ArgumentReader, default: str) -> None:
    parser.add_argument(
        "--field-manager",
        metavar="NAME",
        default=default,
        help="field manager that owns the written fields",
    )


def add_validation_flag(parser: ArgumentReader) -> None:
    parser.add_choice(
        "--validate",
        bare="strict",
        metavar="=strict|warn|ignore",
        default="strict",
        help="how the server treats unknown fields",
    )


def dry_run(options: Options) -> str:
    """Return none, client or server; raises CommandError for other values."""
    if getattr(options, "local", False):
        return "client"
    mode = str(options.dry_run)
    mode = _OLD_DRY_RUNS.get(mode, mode)
    if mode not in _NOTES:
        raise CommandError(f"--dry-run={mode} is unknown: it takes none, client or server")
    return mode


def note(options: Options) -> str:
    """The note printed after the result of a dry run."""
    return "" if getattr(options, "local", False) else _NOTES[dry_run(options)]


def check_subresource(options: Options, subresources: Sequence[str] = ("status", "scale")) -> None:
    """Raises CommandError."""
    if options.subresource and options.subresource not in subresources:
        raise CommandError(
            f"--subresource={options.subresource} is not possible here,"
            f" only {', '.join(subresources)}"
        )


def write_query(options: Options) -> dict[str, Any]:
    """Query parameters of a write, from the flags; raises CommandError."""
    query: dict[str, Any] = {}
    if getattr(options, "field_manager", ""):
        query["fieldManager"] = options.field_manager
    if dry_run(options) == "server":
        query["dryRun"] = "All"
    validation = getattr(options, "validate", None)
    if validation is not None:
        if validation not in _VALIDATIONS:
            raise CommandError(
                f"--validate={validation} is unknown:"
                " it takes strict (true), warn or ignore (false)"
            )
        query["fieldValidation"] = _VALIDATIONS[validation]
    return query


def seconds_of(text: str, flag: str) -> float:
    """Parse the duration value of a flag, such as 1m30s; raises UsageError."""
    try:
        return parse_duration(text)
    except DurationError as error:
        raise UsageError(f'invalid argument "{text}" for "{flag}" flag: {error}') from None


def sourced(error: Exception, doing: str, origin: str) -> Exception:
    """The error with its source file in the message: error when creating "x.yaml": ..."""
    if not origin or isinstance(error, _AT_AN_END):
        return error
    before = f'error when {doing} "{origin}": '
    if isinstance(error, ApiError):
        status = {**error.status, "message": before + error.message}
        return error_of_status(status, error.retry_after)
    return CommandFailed(f"error: {before}{error}")


class Failures:
    """Collects the errors of single objects, to report them together at the end."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._missing: list[NotFound] = []

    def __bool__(self) -> bool:
        return bool(self._texts)

    def add(self, error: Exception) -> None:
        """Raises CommandFailed at once if the server cannot be reached."""
        if isinstance(error, NotFound):
            self._missing.append(error)
        self._texts.append(str(error) if isinstance(error, CommandFailed) else error_text(error))
        if isinstance(error, _AT_AN_END):
            self.finish()

    def finish(self) -> int:
        """Return exit code 0; raises CommandFailed with the text of all errors if there are any."""
        if self._texts:
            raise CommandFailed("\n".join(self._texts), missing=self._missing)
        return 0
