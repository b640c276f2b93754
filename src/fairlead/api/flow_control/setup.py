"""Builds priority and fairness from the flags."""

from __future__ import annotations

import argparse

from fairlead.api.chain import Handler
from fairlead.api.flow_control.configuration import Configuration
from fairlead.api.flow_control.dumps import pages
from fairlead.api.flow_control.gate import Estimator, Gate
from fairlead.auth.authorization.bindings import Follow
from fairlead.operations.api import Api
from fairlead.resources.flowcontrol.bootstrap import mandatory_levels

SCHEMAS, LEVELS = "flowschemas", "prioritylevelconfigurations"
_VERSIONS = ("flowcontrol/v1", "flowcontrol/v1beta2", "flowcontrol/v1beta1")
_PATIENT = 60.0  # seconds, if requests have no timeout


def build_gate(options: argparse.Namespace, api: Api, follow: Follow) -> Gate | None:
    """The gate for all requests; None if it is disabled or there are no seats to divide."""
    total = options.max_requests_inflight + options.max_mutating_requests_inflight
    if not options.enable_priority_and_fairness or not total:
        return None
    configuration = Configuration(
        api.dialect,
        total,
        options.workers,
        mandatory_levels(api.resources.release),
        lends=api.gates["PriorityLevelBorrowing"],
    )
    served = [one for one in _VERSIONS if api.resources.serves(f"{one}/{SCHEMAS}")]
    with configuration.loading():
        for version in served[:1]:  # all versions have the same stored objects
            follow(f"{version}/{LEVELS}", configuration.level_changed)
            follow(f"{version}/{SCHEMAS}", configuration.schema_changed)
    return Gate(configuration, Estimator(api), (options.request_timeout or _PATIENT) / 4)


def place_gate(gate: Gate, handler: Handler) -> None:
    handler.classify = gate.classify
    handler.pages |= pages(gate)
