"""Checks whether a configuration can be applied, and makes the error if it cannot."""

from __future__ import annotations

from fairlead.codec.types.model import Object as Object
from fairlead.codec.types.model import Struct
from fairlead.fields.check import explained, problems
from fairlead.fields.conflicts import BadConfiguration, InvalidConfiguration
from fairlead.fields.entries import entries_of


def check_configuration(struct: Struct, config: Object, api_version: str) -> None:
    """Raise `BadConfiguration` if the version is wrong or `managedFields` is set, and
    `InvalidConfiguration` if the configuration does not match its type."""
    given = config.get("apiVersion")
    if given != api_version:
        if not isinstance(given, str) or given.count("/") > 1:
            given = ""  # a malformed version is shown as empty
        raise BadConfiguration(
            "Incorrect version specified in apply patch."
            f" Specified patch version: {given}, expected: {api_version}"
        )
    metadata = config.get("metadata")
    if isinstance(metadata, dict) and metadata.get("managedFields") is not None:
        raise BadConfiguration("metadata.managedFields must be nil")
    check_type(struct, config)


def check_type(struct: Struct, config: Object) -> None:
    """Raise `InvalidConfiguration` with all problems of a configuration, if it has any."""
    found = problems(struct, config)
    if found:
        raise InvalidConfiguration(
            f"failed to create typed patch object ({_named(config)}): {explained(found)}"
        )


def untrackable(struct: Struct, live: Object) -> InvalidConfiguration:
    """The error for applying to an object that has list items without unique keys."""
    why = explained(problems(struct, live) or ["list items cannot be told apart"])
    if entries_of(live):
        return InvalidConfiguration(f"failed to create typed live object ({_named(live)}): {why}")
    return InvalidConfiguration(
        "failed to create manager for existing fields:"
        f" failed to convert new object ({_named(live)}) to smd typed: {why}"
    )


def _named(value: Object) -> str:
    metadata = value.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    group, _, version = str(value.get("apiVersion", "")).rpartition("/")
    return (
        f"{metadata.get('namespace') or ''}/{metadata.get('name') or ''};"
        f" {group}/{version}, Kind={value.get('kind', '')}"
    )
