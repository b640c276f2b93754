"""`--runtime-config`: which group-versions and resources are served."""

from __future__ import annotations

from collections.abc import Iterable

from fairlead.resources.gates import parse_bool
from fairlead.resources.registry import GroupVersion, Resources

# A group-version whose kind is only sent to webhooks. Disabled unless it is named.
_SENT_ONLY = "imagepolicy.@/v1alpha1"
_STAGES = {"api/alpha": "alpha", "api/beta": "beta", "api/ga": ""}


class RuntimeConfigError(ValueError):
    """An unknown key, a value that is not a boolean, or nothing left to serve."""


def apply_runtime_config(resources: Resources, settings: Iterable[str]) -> None:
    """Remove the disabled resources. Settings apply from general to specific keys, in whatever
    order they are given."""
    pairs = [_pair(text) for setting in settings for text in setting.split(",") if text.strip()]
    if pairs == [("api/all", False)]:
        raise RuntimeConfigError("invalid key with only api/all=false")
    rank = {"api/all": 0, **dict.fromkeys(_STAGES, 1)}
    enabled = dict.fromkeys(
        (group_version.api_version for group_version in resources.group_versions()), True
    )
    sent_only = resources.dialect.group_name(_SENT_ONLY)
    enabled[sent_only] = False
    single: dict[str, set[str]] = {}
    for key, value in sorted(pairs, key=lambda pair: rank.get(pair[0], 2 + pair[0].count("/"))):
        _set(resources, enabled, single, key, value)
    for served_version in list(resources.group_versions()):
        serve = single.get(served_version.api_version)
        if serve is None:
            serve = _enabled_resources(served_version, enabled)
        for resource in list(served_version.resources.values()):
            if resource.name not in serve:
                resources.remove(resource)
    if enabled[sent_only]:
        resources.sent_only.add(sent_only)


def _pair(text: str) -> tuple[str, bool]:
    key, equals, value = text.strip().partition("=")
    enabled = parse_bool(value) if equals and value else True
    if enabled is None:
        raise RuntimeConfigError(f"invalid value of {key}={value}: must be true or false")
    return key, enabled


def _set(
    resources: Resources,
    enabled: dict[str, bool],
    single: dict[str, set[str]],
    key: str,
    value: bool,
) -> None:
    if key == "api/all":
        enabled.update(dict.fromkeys(enabled, value))
    elif key in _STAGES:
        for name in enabled:
            if _stage(name.rpartition("/")[2]) == _STAGES[key]:
                enabled[name] = value
    elif (version := key.removeprefix("api/") if key == "api/v1" else key) in enabled:
        enabled[version] = value
    else:
        _set_resource(resources, enabled, single, key, value)


def _set_resource(
    resources: Resources,
    enabled: dict[str, bool],
    single: dict[str, set[str]],
    key: str,
    value: bool,
) -> None:
    api_version, _, name = key.rpartition("/")
    for group_version in resources.group_versions():
        if group_version.api_version == api_version and name in group_version.resources:
            resource_names = single.setdefault(
                api_version, _enabled_resources(group_version, enabled)
            )
            resource_names.add(name) if value else resource_names.discard(name)
            return
    raise RuntimeConfigError(f"unknown api group, version or resource: {key}")


def _enabled_resources(group_version: GroupVersion, enabled: dict[str, bool]) -> set[str]:
    return set(group_version.resources) if enabled[group_version.api_version] else set()


def _stage(version: str) -> str:
    return next((stage for stage in ("alpha", "beta") if stage in version), "")
