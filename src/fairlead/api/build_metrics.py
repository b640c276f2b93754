"""Metrics that say what runs, and with which features; they never change."""

from __future__ import annotations

from collections.abc import Mapping

from fairlead.base.metrics import Family, Labels
from fairlead.resources.gates import Gates, stages

_BUILD = {
    "build_date": "buildDate",
    "compiler": "compiler",
    "git_commit": "gitCommit",
    "git_tree_state": "gitTreeState",
    "git_version": "gitVersion",
    "go_version": "goVersion",
    "major": "major",
    "minor": "minor",
    "platform": "platform",
}


def build_families(version: Mapping[str, str], gates: Gates) -> list[Family]:
    """`version` is the document of /version."""
    build: Labels = tuple(version.get(field, "") for field in _BUILD.values())
    features: dict[Labels, float] = {
        (name, stage): float(gates[name]) for name, stage in sorted(stages(gates.release).items())
    }
    return [
        Family(
            "kubernetes_build_info",
            "gauge",
            "The release of the API and the program that serves it.",
            tuple(_BUILD),
            (),
            {build: 1.0},
            common=True,
        ),
        Family(
            "kubernetes_feature_enabled",
            "gauge",
            "1 for a feature gate that is on.",
            ("name", "stage"),
            (),
            features,
            common=True,
        ),
    ]
