"""Remarks on services: deprecated and ignored fields, and unusual forms of addresses."""

from __future__ import annotations

from fairlead.base.quotes import quote
from fairlead.resources.behaviour import Object
from fairlead.resources.context import Context
from fairlead.resources.core.addresses import address_warning, network_warnings
from fairlead.resources.core.services.fields import addresses, is_headless
from fairlead.resources.core.services.rules import TOPOLOGY_HINTS, TOPOLOGY_MODE


def warn_of_service(service: Object, context: Context) -> None:
    spec = service["spec"]
    _warn_of_hints(service, context)
    if addresses(spec) and spec.get("clusterIP") not in ("", "None", None):
        for index, text in enumerate(addresses(spec)):
            _warn_of_address(text, f"spec.clusterIPs[{index}]", context)
    headless = spec["type"] == "ClusterIP" and is_headless(spec)
    external = spec.get("externalIPs") or []
    if headless:
        ignored = {
            "loadBalancerIP": bool(spec.get("loadBalancerIP")),
            "externalIPs": bool(external),
            "SessionAffinity": spec["sessionAffinity"] != "None",
        }
        for name in (name for name, is_set in ignored.items() if is_set):
            context.warn(f"spec.{name} is ignored for headless services")
    for index, text in enumerate(external):
        _warn_of_address(text, f"spec.externalIPs[{index}]", context)
    by_name = spec["type"] == "ExternalName"
    if external and not headless and not by_name:
        detail = "is deprecated and may no longer be implemented in some clusters"
        context.warn(f"spec.externalIPs {detail}")
    if spec.get("loadBalancerIP"):
        _warn_of_address(spec["loadBalancerIP"], "spec.loadBalancerIP", context)
    for index, text in enumerate(spec.get("loadBalancerSourceRanges") or ()):
        for warning in network_warnings(text, f"spec.loadBalancerSourceRanges[{index}]"):
            context.warn(warning)
    if by_name and external:
        context.warn('spec.externalIPs is ignored when spec.type is "ExternalName"')
    if not by_name and spec.get("externalName"):
        context.warn('spec.externalName is ignored when spec.type is not "ExternalName"')
    if spec.get("trafficDistribution") == "PreferClose":
        use = f"use {quote('PreferSameZone')}"
        context.warn(f'spec.trafficDistribution: "PreferClose" is deprecated; {use}')


def _warn_of_hints(service: Object, context: Context) -> None:
    old, new = (context.dialect.label(key) for key in (TOPOLOGY_HINTS, TOPOLOGY_MODE))
    if old in (service["metadata"].get("annotations") or {}):
        context.warn(f"annotation {old} is deprecated, please use {new} instead")


def _warn_of_address(text: str, path: str, context: Context) -> None:
    if warning := address_warning(text, path):
        context.warn(warning)
