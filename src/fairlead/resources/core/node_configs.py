"""Where a node takes its configuration from: gone from new nodes, still checked in old ones."""

from __future__ import annotations

from fairlead.codec.types.names import dns_label, dns_subdomain
from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes, GoValue
from fairlead.resources.rules import config_key_errors

_NAMES = {
    "namespace": dns_label,
    "name": dns_subdomain,
    "kubeletConfigKey": config_key_errors,
}


def check_config_source(source: Object, path: str, causes: Causes) -> None:
    """A source as it is asked for: by name only."""
    for reference in _reference(source, path, causes):
        for name in ("uid", "resourceVersion"):
            if reference.get(name):
                causes.forbidden(f"{path}.configMap.{name}", f"{name} must not be set in spec")
        _check_reference(reference, f"{path}.configMap", causes)


def check_config_status(status: Object, path: str, causes: Causes) -> None:
    """Sources as they are used: each one exact version."""
    for use in ("assigned", "active", "lastKnownGood"):
        if status.get(use) is None:
            continue
        for reference in _reference(status[use], f"{path}.{use}", causes):
            field = f"{path}.{use}.configMap"
            for name in ("uid", "resourceVersion"):
                if not reference.get(name):
                    causes.required(f"{field}.{name}", f"{name} must be set in status")
            _check_reference(reference, field, causes)


def _reference(source: Object, path: str, causes: Causes) -> list[Object]:
    if source.get("configMap") is not None:
        return [source["configMap"]]
    shown = GoValue("core.NodeConfigSource{ConfigMap:(*core.ConfigMapNodeConfigSource)(nil)}")
    causes.invalid(path, shown, "exactly one reference subfield must be non-nil")
    return []


def _check_reference(reference: Object, path: str, causes: Causes) -> None:
    for name, rule in _NAMES.items():
        if not reference[name]:
            causes.required(f"{path}.{name}", f"{name} must be set")
        else:
            causes.invalid_each(f"{path}.{name}", reference[name], rule(reference[name]))
