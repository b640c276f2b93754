"""Resources of a pod as a whole, and the device claims that its containers share."""

from __future__ import annotations

from fairlead.codec.types.names import dns_label, dns_subdomain
from fairlead.codec.types.quantity import quantity
from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes
from fairlead.resources.context import Context
from fairlead.resources.core.pods.resources import (
    can_overcommit,
    check_claims,
    check_quantity,
    check_resources,
    resource_name_errors,
)
from fairlead.resources.core.pods.totals import HUGE_PAGES, container_totals, is_pod_level

POD_LEVEL_SHOWN = ("cpu", HUGE_PAGES, "memory")


def fill_pod_resources(spec: Object, context: Context) -> None:
    """Set the defaults of requests and limits of a pod as a whole, if it has some."""
    resources: Object = spec["resources"]
    limits: dict[str, str] = dict(resources.get("limits") or {})
    requests: dict[str, str] = dict(resources.get("requests") or {})
    if not limits and not requests:
        return
    for name, total in container_totals(spec, "limits").items():
        if name.startswith(HUGE_PAGES) and name not in requests:
            limits.setdefault(name, str(total))
    if not limits:
        return
    resources["limits"] = limits
    for name, total in container_totals(spec, "requests").items():
        if is_pod_level(name) and can_overcommit(name, context.dialect):
            requests.setdefault(name, str(total))
    for name, limit in limits.items():
        if is_pod_level(name):
            requests.setdefault(name, limit)
    if requests:
        resources["requests"] = requests


def check_pod_resources(spec: Object, path: str, causes: Causes, context: Context) -> None:
    """Check `spec.resources` of the spec at `path`."""
    resources: Object = spec["resources"]
    path = f"{path}.resources"
    if (spec.get("os") or {}).get("name") == "windows":
        causes.forbidden(path, "may not be set for a windows pod")
        return
    if "claims" in resources:
        detail = "claims may not be set for Resources at pod-level"
        causes.forbidden(f"{path}.claims", detail)
        names = frozenset(claim["name"] for claim in spec.get("resourceClaims") or ())
        check_claims(resources["claims"], names, f"{path}.claims", causes)
    _check_names(resources, path, causes, context)
    supported: Object = {
        kind: {name: text for name, text in resources[kind].items() if is_pod_level(name)}
        for kind in ("limits", "requests")
        if kind in resources
    }
    check_resources(supported, path, causes, context)
    _check_overcommitted(resources, path, causes, context)
    _check_totals(spec, resources, path, causes)
    _check_container_limits(spec, resources.get("limits") or {}, path, causes)


def _check_names(resources: Object, path: str, causes: Causes, context: Context) -> None:
    for kind in ("limits", "requests"):
        amounts: dict[str, str] = resources.get(kind) or {}
        for name, text in amounts.items():
            if is_pod_level(name):
                continue
            field = f"{path}.{kind}[{name}]"
            errors = resource_name_errors(name)
            causes.invalid_each(field, name, errors)
            if not errors:
                causes.unsupported(field, name, POD_LEVEL_SHOWN)
            check_quantity(name, text, field, causes, context.dialect)


def _check_overcommitted(resources: Object, path: str, causes: Causes, context: Context) -> None:
    """A resource that cannot be overcommitted needs a limit, also one that pods cannot request."""
    limits = resources.get("limits") or {}
    for name in resources.get("requests") or {}:
        if is_pod_level(name) or name in limits or can_overcommit(name, context.dialect):
            continue
        detail = "Limit must be set for non overcommitable resources"
        causes.required(f"{path}.limits", detail)


def _check_totals(spec: Object, resources: Object, path: str, causes: Causes) -> None:
    """The pod must have at least what its containers have together."""
    for kind, words in (("requests", "requests"), ("limits", "limits")):
        amounts: dict[str, str] = resources.get(kind) or {}
        for name, total in container_totals(spec, kind).items():
            if kind == "limits" and not name.startswith(HUGE_PAGES):
                continue
            text = amounts.get(name)
            if text is not None and total.value > quantity(text):
                detail = f"must be greater than or equal to aggregate container {words} of {total}"
                causes.invalid(f"{path}.{kind}[{name}]", text, detail)


def _check_container_limits(
    spec: Object, limits: dict[str, str], path: str, causes: Causes
) -> None:
    for index, container in enumerate(spec["containers"] or ()):
        for name, text in (container["resources"].get("limits") or {}).items():
            if name in limits and quantity(text) > quantity(limits[name]):
                detail = f"must be less than or equal to pod limits of {limits[name]}"
                causes.invalid(f"{path}.containers[{index}][{name}].limits", text, detail)


# Device claims of a pod

ONE_REFERENCE = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
BOTH_REFERENCES = (
    "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
)


def check_resource_claims(claims: list[Object], path: str, causes: Causes) -> None:
    names: set[str] = set()
    for index, claim in enumerate(claims):
        name = claim["name"]
        if not name:
            causes.required(f"{path}[{index}].name")
        elif name in names:
            causes.duplicate(f"{path}[{index}].name", name)
        else:
            causes.invalid_each(f"{path}[{index}].name", name, dns_label(name))
            names.add(name)
        _check_reference(claim, f"{path}[{index}]", causes)


def _check_reference(claim: Object, path: str, causes: Causes) -> None:
    claim_name, template = claim.get("resourceClaimName"), claim.get("resourceClaimTemplateName")
    if (claim_name is None) is (template is None):
        data = {
            "Name": claim["name"],
            "ResourceClaimName": claim_name,
            "ResourceClaimTemplateName": template,
        }
        detail = ONE_REFERENCE if claim_name is None else BOTH_REFERENCES
        causes.invalid(path, data, detail)
    for field in ("resourceClaimName", "resourceClaimTemplateName"):
        if claim.get(field) is not None:
            causes.invalid_each(f"{path}.{field}", claim[field], dns_subdomain(claim[field]))
