"""Which controllers `--controllers` enables."""

from __future__ import annotations

import pytest
from support.namespaces import Space
from support.process import FreshServer
from support.waiting import eventually

from fairlead.controllers.catalogue import ControllerNameError, parse_controllers


def test_all_run_but_those_that_are_off_by_default() -> None:
    for text in ("", "*"):
        running = parse_controllers(text).running
        assert "namespace" in running
        assert not running & {"tokencleaner", "bootstrapsigner"}


def test_without_a_star_only_those_named_run() -> None:
    assert parse_controllers("tokencleaner").running == {"tokencleaner"}


def test_a_minus_leaves_one_out() -> None:
    running = parse_controllers("*,-namespace").running
    assert "namespace" not in running
    assert "serviceaccount-token" in running


def test_a_minus_and_a_star_leave_all_out() -> None:
    assert parse_controllers("-*").running == frozenset()


def test_what_cannot_be_switched_is_named() -> None:
    assert parse_controllers("*,-route,nodeipam").without_effect == ("-route", "nodeipam")


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ControllerNameError, match='unknown controller "jobs"'):
        parse_controllers("*,jobs")


def test_a_controller_that_is_left_out_does_nothing(fresh_server: FreshServer) -> None:
    client = fresh_server("--controllers=*,-serviceaccount").client()
    assert client.post("/api/v1/namespaces", {"metadata": {"name": "n"}}).status == 201
    authority = "/api/v1/namespaces/n/configmaps/kube-root-ca.crt"
    eventually(lambda: client.get(authority).status == 200, "the other controllers work")
    assert client.get("/api/v1/namespaces/n/serviceaccounts").names == []


def test_flags_without_effect_are_named_at_start(fresh_server: FreshServer) -> None:
    server = fresh_server("--etcd-db-metric-poll-interval=9s", "--controllers=*,route")
    text = server.log.read_text()
    assert 'no effect in this release yet flag="--etcd-db-metric-poll-interval"' in text
    assert 'flag="--controllers=route"' in text


@pytest.mark.both_dialects
def test_what_controllers_and_the_server_write_is_theirs(space: Space) -> None:
    space.furnished()
    prefix = space.dialect.system_prefix
    authority = space.config_maps.read(space.dialect.ca_config_map)
    namespace = space.everywhere("namespaces").read("default")
    managers = [
        {entry["manager"] for entry in item["metadata"]["managedFields"]}
        for item in (authority, namespace)
    ]
    assert managers == [{f"{prefix}-controller-manager"}, {f"{prefix}-apiserver"}]


def test_roles_are_aggregated_in_the_name_of_their_controller(fresh_server: FreshServer) -> None:
    roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
    client = fresh_server().client()
    entries = client.get(f"{roles}/view").body["metadata"]["managedFields"]
    managers = {(entry["manager"], entry["operation"]) for entry in entries}
    assert ("clusterrole-aggregation-controller", "Apply") in managers
    label = "rbac.authorization.k8s.io/aggregate-to-view"
    rule = {"apiGroups": ["example.com"], "resources": ["things"], "verbs": ["get"]}
    manifest = {"metadata": {"name": "more", "labels": {label: "true"}}, "rules": [rule]}
    assert client.post(roles, manifest).status == 201
    eventually(lambda: rule in client.get(f"{roles}/view").body["rules"], "it is aggregated")


def test_rules_are_taken_away_when_no_role_gives_any(space: Space) -> None:
    roles = space.everywhere("clusterroles", "rbac.authorization.@")
    rule = {"apiGroups": ["example.com"], "resources": ["things"], "verbs": ["get"]}
    own, part = f"{space.name}-own", f"{space.name}-part"
    selectors = [{"matchLabels": {"part-of": space.name}}]
    roles.create(own, aggregationRule={"clusterRoleSelectors": selectors}, rules=None)
    roles.create(part, labels={"part-of": space.name}, rules=[rule])
    eventually(lambda: roles.read(own)["rules"] == [rule], "it is aggregated")
    assert roles.delete(part).status == 200
    eventually(lambda: roles.read(own)["rules"] is None, "nothing is left")
