"""Resources that require a quota: the configuration of the plugin."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from fairlead.admission.plugins.resource_quota.scopes import Scopes, Selector, selectors
from fairlead.admission.plugins.resource_quota.usage import Usage
from fairlead.codec.configuration_files import Section
from fairlead.resources.core import resource_quotas

_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")


class Limited(NamedTuple):
    """A resource, the substrings of resource names that are limited for it, and the limited
    scopes."""

    group: str
    resource: str
    parts: tuple[str, ...]
    selectors: tuple[Selector, ...]


def read_limited(section: Section | None) -> tuple[Limited, ...]:
    """Parse the plugin's configuration; raises ConfigurationError."""
    if section is None:
        return ()
    limited = []
    for index, entry in enumerate(section.value.get("limitedResources") or ()):
        path = f"limitedResources[{index}]"
        if not entry.get("resource"):
            raise section.error(f"{path}.resource", "is required")
        for position, match in enumerate(entry.get("matchScopes") or ()):
            _check(
                section, f"{path}.matchScopes[{position}]", match["scopeName"], match["operator"]
            )
        limited.append(
            Limited(
                entry.get("apiGroup", ""),
                entry["resource"],
                tuple(entry.get("matchContains") or ()),
                tuple(selectors(entry.get("matchScopes") or ())),
            )
        )
    return tuple(limited)


def _check(section: Section, path: str, scope: str, operator: str) -> None:
    if scope not in resource_quotas.SCOPES:
        raise section.error(f"{path}.scopeName", f'unknown scope "{scope}"')
    if operator not in _OPERATORS:
        raise section.error(f"{path}.operator", f'unknown operator "{operator}"')


def limited_names(limited: Iterable[Limited], usage: Usage) -> Iterator[str]:
    """The limited names among an object's usage."""
    for entry in limited:
        for name, used in usage.items():
            if used.value > 0 and any(part in name for part in entry.parts):
                yield name


def limited_scopes(limited: Iterable[Limited], scopes: Scopes | None) -> Iterator[Selector]:
    """The limited scopes that match an object."""
    if scopes is not None:
        for entry in limited:
            yield from (selector for selector in entry.selectors if scopes.match(selector))
