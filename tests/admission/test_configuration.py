"""The admission configuration file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.admission import both_dialects
from support.logged import logged
from support.process import failed_start

from fairlead.admission.catalogue import known_plugins
from fairlead.admission.configuration import Configuration, read_configuration
from fairlead.base.dialect import CLUSTER, KUBERNETES, Dialect
from fairlead.base.release import V1_25
from fairlead.codec.configuration_files import ConfigurationError
from fairlead.codec.types.builtin import BuiltinTypes

Object = dict[str, Any]


def _own(dialect: Dialect, version: str = "v1") -> str:
    return dialect.group_name(f"apiserver.config.@/{version}")


def _file(*plugins: Object, dialect: Dialect = KUBERNETES, version: str = "") -> Object:
    return {
        "apiVersion": version or _own(dialect),
        "kind": "AdmissionConfiguration",
        "plugins": list(plugins),
    }


def _read(directory: Path, content: Any, dialect: Dialect = KUBERNETES) -> Configuration:
    path = directory / "admission.yaml"
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    return read_configuration(path, BuiltinTypes(dialect), known_plugins(V1_25))


def _quota(dialect: Dialect = KUBERNETES, **fields: Any) -> Object:
    return {"apiVersion": _own(dialect), "kind": "ResourceQuotaConfiguration", **fields}


LIMITED = {"resource": "pods", "matchContains": ["pods"]}


@both_dialects
def test_a_plugin_is_configured_inline(tmp_path: Path, dialect: Dialect) -> None:
    entry = {
        "name": "ResourceQuota",
        "configuration": _quota(dialect, limitedResources=[LIMITED]),
    }
    result = _read(tmp_path, _file(entry, dialect=dialect), dialect).of("ResourceQuota")
    assert result is not None
    assert result.value == {"limitedResources": [LIMITED]}
    assert str(result.error("limitedResources[0].resource", "no")) == (
        f"--admission-control-config-file: {tmp_path}/admission.yaml:"
        " plugins[0].configuration.limitedResources[0].resource: no"
    )


def test_a_path_is_relative_to_the_file(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    other = tmp_path / "more" / "selectors.yaml"
    other.write_text("podNodeSelectorPluginConfig: {clusterDefaultNodeSelector: a=b}")
    configuration = _read(
        tmp_path, _file({"name": "PodNodeSelector", "path": "more/selectors.yaml"})
    )
    section = configuration.of("PodNodeSelector")
    assert section is not None
    assert section.value["podNodeSelectorPluginConfig"] == {"clusterDefaultNodeSelector": "a=b"}
    assert section.beside("x") == tmp_path / "more" / "x"
    assert str(section.error("a", "no")) == f"--admission-control-config-file: {other}: a: no"


def test_a_plugin_that_is_not_named_has_none(tmp_path: Path) -> None:
    configuration = _read(tmp_path, _file({"name": "PodSecurity"}))
    assert configuration.of("PodSecurity") is None
    assert configuration.of("ResourceQuota") is None


@pytest.mark.parametrize("group", ["apiserver.config.@", "apiserver.@"])
@both_dialects
def test_the_old_version_is_taken_with_a_warning(
    tmp_path: Path, dialect: Dialect, group: str, caplog: pytest.LogCaptureFixture
) -> None:
    version = dialect.group_name(f"{group}/v1alpha1")
    _read(tmp_path, _file(dialect=dialect, version=version), dialect)
    assert f'version="{version}" use="{_own(dialect)}"' in logged(caplog)


def test_old_versions_of_plugins_are_warned_of_if_there_are_newer_ones(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    old = {"apiVersion": "resourcequota.admission.k8s.io/v1alpha1", "kind": "Configuration"}
    only = {"apiVersion": "eventratelimit.admission.k8s.io/v1alpha1", "kind": "Configuration"}
    hooks = {"apiVersion": _own(KUBERNETES, "v1alpha1"), "kind": "WebhookAdmission"}
    _read(
        tmp_path,
        _file(
            {"name": "ResourceQuota", "configuration": old},
            {"name": "EventRateLimit", "configuration": only},
            {"name": "ValidatingAdmissionWebhook", "configuration": hooks},
        ),
    )
    assert re.findall(r"plugins\[(\d)\]", logged(caplog)) == ["0", "2"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (_file({"name": "Nonsense"}), 'plugins[0].name: unknown plugin "Nonsense"'),
        (
            _file({"name": "Priority"}, {"name": "Priority"}, {}),
            'plugins[2].name: unknown plugin ""',
        ),
        (
            _file(
                {"name": "PodSecurity", "path": "p.yaml"},
                {"name": "PodSecurity", "path": "p.yaml"},
            ),
            "plugins[1].name: PodSecurity is configured twice",
        ),
        (_file({"name": "Priority", "pat": "x"}), "plugins[0].pat: unknown field"),
        ({**_file(), "plugin": []}, "plugin: unknown field"),
        (_file(version="apiserver.config.k8s.io/v2"), 'apiVersion: "apiserver.config.k8s.io/v2"'),
        ({**_file(), "kind": "Pod"}, 'kind: "Pod" is not known in apiserver.config.k8s.io/v1'),
        ({"plugins": []}, "apiVersion: nothing is not known"),
        ({**_file(), "plugins": "x"}, "plugins: is of type string, not []"),
        ("[]", "is not a mapping of fields"),
        ("", "is not a mapping of fields"),
        ("{", "yaml: "),
        ("kind: a\nkind: b\n", 'line 2: key "kind" already set in map'),
        (
            _file({"name": "ResourceQuota", "configuration": _quota(limit=1)}),
            "plugins[0].configuration.limit: unknown field",
        ),
        (
            _file(
                {
                    "name": "ResourceQuota",
                    "configuration": _quota(limitedResources=[LIMITED, {"resources": "pods"}]),
                }
            ),
            "plugins[0].configuration.limitedResources[1].resources: unknown field",
        ),
        (
            _file({"name": "ResourceQuota", "configuration": {"kind": "Configuration"}}),
            "plugins[0].configuration.apiVersion: nothing is not known",
        ),
        (
            _file({"name": "Priority", "configuration": {}}),
            "plugins[0].configuration: Priority takes no configuration",
        ),
        (
            _file({"name": "ResourceQuota", "configuration": _quota(), "path": "x"}),
            "plugins[0].path: may not be given together with configuration",
        ),
        (
            _file({"name": "PodSecurity", "path": "missing"}),
            "missing: cannot be read: No such file or directory",
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_place(tmp_path: Path, content: Any, message: str) -> None:
    version = "pod-security.admission.config.k8s.io/v1"
    (tmp_path / "p.yaml").write_text(f"kind: PodSecurityConfiguration\napiVersion: {version}\n")
    with pytest.raises(ConfigurationError, match=re.escape(message)) as caught:
        _read(tmp_path, content)
    assert str(caught.value).startswith(f"--admission-control-config-file: {tmp_path}/")
    assert "\n" not in str(caught.value)


def test_names_of_the_other_dialect_are_unknown(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"only apiserver\.config\.cluster\.io/v1"):
        _read(tmp_path, _file(), CLUSTER)


def test_a_wrong_file_stops_the_start_with_one_line(tmp_path: Path) -> None:
    path = tmp_path / "admission.yaml"
    path.write_text(yaml.safe_dump(_file({"name": "Nonsense"})))
    done = failed_start(tmp_path, "--admission-control-config-file", str(path))
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        f"fairlead: --admission-control-config-file: {path}: plugins[0].name: unknown plugin"
        ' "Nonsense"'
    ]
