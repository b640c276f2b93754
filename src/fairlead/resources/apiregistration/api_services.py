"""The behaviour of APIService: which service serves a group-version; without a service, this
server.
"""

from __future__ import annotations

from base64 import b64decode
from typing import Any

from fairlead.codec.types.names import dns_1035_label, dns_subdomain, path_segment
from fairlead.codec.types.times import now
from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes, quote
from fairlead.resources.columns.cell_text import field, items
from fairlead.resources.columns.model import AGE, NAME, table, text
from fairlead.resources.context import Context
from fairlead.resources.metadata import NameRule
from fairlead.resources.rules import PORT_RANGE
from fairlead.resources.storage.shared import OrderedBehaviour, Step, keep_metadata

CONDITION_STATUSES = ("True", "False", "Unknown")
# Status, reason and message of the condition of a local APIService.
LOCAL = ("True", "Local", "Local APIServices are always available")
# Upper bounds of the two priorities.
_PRIORITIES = {"groupPriorityMinimum": 20000, "versionPriority": 1000}


class APIServiceBehaviour(OrderedBehaviour):
    qualified_finalizers = False
    update_order = (Step.METADATA_CHANGE, Step.METADATA, Step.RULES)

    def name_rule_of(self, value: Object) -> NameRule:
        spec = value["spec"]
        expected = f"{spec.get('version', '')}.{spec.get('group', '')}"

        def rule(name: str) -> list[str]:
            errors = path_segment(name)
            if errors or name == expected:
                return errors
            return [f'must be `spec.version+"."+spec.group`: {quote(expected)}']

        return rule

    def prepare_create(self, value: Object, context: Context) -> None:
        super().prepare_create(value, context)
        if value["spec"].get("service") is None:
            value["status"] = {"conditions": [availability(*LOCAL)]}

    def prepare_subresource_update(
        self, subresource: str, value: Object, old: Object, context: Context
    ) -> None:
        super().prepare_subresource_update(subresource, value, old, context)
        keep_metadata(value, old)

    def check(self, value: Object, causes: Causes, context: Context) -> None:
        spec = value["spec"]
        _check_group_version(spec.get("group", ""), spec.get("version", ""), causes)
        for name, maximum in _PRIORITIES.items():
            if not 0 < spec[name] <= maximum:
                causes.invalid(
                    f"spec.{name}", spec[name], f"must be positive and less than {maximum}"
                )
        _check_trust(spec, causes)

    def check_subresource_update(
        self, subresource: str, value: Object, old: Object, causes: Causes, context: Context
    ) -> None:
        self.check_metadata_change(value, old, causes)
        for index, condition in enumerate((value.get("status") or {}).get("conditions") or ()):
            if condition["status"] not in CONDITION_STATUSES:
                path = f"status.conditions[{index}].status"
                causes.unsupported(path, condition["status"], CONDITION_STATUSES)


def availability(status: str, reason: str, message: str) -> dict[str, Any]:
    """The Available condition, with the current time."""
    return {
        "type": "Available",
        "status": status,
        "lastTransitionTime": now(),
        "reason": reason,
        "message": message,
    }


def _check_group_version(group: str, version: str, causes: Causes) -> None:
    if not group and version != "v1":
        detail = "only v1 may have an empty group and it better be legacy kube"
        causes.required("spec.group", detail)
    if group:
        causes.invalid_each("spec.group", group, dns_subdomain(group))
    causes.invalid_each("spec.version", version, dns_1035_label(version))


def _check_trust(spec: dict[str, Any], causes: Causes) -> None:
    """Check the service reference and its TLS settings; a local APIService has no TLS settings."""
    service, bundle = spec.get("service"), spec.get("caBundle")
    skips_verification = spec.get("insecureSkipTLSVerify", False)
    if service is None:
        if bundle:
            shown = f"{len(b64decode(bundle))} bytes"
            causes.invalid("spec.caBundle", shown, "local APIServices may not have a caBundle")
        if skips_verification:
            detail = "local APIServices may not have insecureSkipTLSVerify"
            causes.invalid("spec.insecureSkipTLSVerify", skips_verification, detail)
        return
    for name in ("namespace", "name"):
        if not service.get(name):
            causes.required(f"spec.service.{name}")
    port = service.get("port", 443)
    if not 1 <= port <= 65535:
        causes.invalid("spec.service.port", port, f"port is not valid: {PORT_RANGE}")
    if skips_verification and bundle:
        detail = "may not be true if caBundle is present"
        causes.invalid("spec.insecureSkipTLSVerify", skips_verification, detail)


# Columns of API services


def _service(api_service: Object) -> str:
    service = field(api_service, "spec.service")
    if service is None:
        return "Local"
    return f"{service.get('namespace') or ''}/{service.get('name') or ''}"


def _available(api_service: Object) -> str:
    """The status of the condition, and its reason if it is not True."""
    conditions = items(api_service, "status.conditions")
    available = next(
        (condition for condition in conditions if condition.get("type") == "Available"), None
    )
    if available is None:
        return "Unknown"
    state, reason = available.get("status") or "", available.get("reason")
    return f"{state} ({reason})" if reason and state != "True" else state


PRINTERS = {
    "apiregistration/v1/apiservices": table(
        NAME,
        text("Service", _service, "Who serves the group version"),
        text("Available", _available, "Whether it can be reached"),
        AGE,
    ),
}
