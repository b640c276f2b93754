"""`fairlead explain` has the layout of kubectl v1.25."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.commands import Commands
from support.kubectl import Kubectl, compared

pytestmark = compared


def test_the_same_is_told(fairlead_kubernetes: Commands, tmp_path: Path) -> None:
    kubectl = Kubectl(fairlead_kubernetes.space.server, "default", tmp_path)
    if "plaintext-openapiv2" not in kubectl("explain", "--help"):
        pytest.skip("this kubectl has not the layout of v1.25: not compared")
    for words in (
        ("pods",),
        ("cronjob.spec", "--recursive"),
        ("crd.spec.versions.schema.openAPIV3Schema",),
    ):
        theirs = kubectl("explain", *words, "--output=plaintext-openapiv2")
        assert fairlead_kubernetes("explain", *words) == theirs
