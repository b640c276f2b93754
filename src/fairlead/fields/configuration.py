"""Whether a configuration can be applied at all, and what the client is told when it cannot."""

from __future__ import annotations

from fairlead.codec.types.model import Object as Object
from fairlead.codec.types.model import Struct
from fairlead.fields.check import explained, fits, problems
from fairlead.fields.conflicts import BadConfiguration, InvalidConfiguration
from fairlead.fields.entries import entries_of


def check_configuration(struct: Struct, config: Object, api_version: str) -> None:
    """Raises `BadConfiguration` for one that is not for this request, or not one to apply, and
    `InvalidConfiguration` for one that is not of its type; whether its list items can be told apart
    is left to `check_items`, when it is found that some cannot."""
    given = config.get("apiVersion")
    if given != api_version:
        if not isinstance(given, str) or given.count("/") > 1:
            given = ""  # what is no version is shown as none
        raise BadConfiguration(
            "Incorrect version specified in apply patch."
            f" Specified patch version: {given}, expected: {api_version}"
        )
    metadata = config.get("metadata")
    if isinstance(metadata, dict) and metadata.get("managedFields") is not None:
        raise BadConfiguration("metadata.managedFields must be nil")
    if not fits(struct, config):
        check_items(struct, config)


def check_items(struct: Struct, config: Object) -> None:
    """Raises `InvalidConfiguration` for whatever is wrong with a configuration."""
    found = problems(struct, config)
    if found:
        raise InvalidConfiguration(
            f"failed to create typed patch object ({_named(config)}): {explained(found)}"
        )


def untrackable(struct: Struct, live: Object) -> InvalidConfiguration:
    """The refusal to apply to an object that has list items that cannot be told apart."""
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
