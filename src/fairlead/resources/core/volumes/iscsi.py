"""Validation of iSCSI volumes: names of targets and initiators have one of three formats."""

from __future__ import annotations

import re

from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes
from fairlead.resources.core.volumes.sources import LUN_RANGE, secret_reference

_FORMATS = {
    "iqn": re.compile(r"iqn\.\d{4}-\d{2}\.([A-Za-z0-9.-]+)(:[^,;*&$|\s]+)$", re.ASCII),
    "eui": re.compile(r"^eui.[A-Za-z0-9]{16}$", re.ASCII),
    "naa": re.compile(r"^naa.[A-Za-z0-9]{32}$", re.ASCII),
}
MALFORMED = "must be valid format"
UNKNOWN_FORMAT = "must be valid format starting with iqn, eui, or naa"
TOO_LONG = (
    "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if"
    " iscsi.initiatorName is specified."
)


def _check_name(value: str, path: str, causes: Causes, unknown: str) -> None:
    pattern = _FORMATS.get(value[:3])
    if pattern is None:
        causes.invalid(path, value, unknown)
    elif not pattern.search(value):
        causes.invalid(path, value, MALFORMED)


def is_too_long(source: Object, name: str) -> bool:
    """Whether a volume's name and its portal are too long together for an initiator's session."""
    has_initiator = source.get("initiatorName") is not None
    return has_initiator and len(f"{name}:{source['targetPortal']}") > 64


def check_iscsi(
    source: Object, path: str, causes: Causes, *, persistent_name: str | None = None
) -> None:
    """`persistent_name` is the name of the persistent volume with this source."""
    unknown = UNKNOWN_FORMAT if persistent_name is None else MALFORMED
    if not source["targetPortal"]:
        causes.required(f"{path}.targetPortal")
    if persistent_name is not None and is_too_long(source, persistent_name):
        causes.invalid(f"{path}.targetportal", source["targetPortal"], TOO_LONG)
    if not source["iqn"]:
        causes.required(f"{path}.iqn")
    else:
        _check_name(source["iqn"], f"{path}.iqn", causes, unknown)
    if not 0 <= source["lun"] <= 255:
        causes.invalid(f"{path}.lun", source["lun"], LUN_RANGE)
    authenticates = source.get("chapAuthDiscovery") or source.get("chapAuthSession")
    if authenticates and source.get("secretRef") is None:
        causes.required(f"{path}.secretRef")
    if persistent_name is not None:
        secret_reference(source.get("secretRef"), f"{path}.secretRef", causes)
    initiator = source.get("initiatorName")
    if initiator is not None:
        _check_name(initiator, f"{path}.initiatorname", causes, unknown)
