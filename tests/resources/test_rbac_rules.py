"""Rules of roles and bindings."""

from __future__ import annotations

from typing import Any

import pytest
from support.group_rules import DIALECTS, Kind, changed, invalid, required, unsupported

from fairlead.base.dialect import KUBERNETES
from fairlead.base.release import V1_25, V1_36, Release
from fairlead.codec.types.names import dns_subdomain, qualified_name

GROUP = "rbac.authorization.k8s.io"
RULE = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}
SELECTORS = "aggregationRule.clusterRoleSelectors"
BINDING: dict[str, Any] = {"roleRef": {"kind": "ClusterRole", "name": "r"}}
BOTH = "rules cannot apply to both regular resources and non-resource URLs"


@pytest.mark.parametrize(
    ("rule", "causes"),
    [
        ({}, []),
        (
            {"verbs": []},
            [required("rules[0].verbs", "verbs must contain at least one value")],
        ),
        (
            {"apiGroups": [], "resources": []},
            [
                required("rules[0].apiGroups", "resource rules must supply at least one api group"),
                required("rules[0].resources", "resource rules must supply at least one resource"),
            ],
        ),
        (
            {"nonResourceURLs": ["/x"]},
            [invalid("rules[0].nonResourceURLs", '[]string{"/x"}', BOTH)],
        ),
        ({"nonResourceURLs": ["/x", "*"], "apiGroups": [], "resources": []}, []),
    ],
)
def test_rules_of_a_cluster_role(rule: dict[str, Any], causes: list[Any]) -> None:
    assert Kind("rbac/v1/clusterroles").wrong({"rules": [{**RULE, **rule}]}) == causes


def test_a_role_speaks_of_its_namespace_only() -> None:
    rule = {"verbs": ["get"], "nonResourceURLs": ["/x"]}
    detail = "namespaced rules cannot apply to non-resource URLs"
    causes = Kind("rbac/v1/roles").wrong({"rules": [rule]})
    assert causes == [invalid("rules[0].nonResourceURLs", '[]string{"/x"}', detail)]


@pytest.mark.parametrize(
    ("selectors", "causes"),
    [
        ([{"matchLabels": {"a": "b"}}], []),
        (
            [],
            [
                required(
                    SELECTORS,
                    "at least one clusterRoleSelector required if aggregationRule is non-nil",
                )
            ],
        ),
        (
            [{"matchLabels": {"bad key": "x"}}],
            [
                invalid(f"{SELECTORS}[0].matchLabels", '"bad key"', qualified_name("bad key")[0]),
                invalid(f"{SELECTORS}[0]", '"null"', "invalid label selector."),
            ],
        ),
        (
            [{"matchExpressions": [{"key": "k", "operator": "In", "values": ["bad value"]}]}],
            [invalid(f"{SELECTORS}[0]", '"null"', "invalid label selector.")],
        ),
    ],
)
def test_aggregation(selectors: list[Any], causes: list[Any]) -> None:
    value = {"aggregationRule": {"clusterRoleSelectors": selectors}}
    assert Kind("rbac/v1/clusterroles").wrong(value) == causes


@pytest.mark.parametrize("name", ["system:x", "A", "a b"])
def test_names_are_free_but_for_slashes(name: str) -> None:
    kind = Kind("rbac/v1/roles")
    assert kind.wrong({"metadata": {"name": name}}) == []
    causes = kind.wrong({"metadata": {"name": f"{name}/"}})
    assert causes == [invalid("metadata.name", f'"{name}/"', "may not contain '/'")]


@pytest.mark.parametrize(
    ("role", "causes"),
    [
        (
            {"kind": "", "name": ""},
            [
                unsupported("roleRef.kind", '""', "Role", "ClusterRole"),
                required("roleRef.name"),
            ],
        ),
        (
            {"apiGroup": "apps", "kind": "Role", "name": "a/b"},
            [
                unsupported("roleRef.apiGroup", '"apps"', GROUP),
                invalid("roleRef.name", '"a/b"', "may not contain '/'"),
            ],
        ),
    ],
)
def test_role_of_a_binding(role: dict[str, Any], causes: list[Any]) -> None:
    assert Kind("rbac/v1/rolebindings").wrong({"roleRef": role}) == causes


