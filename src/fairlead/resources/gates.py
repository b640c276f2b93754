"""Feature gates: their states in each release, and the parser of `--feature-gates`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

from fairlead.base.files import text_beside
from fairlead.base.release import RELEASES, V1_25, Release

_ON: Final = frozenset({"on", "locked", "fixed"})
_STATES: Final = frozenset({"off", "on", "locked"})
_STAGES: Final = {"AllAlpha": "off", "AllBeta": "on"}  # each sets all gates of that default


# The stage of a gate follows from its state, except for these.
_STAGE_BY_STATE: Final = {"locked": "", "on": "BETA", "off": "ALPHA"}
_OTHER_STAGES: Final = {
    "AggregatedDiscoveryRemoveBetaType": "DEPRECATED",
    "ClusterTrustBundle": "BETA",
    "ClusterTrustBundleProjection": "BETA",
    "CoordinatedLeaderElection": "BETA",
    "DRADeviceTaintRules": "BETA",
    "GitRepoVolumeDriver": "DEPRECATED",
    "MaxUnavailableStatefulSet": "BETA",
    "PodCertificateRequest": "BETA",
    "SELinuxMount": "BETA",
    "ServiceCIDRStatusFieldWiping": "DEPRECATED",
    "StorageVersionMigrator": "BETA",
}


class GateError(ValueError):
    """A feature gate that does not exist or a value that is not a boolean."""


@cache
def states(release: Release) -> Mapping[str, str]:
    """The state of every gate in `gates.table`."""
    lines = release.select(text_beside(__file__, "gates.table")).splitlines()
    rows = (line.split() for line in lines if line and line[0] != "#")
    return {words[0]: words[-1] for words in rows}


def stages(release: Release) -> dict[str, str]:
    """The stage of every gate that `--feature-gates` knows: ALPHA, BETA, DEPRECATED, or empty for
    one that is stable."""
    return {
        name: _OTHER_STAGES.get(name, _STAGE_BY_STATE[state])
        for name, state in states(release).items()
        if state in _STATES
    }


def is_default(name: str, release: Release) -> bool:
    """Whether a gate is on in a release without `--feature-gates`."""
    return states(release)[name] in _ON


class Gates:
    """Whether each feature gate of a release is on."""

    def __init__(
        self, settings: Mapping[str, bool] | None = None, release: Release = V1_25
    ) -> None:
        self.release = release
        self._on = {name: state in _ON for name, state in states(release).items()}
        self._on.update(settings or {})

    def __getitem__(self, name: str) -> bool:
        return self._on[name]


def is_gate(name: str) -> bool:
    """Whether `--feature-gates` knows a gate in any release."""
    return name in _STAGES or any(
        states(release).get(name) in _STATES for release in RELEASES.values()
    )


def parse_gates(text: str, release: Release = V1_25) -> Gates:
    """Read `Name=true,Other=false`; raises GateError."""
    gate_states = states(release)
    settings: dict[str, bool] = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        name, equals, value = part.partition("=")
        if not equals:
            raise GateError(f"missing bool value for {name}")
        on = parse_bool(value)
        if on is None:
            raise GateError(f"invalid value of {name}={value}: must be true or false")
        if name in _STAGES:
            for gate, state in gate_states.items():
                if state == _STAGES[name]:
                    settings.setdefault(gate, on)
        elif gate_states.get(name) not in _STATES:
            raise GateError(f"unrecognized feature gate: {name}")
        elif gate_states[name] == "locked" and not on:
            raise GateError(f"cannot set feature gate {name} to false, feature is locked to true")
        else:
            settings[name] = on
    return Gates(settings, release)


# Booleans in flags and in some annotations

_WORDS: Final = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False),
}


def parse_bool(text: str) -> bool | None:
    """The boolean, or None if the text is not a boolean."""
    return _WORDS.get(text)
