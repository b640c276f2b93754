"""Validation of a service's cluster addresses, IP families and family policy."""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes
from fairlead.resources.core.addresses import V4, V6, address_errors, family_of, is_dual_stack
from fairlead.resources.core.services.fields import (
    HEADLESS,
    addresses,
    families,
    is_headless,
    needs_address,
)
from fairlead.resources.go_values import go_list_or_nil as go_list

FAMILIES = (V4, V6)
POLICIES = ("PreferDualStack", "RequireDualStack", "SingleStack")
_FIELD = "spec.clusterIPs"


def check_cluster_ips(
    spec: Object, causes: Causes, known: Sequence[str] = (), *, strict: bool = False
) -> None:
    """`known` addresses are valid."""
    if not needs_address(spec):
        return
    _check_pairing(spec, causes)
    _check_families(families(spec), causes)
    policy = spec.get("ipFamilyPolicy")
    if policy is not None and policy not in POLICIES:
        causes.unsupported("spec.ipFamilyPolicy", policy, POLICIES)
    if not _check_each(addresses(spec), causes, known, strict):
        return
    if len(addresses(spec)) > 1 and not is_dual_stack([family_of(a) for a in addresses(spec)]):
        detail = "may specify no more than one IP for each IP family"
        causes.invalid(_FIELD, go_list("string", addresses(spec)), detail)
    if not is_headless(spec):
        _check_match(spec, causes)


def _check_pairing(spec: Object, causes: Causes) -> None:
    """`clusterIP` must equal the first of `clusterIPs`."""
    single, listed = spec.get("clusterIP"), addresses(spec)
    if single and not listed:
        causes.required(_FIELD)
    elif single and listed[0] != single:
        causes.invalid(_FIELD, go_list("string", listed), "first value must match `clusterIP`")
    elif not single and listed:
        detail = "must be empty when `clusterIP` is not specified"
        causes.invalid(_FIELD, go_list("string", listed), detail)


def _check_families(requested: list[str], causes: Causes) -> None:
    for index, family in enumerate(requested):
        path = f"spec.ipFamilies[{index}]"
        if family not in FAMILIES:
            causes.unsupported(path, family, FAMILIES)
        if family in requested[:index]:
            causes.duplicate(path, family)


def _check_each(listed: list[str], causes: Causes, known: Sequence[str], strict: bool) -> bool:
    """Check each address; returns whether all can be parsed, so that further checks are
    possible."""
    shown, readable = go_list("string", listed), True
    for index, text in enumerate(listed):
        if index == 0 and text == HEADLESS:
            if len(listed) > 1:
                readable = False
                causes.invalid(_FIELD, shown, "'None' must be the first and only value")
        elif text not in known and (errors := address_errors(text, strict=strict)):
            readable = False
            causes.invalid_each(f"{_FIELD}[{index}]", text, errors)
    if len(listed) > 2:
        causes.invalid(_FIELD, shown, "may only hold up to 2 values")
    return readable


def _check_match(spec: Object, causes: Causes) -> None:
    for index, (text, family) in enumerate(zip(addresses(spec), families(spec), strict=False)):
        if family in FAMILIES and family_of(text) != family:
            detail = f"expected an {family} value as indicated by `ipFamilies[{index}]`"
            causes.invalid(f"{_FIELD}[{index}]", text, detail)


def check_cluster_ips_change(spec: Object, old: Object, causes: Causes) -> None:
    """The second address may be added and removed; the first is immutable, unless the type
    changes."""
    if not (needs_address(spec) and needs_address(old)):
        return
    _check_addresses_change(spec, old, causes)
    _check_families_change(spec, old, causes)


def _check_addresses_change(spec: Object, old: Object, causes: Causes) -> None:
    if is_headless(spec) and is_headless(old):
        return
    new_ips, old_ips = addresses(spec), addresses(old)
    shown = go_list("string", new_ips)
    fixed = "may not change once set"
    if len(new_ips) == len(old_ips):
        for index, (text, old_text) in enumerate(zip(new_ips, old_ips, strict=True)):
            if text != old_text:
                causes.invalid(f"{_FIELD}[{index}]", shown, fixed)
        return
    if not new_ips:
        causes.invalid(f"{_FIELD}[0]", shown, "primary clusterIP can not be unset")
    elif old_ips and new_ips[0] != old_ips[0]:
        causes.invalid(f"{_FIELD}[0]", shown, fixed)
    if len(new_ips) == 1 and len(old_ips) > 1:
        _check_released(spec, "clusterIP", causes)


def _check_families_change(spec: Object, old: Object, causes: Causes) -> None:
    if is_headless(spec) or is_headless(old):
        return
    new_families, old_families = families(spec), families(old)
    path, fixed = "spec.ipFamilies[0]", "may not change once set"
    if len(new_families) == len(old_families):
        for family, old_family in zip(new_families, old_families, strict=True):
            if family != old_family:
                causes.invalid(path, go_list("core.IPFamily", new_families), fixed)
        return
    if len(new_families) < len(old_families) and not addresses(spec):
        detail = "primary ipFamily can not be unset"
        causes.invalid(path, go_list("core.IPFamily", new_families), detail)
    if new_families and old_families and new_families[0] != old_families[0]:
        causes.invalid(path, go_list("string", addresses(spec)), fixed)
    if len(new_families) == 1 and len(old_families) > 1:
        _check_released(spec, "ipFamily", causes)


def _check_released(spec: Object, noun: str, causes: Causes) -> None:
    policy = spec.get("ipFamilyPolicy")
    if policy != "SingleStack":
        detail = f"must be set to 'SingleStack' when releasing the secondary {noun}"
        causes.invalid("spec.ipFamilyPolicy", policy, detail)
