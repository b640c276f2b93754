"""The verbosity of the log: that of `-v`, or the number in `--verbosity-file`, which may change
while the server runs."""

from __future__ import annotations

import argparse
from pathlib import Path

from fairlead.api.app import Application
from fairlead.api.request_log import log_operation, log_request
from fairlead.base.files import NotReloaded, Reloadable
from fairlead.base.logs import set_level
from fairlead.operations.api import Api

FLAG = "--verbosity-file"
_MAX_BYTES = 20


class VerbosityError(ValueError):
    """The file holds no verbosity; the text names it."""


def read_verbosity(path: Path) -> int:
    """Raises VerbosityError."""
    try:
        with path.open("rb") as file:
            text = file.read(_MAX_BYTES)
    except OSError as error:
        raise VerbosityError(f"{FLAG}: cannot read {path}: {error.strerror}") from None
    if not text.strip().isdigit():
        raise VerbosityError(f"{FLAG}: {path} holds no number such as 0, 1 or 2")
    return int(text)


def choose_verbosity(options: argparse.Namespace) -> None:
    """Put the verbosity of the file, if there is one, into the options. Raises VerbosityError."""
    if options.verbosity_file is not None:
        options.verbosity = read_verbosity(options.verbosity_file)


def reloadable_verbosity(
    options: argparse.Namespace, api: Api, application: Application
) -> list[Reloadable]:
    async def read_again() -> bool:
        try:
            new = read_verbosity(options.verbosity_file)
        except VerbosityError as error:
            raise NotReloaded(str(error)) from None
        is_new: bool = new != options.verbosity
        if is_new:
            options.verbosity = new
            set_level(new)
            log_requests(new, api, application)
        return is_new

    return [Reloadable(FLAG, read_again)] if options.verbosity_file is not None else []


def log_requests(verbosity: int, api: Api, application: Application) -> None:
    """Begin or stop to log a line for each request and each operation of the server's own parts."""
    application.observer.log_with(log_request if verbosity else None)
    if log_operation in api.observers:
        api.observers.remove(log_operation)
    if verbosity:
        api.observers.append(log_operation)
