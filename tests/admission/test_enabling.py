"""Which plugins run, and in which order."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
import yaml
from support.admission import USER, World, run_step
from support.logged import logged

from fairlead.admission.catalogue import (
    PluginNameError,
    build_plugins,
    enabled_plugins,
    known_plugins,
    on_by_default,
)
from fairlead.admission.chain import Chain
from fairlead.admission.configuration import FLAG, Configuration
from fairlead.admission.plugin import CREATE, Attributes, LazyPlugin, PluginBase
from fairlead.admission.plugins.base import refusal
from fairlead.base.dialect import CLUSTER, KUBERNETES, Dialect
from fairlead.base.errors import StatusError
from fairlead.base.release import V1_25, V1_36
from fairlead.codec.configuration_files import ConfigurationError, Section


def _built(dialect: Dialect = KUBERNETES, enabled: str = "", disabled: str = "") -> list[str]:
    return [plugin.name for plugin in build_plugins(dialect, enabled, disabled, World().needs)]


def test_default_plugins_in_their_order() -> None:
    assert _built() == [
        "NamespaceLifecycle",
        "LimitRanger",
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
        "ResourceQuota",
    ]


def test_default_plugins_of_the_later_release() -> None:
    added = on_by_default(KUBERNETES, V1_36) - on_by_default(KUBERNETES, V1_25)
    assert sorted(added) == [
        "ClusterTrustBundleAttest",
        "JobValidation",
        "MutatingAdmissionPolicy",
        "NodeDeclaredFeatureValidator",
        "PodGroupProtection",
        "PodGroupWorkloadExists",
        "PodResizeValidator",
        "PodTopologyLabels",
        "ValidatingAdmissionPolicy",
    ]
    removed = set(known_plugins(V1_25)) - set(known_plugins(V1_36))
    assert removed == {"PersistentVolumeLabel", "PodSecurityPolicy", "SecurityContextDeny"}
    order = known_plugins(V1_36)
    start = order.index("MutatingAdmissionPolicy")
    assert order[start : start + 4] == (
        "MutatingAdmissionPolicy",
        "MutatingAdmissionWebhook",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionWebhook",
    )


def test_the_client_signer_is_unlimited_in_one_dialect() -> None:
    limit = "CertificateSubjectRestriction"
    assert on_by_default(KUBERNETES, V1_25) - on_by_default(CLUSTER, V1_25) == {limit}
    assert limit not in _built(CLUSTER)
    assert limit in _built(CLUSTER, limit)


def test_flags_choose_but_do_not_order() -> None:
    names = _built(enabled="AlwaysPullImages, NodeRestriction", disabled="ServiceAccount,Priority")
    assert names[:5] == [
        "NamespaceLifecycle",
        "LimitRanger",
        "NodeRestriction",
        "TaintNodesByCondition",
        "AlwaysPullImages",
    ]
    assert "Priority" not in names


@pytest.mark.parametrize(
    ("enabled", "disabled", "message"),
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
def test_wrong_names(enabled: str, disabled: str, message: str) -> None:
    with pytest.raises(PluginNameError, match=f"^{message}"):
        _built(enabled=enabled, disabled=disabled)


def test_a_plugin_that_is_not_there_yet_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    name = "MutatingAdmissionWebhook"
    assert name not in _built(enabled=name)
    assert f'plugin="{name}"' in logged(caplog)


def test_plugins_of_other_parts_take_their_place() -> None:
    class Webhooks(PluginBase):
        name = "MutatingAdmissionWebhook"

    needs = dataclasses.replace(World().needs, others={Webhooks.name: Webhooks()})
    built = [plugin.name for plugin in build_plugins(KUBERNETES, "", "", needs)]
    assert built[-3:] == ["DefaultIngressClass", Webhooks.name, "ResourceQuota"]
    without = build_plugins(KUBERNETES, "", Webhooks.name, needs)
    assert Webhooks.name not in [plugin.name for plugin in without]


def _configuration(directory: Path) -> Configuration:
    """Just enough for the plugins that do not start without."""
    client = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c"}}],
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
    }
    (directory / "client").write_text(yaml.safe_dump(client))
    limits = {"limits": [{"type": "Server", "qps": 1, "burst": 1}]}
    policy = {"imagePolicy": {"kubeConfigFile": "client"}}
    file = directory / "admission.yaml"
    return Configuration(
        {
            "EventRateLimit": Section(limits, file, FLAG),
            "ImagePolicyWebhook": Section(policy, file, FLAG),
        }
    )


def test_every_plugin_bears_the_name_it_is_built_by(tmp_path: Path) -> None:
    webhooks = {"MutatingAdmissionWebhook", "ValidatingAdmissionWebhook"}
    known = [name for name in known_plugins(V1_25) if name not in webhooks]
    needs = dataclasses.replace(World().needs, configuration=_configuration(tmp_path))
    built = build_plugins(KUBERNETES, ",".join(known), "", needs)
    created = [plugin.plugin if isinstance(plugin, LazyPlugin) else plugin for plugin in built]
    assert [plugin.name for plugin in created] == [plugin.name for plugin in built] == known


def test_a_plugin_that_is_made_later_is_asked_about_all_that_concerns_it() -> None:
    built = build_plugins(KUBERNETES, "", "", World().needs)
    later = [plugin for plugin in built if isinstance(plugin, LazyPlugin)]
    assert later
    assert not any(plugin.is_built for plugin in later)
    assert [plugin.concerns for plugin in later] == [plugin.plugin.concerns for plugin in later]


def test_a_plugin_is_made_by_the_first_write_that_concerns_it() -> None:
    world, created = World(), []

    class Picky(PluginBase):
        name = "Picky"
        concerns = frozenset({"core/v1/pods"})

        def __init__(self) -> None:
            created.append(self)

        async def validate(self, attributes: Attributes) -> None:
            raise refusal(attributes, "no pods")

    chain = Chain([LazyPlugin(Picky.name, Picky.concerns, Picky)])

    def write(key: str) -> None:
        value = {"metadata": {"name": "a"}}
        resource = world.resources.named(key)
        attributes = Attributes(CREATE, resource, "ns", "a", value, None, USER, world.context())
        run_step(chain.validate, attributes)

    write("core/v1/configmaps")
    assert not chain.built_plugins()
    assert not created
    for _ in range(2):
        with pytest.raises(StatusError, match="no pods"):
            write("core/v1/pods")
    assert len(created) == 1


@pytest.mark.parametrize("name", ["EventRateLimit", "ImagePolicyWebhook"])
def test_plugins_that_must_be_configured(name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"{name} is enabled without"):
        _built(enabled=name)


def test_everything_can_be_switched_off() -> None:
    assert enabled_plugins(KUBERNETES, V1_25, "", ",".join(known_plugins(V1_25))) == []
