"""The configuration of PodSecurity: defaults and exemptions."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from fairlead.admission.plugins.pod_security.levels import (
    LEVELS,
    WRONG_LEVEL,
    WRONG_VERSION,
    Policy,
    Standard,
    minor_of,
)
from fairlead.codec.configuration_files import Section
from fairlead.codec.types.names import dns_label, dns_subdomain


class Settings(NamedTuple):
    """The default policy of namespaces without labels, and the exemptions from all policies."""

    defaults: Policy = Policy()
    usernames: frozenset[str] = frozenset()
    namespaces: frozenset[str] = frozenset()
    runtime_classes: frozenset[str] = frozenset()


def settings_of(section: Section | None) -> Settings:
    """Parse the plugin's configuration; raises ConfigurationError."""
    if section is None:
        return Settings()
    return Settings(
        _defaults(section),
        _exempt(section, "usernames", _user_name_faults),
        _exempt(section, "namespaces", dns_label),
        _exempt(section, "runtimeClasses", dns_subdomain),
    )


def _defaults(section: Section) -> Policy:
    defaults = section.value.get("defaults") or {}
    standards = []
    for mode in Policy._fields:
        level, version = defaults.get(mode), defaults.get(f"{mode}-version")
        if level and level not in LEVELS:
            raise section.error(f"defaults.{mode}", WRONG_LEVEL)
        minor = minor_of(version) if version else Standard().minor
        if minor is None:
            raise section.error(f"defaults.{mode}-version", WRONG_VERSION)
        standards.append(Standard(level or Standard().level, minor))
    return Policy(*standards)


def _exempt(section: Section, field: str, faults: Callable[[str], list[str]]) -> frozenset[str]:
    names: list[str] = (section.value.get("exemptions") or {}).get(field) or []
    seen: set[str] = set()
    for index, name in enumerate(names):
        errors = faults(name)
        if name in seen:
            errors = [f'"{name}" occurs twice']
        if errors:
            raise section.error(f"exemptions.{field}[{index}]", errors[0])
        seen.add(name)
    return frozenset(seen)


def _user_name_faults(name: str) -> list[str]:
    return [] if name else ["username must not be empty"]