@pytest.mark.parametrize(
    ("subject", "causes"),
    [
        ({"kind": "User", "name": "u", "namespace": "x"}, []),
        ({"kind": "ServiceAccount", "name": "s"}, []),
        ({"kind": "User", "name": ""}, [required("subjects[0].name")]),
        (
            {"kind": "Robot", "name": "u"},
            [unsupported("subjects[0].kind", '"Robot"', "ServiceAccount", "User", "Group")],
        ),
        (
            {"kind": "Group", "name": "u", "apiGroup": "apps"},
            [unsupported("subjects[0].apiGroup", '"apps"', GROUP)],
        ),
        (
            {"kind": "ServiceAccount", "name": "Bad_", "apiGroup": GROUP},
            [
                invalid("subjects[0].name", '"Bad_"', dns_subdomain("Bad_")[0]),
                unsupported("subjects[0].apiGroup", f'"{GROUP}"', ""),
            ],
        ),
    ],
)
def test_subjects(subject: dict[str, Any], causes: list[Any]) -> None:
    assert Kind("rbac/v1/rolebindings").wrong({**BINDING, "subjects": [subject]}) == causes


def test_a_cluster_role_binding_is_stricter() -> None:
    kind = Kind("rbac/v1/clusterrolebindings")
    subject = {"kind": "ServiceAccount", "name": "s"}
    causes = kind.wrong({"roleRef": {"kind": "Role", "name": "r"}, "subjects": [subject]})
    assert causes == [
        unsupported("roleRef.kind", '"Role"', "ClusterRole"),
        required("subjects[0].namespace"),
    ]


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
def test_groups_are_filled_in(dialect: Any) -> None:
    subjects = [{"kind": kind, "name": "x"} for kind in ("User", "Group", "ServiceAccount")]
    value = Kind("rbac/v1/rolebindings", dialect).existing({**BINDING, "subjects": subjects})
    group = dialect.group_name("rbac.authorization.@")
    assert value["roleRef"]["apiGroup"] == group
    assert [subject.get("apiGroup") for subject in value["subjects"]] == [group, group, None]


def test_the_role_of_a_binding_stays() -> None:
    kind = Kind("rbac/v1/rolebindings")
    _, causes = kind.update(kind.existing(BINDING), changed(BINDING, {"roleRef.name": "other"}))
    message = f'rbac.RoleRef{{APIGroup:"{GROUP}", Kind:"ClusterRole", Name:"other"}}'
    assert causes == [invalid("roleRef", message, "cannot change roleRef")]


said = pytest.mark.parametrize(("release", "times"), [(V1_25, 2), (V1_36, 1)])


@said
@pytest.mark.parametrize("key", ["rbac/v1/roles", "rbac/v1/clusterroles"])
def test_early_releases_say_twice_what_is_wrong_with_a_changed_role(
    key: str, release: Release, times: int
) -> None:
    kind = Kind(key, KUBERNETES, release)
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]
    wrong = [{**rules[0], "verbs": []}]
    _, causes = kind.update(kind.existing({"rules": rules}), {"rules": wrong})
    assert causes == [required("rules[0].verbs", "verbs must contain at least one value")] * times


@said
def test_early_releases_say_twice_what_is_wrong_with_a_changed_binding(
    release: Release, times: int
) -> None:
    kind = Kind("rbac/v1/rolebindings", KUBERNETES, release)
    nameless = [{"kind": "Group", "apiGroup": GROUP, "name": ""}]
    _, causes = kind.update(kind.existing(BINDING), changed(BINDING, {"subjects": nameless}))
    assert causes == [required("subjects[0].name")] * times
