"""Derives the IP families of a service from its request and the server's configuration."""

from __future__ import annotations

from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes
from fairlead.resources.core.addresses import V4, V6, family_of
from fairlead.resources.core.services.cluster_ips import check_cluster_ips
from fairlead.resources.core.services.fields import (
    HEADLESS,
    addresses,
    families,
    needs_address,
    set_addresses,
)
from fairlead.resources.go_values import go_list_or_nil as go_list

SINGLE, PREFER, REQUIRE = "SingleStack", "PreferDualStack", "RequireDualStack"
_POLICY = "spec.ipFamilyPolicy"


def resolve_families(
    spec: Object, old: Object | None, configured: tuple[str, ...], causes: Causes
) -> None:
    """Set policy and families of a service that gets addresses. Adds causes for requests that the
    server cannot meet, and then stops."""
    if not needs_address(spec) or keeps_preference(spec, old):
        return
    if spec.get("ipFamilyPolicy") is None:
        spec["ipFamilyPolicy"] = _default_policy(spec, old)
    check_cluster_ips(spec, causes)
    if causes:
        return
    if old is not None:
        _follow_reduction(spec, old, causes)
    _check_single(spec, causes)
    _infer_families(spec, configured, causes)
    if causes:
        return
    if _is_selectorless(spec):
        _add_families(spec, configured[0], any_family=True)
        return
    _check_configured(spec, configured, causes)
    if not causes:
        _add_families(spec, configured[0], any_family=len(configured) == 2)


def keeps_preference(spec: Object, old: Object | None) -> bool:
    """Whether a service that prefers dual-stack stays unchanged, even if the server's families
    changed since."""
    if old is None or spec.get("ipFamilyPolicy") != PREFER:
        return False
    return (
        old.get("type") == spec.get("type")
        and needs_address(spec)
        and old.get("ipFamilyPolicy") in (None, PREFER)
        and addresses(old) == addresses(spec)
        and families(old) == families(spec)
    )


def _is_selectorless(spec: Object) -> bool:
    return spec.get("clusterIP") == HEADLESS and not spec.get("selector")


def _default_policy(spec: Object, old: Object | None) -> str:
    if old is not None and old.get("ipFamilyPolicy") is not None:
        policy: str = old["ipFamilyPolicy"]
        return policy
    return REQUIRE if _is_selectorless(spec) else SINGLE


def _follow_reduction(spec: Object, old: Object, causes: Causes) -> None:
    """The policy SingleStack alone removes the second family; no other change may."""
    if spec["ipFamilyPolicy"] == SINGLE:
        if addresses(spec) == addresses(old):
            set_addresses(spec, addresses(spec)[:1])
        if families(spec) == families(old) and families(spec):
            spec["ipFamilies"] = families(spec)[:1]
        return
    for read, noun in ((addresses, "cluster IP"), (families, "IP family")):
        if 0 < len(read(spec)) < len(read(old)):
            detail = f"must be 'SingleStack' to release the secondary {noun}"
            causes.invalid(_POLICY, spec["ipFamilyPolicy"], detail)


def _check_single(spec: Object, causes: Causes) -> None:
    if spec["ipFamilyPolicy"] != SINGLE:
        return
    for read, noun in ((addresses, "cluster IPs"), (families, "IP families")):
        if len(read(spec)) == 2:
            detail = f"must be 'RequireDualStack' or 'PreferDualStack' when multiple {noun} are"
            causes.invalid(_POLICY, SINGLE, f"{detail} specified")


def _infer_families(spec: Object, configured: tuple[str, ...], causes: Causes) -> None:
    for index, address in enumerate(addresses(spec)):
        if address == HEADLESS:
            return
        if index < len(families(spec)):
            continue
        family = family_of(address)
        if family in configured:
            spec["ipFamilies"] = [*families(spec), family]
        else:
            shown = go_list("string", addresses(spec))
            detail = f"{family} is not configured on this cluster"
            causes.invalid(f"spec.clusterIPs[{index}]", shown, detail)


def _check_configured(spec: Object, configured: tuple[str, ...], causes: Causes) -> None:
    if spec["ipFamilyPolicy"] == REQUIRE and len(configured) < 2:
        detail = "this cluster is not configured for dual-stack services"
        causes.invalid(_POLICY, REQUIRE, detail)
    for index, family in enumerate(families(spec)):
        if family not in configured:
            causes.invalid(f"spec.ipFamilies[{index}]", family, "not configured on this cluster")


def _add_families(spec: Object, default: str, *, any_family: bool) -> None:
    """Set the default family if none is given, and add the other family if dual-stack is wanted and
    available."""
    if not families(spec):
        spec["ipFamilies"] = [default]
    if any_family and spec["ipFamilyPolicy"] != SINGLE and len(families(spec)) == 1:
        first = families(spec)[0]
        spec["ipFamilies"] = [first, V6 if first == V4 else V4]
