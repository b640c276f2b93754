"""Which plugins run, and in which order."""

from __future__ import annotations

import dataclasses

import pytest
from admission_support import World

from fairlead.admission.enabling import (
    ORDER,
    PluginNameError,
    build_plugins,
    on_by_default,
    switched_on,
)
from fairlead.admission.plugins.base import PluginBase
from fairlead.dialect import CLUSTER, KUBERNETES, Dialect


def _built(dialect: Dialect = KUBERNETES, enabled: str = "", disabled: str = "") -> list[str]:
    return [plugin.name for plugin in build_plugins(dialect, enabled, disabled, World().needs)]


def test_default_plugins_in_their_order() -> None:
    assert _built() == [
        "NamespaceLifecycle",
        "ServiceAccount",
        "TaintNodesByCondition",
        "PodSecurity",
        "Priority",
        "DefaultTolerationSeconds",
        "DefaultStorageClass",
        "StorageObjectInUseProtection",
        "PersistentVolumeClaimResize",
        "RuntimeClass",
        "CertificateApproval",
        "CertificateSigning",
        "CertificateSubjectRestriction",
        "DefaultIngressClass",
    ]


def test_the_client_signer_is_unlimited_in_one_dialect() -> None:
    limit = "CertificateSubjectRestriction"
    assert on_by_default(KUBERNETES) - on_by_default(CLUSTER) == {limit}
    assert limit not in _built(CLUSTER)
    assert limit in _built(CLUSTER, limit)


def test_flags_choose_but_do_not_order() -> None:
    names = _built(enabled="AlwaysPullImages, NodeRestriction", disabled="ServiceAccount,Priority")
    assert names[:4] == [
        "NamespaceLifecycle",
        "NodeRestriction",
        "TaintNodesByCondition",
        "AlwaysPullImages",
    ]
    assert "Priority" not in names


@pytest.mark.parametrize(
    ("enabled", "disabled", "said"),
    [
        ("Nonsense", "", '--enable-admission-plugins: unknown plugin "Nonsense"'),
        ("", "Priority,b,a", '--disable-admission-plugins: unknown plugin "a", "b"'),
        (
            "Priority",
            "Priority",
            "Priority in both --enable-admission-plugins and --disable-admission-plugins",
        ),
    ],
)
def test_wrong_names(enabled: str, disabled: str, said: str) -> None:
    with pytest.raises(PluginNameError, match=f"^{said}"):
        _built(enabled=enabled, disabled=disabled)


def test_a_plugin_that_is_not_there_yet_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    assert "ImagePolicyWebhook" not in _built(enabled="ImagePolicyWebhook")
    assert "ImagePolicyWebhook is not in this release yet" in caplog.text


def test_plugins_of_other_parts_take_their_place() -> None:
    class Limits(PluginBase):
        name = "LimitRanger"

    needs = dataclasses.replace(World().needs, others={"LimitRanger": Limits()})
    built = [plugin.name for plugin in build_plugins(KUBERNETES, "", "", needs)]
    assert built[:3] == ["NamespaceLifecycle", "LimitRanger", "ServiceAccount"]
    without = build_plugins(KUBERNETES, "", "LimitRanger", needs)
    assert "LimitRanger" not in [plugin.name for plugin in without]


def test_every_plugin_bears_the_name_it_is_built_by() -> None:
    missing = {
        "ImagePolicyWebhook",
        "PodNodeSelector",
        "PodTolerationRestriction",
        "EventRateLimit",
        "ExtendedResourceToleration",
        "PersistentVolumeLabel",
        "OwnerReferencesPermissionEnforcement",
    }
    elsewhere = {
        "LimitRanger",
        "MutatingAdmissionWebhook",
        "ValidatingAdmissionWebhook",
        "ResourceQuota",
    }
    known = [name for name in ORDER if name not in missing | elsewhere]
    assert _built(enabled=",".join(known)) == known


def test_everything_can_be_switched_off() -> None:
    assert switched_on(KUBERNETES, "", ",".join(ORDER)) == []
