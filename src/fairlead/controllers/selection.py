"""`--controllers`: which of the server's controllers run."""

from __future__ import annotations

from fairlead.base.records import dataclass

_NAMES = frozenset(
    """
    attachdetach bootstrapsigner cloud-node-lifecycle clusterrole-aggregation cronjob csrapproving
    csrcleaner csrsigning daemonset deployment disruption endpoint endpointslice
    endpointslicemirroring ephemeral-volume garbagecollector horizontalpodautoscaling job namespace
    nodeipam nodelifecycle persistentvolume-binder persistentvolume-expander podgc pv-protection
    pvc-protection replicaset replicationcontroller resourcequota root-ca-cert-publisher route
    service serviceaccount serviceaccount-token statefulset tokencleaner ttl ttl-after-finished
    """.split()  # noqa: SIM905 as a list it would be a page
)
# What the catalogue does not build; the aggregation of roles is part of authorization.
_WITHOUT_EFFECT = frozenset(
    """
    attachdetach cloud-node-lifecycle nodeipam route service
    """.split()  # noqa: SIM905 as a list it would be a page
)
_OFF_BY_DEFAULT = frozenset({"bootstrapsigner", "tokencleaner"})
DEFAULT_CONTROLLERS = "*"


class ControllerNameError(ValueError):
    """The flag names a controller that does not exist."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """`running` has names of the catalogue; `without_effect` what was named and cannot be switched
    in this release."""

    running: frozenset[str]
    without_effect: tuple[str, ...]


def chosen_controllers(text: str) -> Chosen:
    """Read the flag; raises ControllerNameError. The first mention of a name counts."""
    given = [part.strip() for part in text.split(",") if part.strip()]
    wanted: dict[str, bool] = {}
    for part in given or DEFAULT_CONTROLLERS.split(","):
        name = part.removeprefix("-")
        if name not in _NAMES and name != "*":
            known = ", ".join(sorted(_NAMES))
            raise ControllerNameError(f'unknown controller "{name}"; known are {known}')
        wanted.setdefault(name, part[:1] != "-")
    rest = wanted.get("*", False)
    running = (
        name
        for name in _NAMES - _WITHOUT_EFFECT
        if wanted.get(name, rest and name not in _OFF_BY_DEFAULT)
    )
    without_effect = (part for part in given if part.removeprefix("-") in _WITHOUT_EFFECT)
    return Chosen(frozenset(running), tuple(without_effect))
