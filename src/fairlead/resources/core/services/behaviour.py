"""The behaviour of Service: a name and an address for a set of pods.

The addresses and ports of services come from `context.allocators` (see `allocation`): preparing a
write reserves them, and `context.roll_back()` releases them if the write does not happen.
"""

from __future__ import annotations

from fairlead.base.quotes import quote
from fairlead.codec.types.names import dns_1035_label, dns_label
from fairlead.resources.behaviour import Behaviour, Object
from fairlead.resources.causes import Causes
from fairlead.resources.context import Context
from fairlead.resources.core.addresses import address_warning, network_warnings
from fairlead.resources.core.services.cluster_ips import check_cluster_ips_change
from fairlead.resources.core.services.fields import (
    addresses,
    is_headless,
    is_load_balancer,
    needs_health_port,
)
from fairlead.resources.core.services.grants import grant
from fairlead.resources.core.services.linked_fields import (
    drop_by_type,
    fill_defaults,
    keep_allocated,
    sync_addresses,
)
from fairlead.resources.core.services.rules import (
    BY_ADDRESSES,
    TOPOLOGY_HINTS,
    TOPOLOGY_MODE,
    check_load_balancer_class,
    check_service,
    check_service_status,
)
from fairlead.resources.metadata import check_metadata, check_metadata_update
from fairlead.resources.rules import IMMUTABLE


class ServiceBehaviour(Behaviour):
    claims_values = True

    def fill_defaults(self, value: Object, context: Context) -> None:
        fill_defaults(value["spec"], context.gates[BY_ADDRESSES])
        if context.gates["LoadBalancerIPMode"] and is_load_balancer(value["spec"]):
            status = (value.get("status") or {}).get("loadBalancer") or {}
            for point in status.get("ingress") or ():
                if point.get("ip") and point.get("ipMode") is None:
                    point["ipMode"] = "VIP"

    def prepare_create(self, value: Object, context: Context) -> None:
        sync_addresses(value["spec"], None)
        grant(self.resource, value, None, context)
        super().prepare_create(value, context)
        _drop_disabled(value, None, context)

    def renamed(self, value: Object, context: Context) -> None:
        for companion in context.claims:
            if "spec" in companion.value:  # an IPAddress
                companion.value["spec"]["parentRef"]["name"] = value["metadata"]["name"]

    def prepare_update(self, value: Object, old: Object, context: Context) -> None:
        sync_addresses(value["spec"], old["spec"])
        keep_allocated(value["spec"], old["spec"])
        grant(self.resource, value, old, context)
        super().prepare_update(value, old, context)
        _drop_disabled(value, old, context)
        drop_by_type(value["spec"], old["spec"], context.gates[BY_ADDRESSES])
        if not is_load_balancer(value["spec"]):
            value["status"] = {**value["status"], "loadBalancer": {}}

    def check_create(self, value: Object, causes: Causes, context: Context) -> None:
        self._check_metadata(value, causes, context)
        check_service(value, causes, context)

    def _check_metadata(self, value: Object, causes: Causes, context: Context) -> None:
        relaxed = context.gates["RelaxedServiceNameValidation"]
        rule = dns_label if relaxed else dns_1035_label
        check_metadata(value["metadata"], self.resource.namespaced, rule, causes)

    def check_update(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        check_metadata_update(value["metadata"], old["metadata"], causes)
        self.check_change(value, old, causes, context)
        if not context.gates["AddressErrorsByValue"]:
            self._check_metadata(value, causes, context)
        check_service(value, causes, context, old)

    def check_change(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        spec, before = value["spec"], old["spec"]
        check_cluster_ips_change(spec, before, causes)
        stays_load_balancer = is_load_balancer(spec) and is_load_balancer(before)
        name = spec.get("loadBalancerClass")
        if stays_load_balancer and name != before.get("loadBalancerClass"):
            causes.invalid("spec.loadBalancerClass", name, "may not change once set")
        check_load_balancer_class(spec, causes)
        checked = needs_health_port(spec) and needs_health_port(before)
        if checked and spec.get("healthCheckNodePort") != before.get("healthCheckNodePort"):
            causes.forbidden("spec.healthCheckNodePort", IMMUTABLE)

    def check_subresource_update(
        self, subresource: str, value: Object, old: Object, causes: Causes, context: Context
    ) -> None:
        check_metadata_update(value["metadata"], old["metadata"], causes)
        check_service_status(value, old, causes, context)

    def warnings(self, value: Object, old: Object | None, context: Context) -> None:
        if context.subresource or not context.gates["StrictIPCIDRValidation"]:
            return
        _warn_of_service(value, context)


def _drop_disabled(value: Object, old: Object | None, context: Context) -> None:
    name = "internalTrafficPolicy"
    used = old is not None and old["spec"].get(name) is not None
    if not used and not context.gates["ServiceInternalTrafficPolicy"]:
        value["spec"].pop(name, None)


# Warnings: deprecated and ignored fields, and unusual forms of addresses


def _warn_of_service(service: Object, context: Context) -> None:
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
