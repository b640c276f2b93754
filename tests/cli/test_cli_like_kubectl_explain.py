"""`fairlead explain` has the layout of kubectl."""

from __future__ import annotations

from pathlib import Path

from support.commands import Commands
from support.kubectl import Kubectl, compared

pytestmark = compared


def test_the_same_is_told(fairlead_kubernetes: Commands, tmp_path: Path) -> None:
    kubectl = Kubectl(fairlead_kubernetes.space.server, "default", tmp_path)
    for words in (
        ("pods",),
        ("pods.spec",),
        ("deployments.spec.strategy.type",),
        ("cronjob.spec", "--recursive"),
        ("crd.spec.versions.schema.openAPIV3Schema",),
        ("crd.spec.versions.schema.openAPIV3Schema", "--recursive"),
        ("hpa.spec", "--api-version=autoscaling/v1"),
    ):
        assert fairlead_kubernetes("explain", *words) == kubectl("explain", *words)
