"""The status of pods: its rules, and the two forms of its addresses."""

from __future__ import annotations

from fairlead.codec.types.names import dns_subdomain, qualified_name
from fairlead.resources.behaviour import Object
from fairlead.resources.causes import Causes
from fairlead.resources.core.addresses import family_of, is_address
from fairlead.resources.core.pods.go_text import go_pod_ip, go_pod_ips
from fairlead.resources.rules import NOT_AN_ADDRESS

SYSTEM_CONDITIONS = ("PodScheduled", "Ready", "Initialized")
STILL_TERMINATED = "may not be transitioned to non-terminated state"


def align_addresses(status: Object) -> None:
    """`podIP` is the first of `podIPs`; where they disagree the single one is believed."""
    single, many = status.get("podIP"), status.get("podIPs")
    if single and (not many or many[0].get("ip") != single):
        status["podIPs"] = [{"ip": single}]
    elif many and not single:
        first = many[0].get("ip")
        if first:
            status["podIP"] = first


def check_status(status: Object, old: Object, restart_policy: str, causes: Causes) -> None:
    node = status.get("nominatedNodeName", "")
    if node and node != old.get("nominatedNodeName"):
        causes.invalid_each("status.nominatedNodeName", node, dns_subdomain(node))
    for name, policy in (
        ("containerStatuses", restart_policy),
        ("initContainerStatuses", restart_policy),
        ("ephemeralContainerStatuses", "Never"),
    ):
        before, after = old.get(name) or (), status.get(name) or ()
        _check_transitions(before, after, policy, f"status.{name}", causes)
    _check_addresses(status, "status.podIPs", causes)


def check_conditions(status: Object, path: str, causes: Causes) -> None:
    for index, condition in enumerate(status.get("conditions") or ()):
        kind = condition["type"]
        if kind not in SYSTEM_CONDITIONS:
            causes.invalid_each(f"{path}[{index}].Type", kind, qualified_name(kind))


def _check_transitions(
    before: list[Object] | tuple[()],
    after: list[Object] | tuple[()],
    policy: str,
    path: str,
    causes: Causes,
) -> None:
    """A container that ended for good does not run again."""
    if policy == "Always":
        return
    for index, old in enumerate(before):
        ended = (old.get("state") or {}).get("terminated")
        if ended is None or (ended["exitCode"] != 0 and policy == "OnFailure"):
            continue
        for new in after:
            if new["name"] == old["name"] and (new.get("state") or {}).get("terminated") is None:
                causes.forbidden(f"{path}[{index}].state", STILL_TERMINATED)


def _check_addresses(status: Object, path: str, causes: Causes) -> None:
    addresses = [address.get("ip", "") for address in status.get("podIPs") or ()]
    for index, address in enumerate(addresses):
        if not is_address(address):
            causes.invalid(f"{path}[{index}]", address, NOT_AN_ADDRESS)
    if len(addresses) < 2:
        return
    wrong = not all(is_address(address) for address in addresses)
    if wrong:
        causes.internal(path, "failed to check for dual stack with error:ip <nil> is invalid")
    if wrong or not _is_dual_stack(addresses):
        detail = "may specify no more than one IP for each IP family"
        causes.invalid(path, go_pod_ips(addresses), detail)
    for index, address in enumerate(addresses):
        if address in addresses[:index]:
            causes.duplicate(f"{path}[{index}]", go_pod_ip(address))


def _is_dual_stack(addresses: list[str]) -> bool:
    return len(addresses) == 2 and len({family_of(address) for address in addresses}) == 2
