"""The behaviour of NetworkPolicy: the traffic allowed to and from the selected pods."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fairlead.resources.behaviour import Object, keep
from fairlead.resources.causes import Causes
from fairlead.resources.context import Context
from fairlead.resources.core.addresses import (
    Network,
    network_errors,
    network_warnings,
    parse_network,
)
from fairlead.resources.go_values import go_list
from fairlead.resources.networking.shared import NetworkingBehaviour
from fairlead.resources.rules import (
    check_conditions,
    checks_selector_values,
    label_selector,
    port_name,
    port_number,
)
from fairlead.resources.storage.shared import Step

STATUS_GATE = "NetworkPolicyStatus"
PROTOCOLS = ("TCP", "UDP", "SCTP")
POLICY_TYPES = ("Ingress", "Egress")
# The directions of rules, and the field of their peers.
DIRECTIONS = (("ingress", "from"), ("egress", "to"))


class NetworkPolicyBehaviour(NetworkingBehaviour):
    update_order = (Step.METADATA, Step.RULES, Step.METADATA_CHANGE, Step.RULES)
    once_order = (Step.METADATA_CHANGE, Step.RULES)

    def fill_defaults(self, value: Object, context: Context) -> None:
        spec = value["spec"]
        if not spec.get("policyTypes"):
            spec["policyTypes"] = ["Ingress", *(["Egress"] if spec.get("egress") else [])]

    def prepare_create(self, value: Object, context: Context) -> None:
        value["metadata"]["generation"] = 1
        if context.gates[STATUS_GATE]:
            self.reset_status(value)

    def prepare_update(self, value: Object, old: Object, context: Context) -> None:
        sent = value.get("status")
        super().prepare_update(value, old, context)
        if not context.gates[STATUS_GATE] and not _has_conditions(old) and sent is not None:
            value["status"] = sent

    def prepare_subresource_update(
        self, subresource: str, value: Object, old: Object, context: Context
    ) -> None:
        super().prepare_subresource_update(subresource, value, old, context)
        # If the feature is disabled, a status in use may be cleared but not changed.
        if not context.gates[STATUS_GATE]:
            if _has_conditions(value):
                keep(value, old, "status")
            else:
                self.reset_status(value)

    def check(self, value: Object, causes: Causes, context: Context) -> None:
        self.check_again(value, {"spec": {}}, causes, context)

    def check_again(self, value: Object, old: Object, causes: Causes, context: Context) -> None:
        spec, before = value["spec"], old["spec"]
        check_values = checks_selector_values(context.gates, before.get("podSelector"))
        rules = _PeerRules(
            context, check_values, frozenset(text for _, text in _placed_networks(before))
        )
        label_selector(spec["podSelector"], "spec.podSelector", causes, check_values=check_values)
        for direction, peers in DIRECTIONS:
            for index, rule in enumerate(spec.get(direction) or ()):
                path = f"spec.{direction}[{index}]"
                for number, port in enumerate(rule.get("ports") or ()):
                    _check_port(port, f"{path}.ports[{number}]", causes)
                for number, peer in enumerate(rule.get(peers) or ()):
                    rules.check(peer, f"{path}.{peers}[{number}]", causes)
        _check_types(spec.get("policyTypes") or [], causes)

    def warnings(self, value: Object, old: Object | None, context: Context) -> None:
        if not context.gates["StrictIPCIDRValidation"]:
            return
        for path, text in _placed_networks(value["spec"]):
            for warning in network_warnings(text, path):
                context.warn(warning)

    def check_subresource_update(
        self, subresource: str, value: Object, old: Object, causes: Causes, context: Context
    ) -> None:
        check_conditions((value.get("status") or {}).get("conditions"), "status.conditions", causes)


def _has_conditions(value: Object) -> bool:
    return bool((value.get("status") or {}).get("conditions"))


def _check_types(types: list[str], causes: Causes) -> None:
    if len(types) > len(POLICY_TYPES):
        shown = go_list("networking.PolicyType", types)
        causes.invalid("spec.policyTypes", shown, "may not specify more than two policyTypes")
        return
    for index, name in enumerate(types):
        if name not in POLICY_TYPES:
            causes.unsupported(f"spec.policyTypes[{index}]", name, POLICY_TYPES)


def _check_port(port: dict[str, Any], path: str, causes: Causes) -> None:
    protocol, value, end = port.get("protocol"), port.get("port"), port.get("endPort")
    if protocol is not None and protocol not in PROTOCOLS:
        causes.unsupported(f"{path}.protocol", protocol, PROTOCOLS)
    if isinstance(value, int):
        port_number(value, f"{path}.port", causes)
        if end is not None:
            if end < value:
                detail = "must be greater than or equal to `port`"
                causes.invalid(f"{path}.endPort", value, detail)
            port_number(end, f"{path}.endPort", causes)
        return
    if end is not None:
        reason = "not specified" if value is None else "non-numeric"
        causes.invalid(f"{path}.endPort", end, f"may not be specified when `port` is {reason}")
    if value is not None:
        port_name(value, f"{path}.port", causes)


def _placed_networks(spec: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """All networks in a policy, with their paths."""
    for direction, peers in DIRECTIONS:
        for index, rule in enumerate(spec.get(direction) or ()):
            for number, peer in enumerate(rule.get(peers) or ()):
                if (block := peer.get("ipBlock")) is not None:
                    path = f"spec.{direction}[{index}].{peers}[{number}].ipBlock"
                    yield f"{path}.cidr", block["cidr"]
                    for place, text in enumerate(block.get("except") or ()):
                        yield f"{path}.except[{place}]", text


class _PeerRules:
    """The rules of peers; `known` networks are those of the old policy, which are valid."""

    def __init__(self, context: Context, check_values: bool, known: frozenset[str]) -> None:
        self._check_values = check_values
        self._known = known
        self._strict = context.gates["StrictIPCIDRValidation"]
        self._by_value = context.gates["AddressErrorsByValue"]

    def check(self, peer: dict[str, Any], path: str, causes: Causes) -> None:
        for name in ("podSelector", "namespaceSelector"):
            field_path = f"{path}.{name}"
            label_selector(peer.get(name), field_path, causes, check_values=self._check_values)
        block = peer.get("ipBlock")
        if block is not None:
            self._check_block(block, f"{path}.ipBlock", causes)
        set_fields = [name for name, value in peer.items() if value is not None]
        if not set_fields:
            causes.required(path, "must specify a peer")
        elif len(set_fields) > 1 and block is not None:
            causes.forbidden(path, "may not specify both ipBlock and another peer")

    def _check_block(self, block: dict[str, Any], path: str, causes: Causes) -> None:
        if not block["cidr"]:
            causes.required(f"{path}.cidr")
            return
        network = self._check_network(block["cidr"], f"{path}.cidr", causes)
        if network is None:
            return
        for index, excepted in enumerate(block.get("except") or ()):
            item_path = f"{path}.except[{index}]"
            inner = self._check_network(excepted, item_path, causes)
            if inner is None:
                if self._by_value:
                    continue
                return
            if not _is_strict_part(inner, network):
                causes.invalid(item_path, excepted, "must be a strict subset of `cidr`")

    def _check_network(self, text: str, path: str, causes: Causes) -> Network | None:
        if not self._by_value:
            network = parse_network(text)
            if network is None:
                causes.invalid(path, text, "not a valid CIDR")
            return network
        if text not in self._known:
            causes.invalid_each(path, text, network_errors(text, strict=self._strict))
        return parse_network(text)


def _is_strict_part(inner: Network, outer: Network) -> bool:
    return inner.network_address in outer and inner.prefixlen > outer.prefixlen
