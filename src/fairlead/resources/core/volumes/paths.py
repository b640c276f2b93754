"""Rules of the paths in volume sources and mounts."""

from __future__ import annotations

from fairlead.resources.causes import Causes

MODE_ERROR = "must be a number between 0 and 0777 (octal), both inclusive"


def has_backsteps(path: str) -> bool:
    return ".." in path and ".." in path.split("/")


def no_backsteps(value: str, path: str, causes: Causes) -> None:
    if has_backsteps(value):
        causes.invalid(path, value, "must not contain '..'")


def descending_path(value: str, path: str, causes: Causes) -> None:
    """Check a relative path without `..`."""
    if value.startswith("/"):
        causes.invalid(path, value, "must be a relative path")
    no_backsteps(value, path, causes)


def file_path(value: str, path: str, causes: Causes) -> None:
    """Check a relative path that is not a reserved name: those start with two dots."""
    descending_path(value, path, causes)
    if value.startswith("..") and not value.startswith("../"):
        causes.invalid(path, value, "must not start with '..'")


def file_mode(value: int | None, path: str, causes: Causes) -> None:
    if value is not None and not 0 <= value <= 0o777:
        causes.invalid(path, value, MODE_ERROR)
