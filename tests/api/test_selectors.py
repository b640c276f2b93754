"""Label and field selectors on lists: their grammar, what they match and what is refused."""

from __future__ import annotations

import pytest
from support.client import Query
from support.namespaces import Space
from support.process import ServerProcess

LABELS = {
    "a": {"env": "prod", "tier": "web", "n": "5"},
    "b": {"env": "dev", "example.com/x": "y", "n": "20"},
    "c": {"tier": "", "n": "ten"},
    "d": {},
}


@pytest.fixture
def labelled(space: Space) -> Space:
    for name, labels in LABELS.items():
        space.secrets.create(name, labels=labels)
    return space


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("", "abcd"),
        ("env=prod", "a"),
        ("env==prod", "a"),
        ("env!=prod", "bcd"),
        ("env in (prod,dev)", "ab"),
        ("env in (prod)", "a"),
        ("env notin (prod,dev)", "cd"),
        ("env notin (dev)", "acd"),
        ("env", "ab"),
        ("!env", "cd"),
        ("tier", "ac"),
        ("tier=", "c"),
        ("tier!=", "abd"),
        ("tier in ()", "c"),
        ("tier in (,web)", "ac"),
        ("example.com/x=y", "b"),
        ("example.com/x", "b"),
        ("env=prod,tier=web", "a"),
        ("env=prod,tier=db", ""),
        ("env,!tier", "b"),
        ("env in (prod,dev),tier", "a"),
        (" env = prod , tier ", "a"),
        ("env  in  ( prod , dev )", "ab"),
        ("n>6", "b"),
        ("n<6", "a"),
        ("n>1,n<100", "ab"),
        ("env=prod,env=dev", ""),
        ("in=x", ""),
    ],
)
def test_a_label_selector_finds(labelled: Space, selector: str, expected: str) -> None:
    assert labelled.secrets.names(labelSelector=selector) == list(expected)


@pytest.mark.parametrize(
    "selector",
    [
        "env=prod,",
        ",env",
        "env in prod",
        "env in (prod",
        "env (prod)",
        "env=prod tier=web",
        "!",
        "=prod",
        "env===prod",
        "env=pr od",
        "env>abc",
        "env in (prod dev)",
        "bad key=1",
        "-x=1",
        "a/b/c=1",
        "env=-bad-",
        f"env={'x' * 64}",
        f"{'x' * 64}=1",
        "(env)",
        "env!",
    ],
)
def test_a_label_selector_that_cannot_be_read_is_refused(space: Space, selector: str) -> None:
    answer = space.secrets.list(labelSelector=selector)
    assert (answer.status, answer.body["reason"]) == (400, "BadRequest"), answer.text
    assert answer.message


@pytest.mark.parametrize("selector", ["labelSelector", "fieldSelector"])
def test_a_selector_of_thousands_of_terms_is_refused(space: Space, selector: str) -> None:
    terms = ",".join(f"metadata.name!={n}" for n in range(2001))
    answer = space.secrets.list(**{selector: terms})
    assert (answer.status, answer.body["reason"]) == (400, "BadRequest")
    assert "may have 2000 conditions and values at most" in answer.message


def test_a_refused_label_selector_says_why(space: Space) -> None:
    answer = space.secrets.list(labelSelector="env=-bad-")
    assert answer.message.startswith(
        'unable to parse requirement: values[0][env]: Invalid value: "-bad-": a valid label must be'
    )


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("", "abc"),
        ("metadata.name=a", "a"),
        ("metadata.name==a", "a"),
        ("metadata.name!=a", "bc"),
        ("metadata.name=a,metadata.name=b", ""),
        ("metadata.name=none", ""),
        ("type=example.com/t", "a"),
        ("type!=example.com/t", "bc"),
        ("type=Opaque,metadata.name!=b", "c"),
        ("metadata.namespace!=none", "abc"),
        ("metadata.namespace=none", ""),
        ("metadata.name=a,", "a"),
    ],
)
def test_a_field_selector_finds(space: Space, selector: str, expected: str) -> None:
    space.secrets.create("a", type="example.com/t")
    space.secrets.create_all("b", "c")
    assert space.secrets.names(fieldSelector=selector) == list(expected)


def test_a_value_of_a_field_selector_may_be_escaped(space: Space) -> None:
    space.secrets.create("a", type="example.com/a,b=c")
    answer = space.secrets.list(fieldSelector=r"type=example.com/a\,b\=c")
    assert answer.names == ["a"]


def test_label_and_field_selectors_both_count(space: Space) -> None:
    for name in "ab":
        space.secrets.create(name, labels={"x": "1"})
    space.secrets.create("c")
    assert space.secrets.names(labelSelector="x", fieldSelector="metadata.name!=a") == ["b"]


def test_a_field_selector_finds_one_object_across_namespaces(space: Space) -> None:
    space.secrets.create("a")
    selector = f"metadata.namespace={space.name},metadata.name=a"
    assert space.everywhere("secrets").names(fieldSelector=selector) == ["a"]


def test_cluster_scoped_objects_are_found_by_name(space: Space) -> None:
    namespaces = space.everywhere("namespaces")
    assert namespaces.names(fieldSelector=f"metadata.name={space.name}") == [space.name]
    assert namespaces.names(fieldSelector=f"metadata.name={space.name},status.phase=Active") == [
        space.name
    ]


def test_cluster_scoped_objects_are_in_no_namespace(space: Space) -> None:
    name = f"class-{space.name}"
    classes = space.everywhere("priorityclasses", "scheduling.@")
    classes.create(name, value=1)
    assert classes.names(fieldSelector=f"metadata.name={name},metadata.namespace=") == [name]
    assert classes.names(fieldSelector=f"metadata.name={name},metadata.namespace=x") == []


@pytest.mark.parametrize(
    ("kind", "group"),
    [("nodes", ""), ("namespaces", ""), ("certificatesigningrequests", "certificates.@")],
)
def test_with_fields_of_its_own_a_cluster_scoped_kind_knows_no_namespace(
    space: Space, kind: str, group: str
) -> None:
    answer = space.everywhere(kind, group).list(fieldSelector="metadata.namespace=")
    assert (answer.status, answer.message) == (400, "field label not supported: metadata.namespace")


@pytest.mark.parametrize("selector", ["metadata.name", "metadata.name>a", "a in (b)"])
def test_a_field_selector_knows_only_equality(space: Space, selector: str) -> None:
    answer = space.secrets.list(fieldSelector=selector)
    assert answer.status == 400
    assert answer.message.startswith(f"invalid selector: '{selector}'; can't understand '")


def test_a_field_that_cannot_be_selected_by_is_refused(space: Space) -> None:
    answer = space.secrets.list(fieldSelector="data.k=v")
    assert (answer.status, answer.message) == (400, "field label not supported: data.k")


def test_a_kind_without_selectable_fields_says_which_there_are(space: Space) -> None:
    answer = space.config_maps.list(fieldSelector="data.k=v")
    assert (answer.status, answer.message) == (
        400,
        '"data.k" is not a known field selector: only "metadata.name", "metadata.namespace"',
    )


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("spec.nodeName=node-1", "a"),
        ("spec.nodeName=", "b"),
        ("spec.host=node-1", "a"),
        ("spec.restartPolicy=Never", "b"),
        ("spec.restartPolicy!=Never", "a"),
        ("status.phase=Pending", "ab"),
        ("spec.schedulerName=mine", "b"),
        ("status.podIP=", "ab"),
        ("status.nominatedNodeName=x", ""),
    ],
)
def test_pods_are_found_by_their_fields(space: Space, selector: str, expected: str) -> None:
    space.ready_for_pods()
    pods = space.collection("pods")
    common = {"automountServiceAccountToken": False, "containers": [{"name": "c", "image": "i"}]}
    pods.create("a", spec={**common, "nodeName": "node-1"})
    pods.create("b", spec={**common, "restartPolicy": "Never", "schedulerName": "mine"})
    assert pods.names(fieldSelector=selector) == list(expected)


def test_events_are_found_by_what_they_are_about_in_both_groups(space: Space) -> None:
    events = space.collection("events")
    events.create(
        "e1",
        involvedObject={"kind": "Pod", "name": "p1", "namespace": space.name, "uid": "u-1"},
        reason="Started",
        type="Normal",
        source={"component": "me"},
    )
    events.create(
        "e2",
        involvedObject={"kind": "Node", "name": "p2", "namespace": space.name},
        reason="Failed",
        type="Warning",
        source={"component": "you"},
    )
    assert events.names(fieldSelector="involvedObject.name=p1,involvedObject.kind=Pod") == ["e1"]
    assert events.names(fieldSelector="reason=Failed,type=Warning,source=you") == ["e2"]
    newer = space.collection("events", "events.@")
    assert newer.names(fieldSelector="regarding.name=p1") == ["e1"]
    answer = newer.list(fieldSelector="involvedObject.name=p1")
    assert (answer.status, answer.message) == (
        400,
        "field label not supported: involvedObject.name",
    )


@pytest.mark.both_dialects
def test_a_selector_finds_by_labels_as_they_are_now(space: Space) -> None:
    space.secrets.create("a", labels={"x": "1"})
    space.secrets.label("a", x="2")
    assert space.secrets.names(labelSelector="x=1") == []
    assert space.secrets.names(labelSelector="x=2") == ["a"]


@pytest.mark.parametrize("selector", ["=", "==", "!=", "=,metadata.name!=a"])
def test_a_bare_operator_asks_for_no_field(space: Space, selector: str) -> None:
    space.secrets.create("b")
    assert "b" in space.secrets.list(fieldSelector=selector).names


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"fieldSelector": "metadata.name=etcd-0"}, ["etcd-0"]),
        ({"fieldSelector": "metadata.name!=etcd-0"}, ["scheduler", "controller-manager"]),
        ({"fieldSelector": "metadata.namespace=x"}, []),
        ({"labelSelector": "a"}, []),
        ({"labelSelector": "!a"}, ["scheduler", "controller-manager", "etcd-0"]),
    ],
)
def test_component_statuses_are_selected(
    space: Space, query: dict[str, Query], expected: list[str]
) -> None:
    assert space.client.get("/api/v1/componentstatuses", **query).names == expected


def test_a_scheduler_of_simulated_nodes_is_a_component(simulated: ServerProcess) -> None:
    listed = simulated.client().get("/api/v1/componentstatuses")
    assert listed.names == ["scheduler", "controller-manager", "etcd-0"]
    assert [each["conditions"][0]["message"] for each in listed.body["items"]] == ["ok"] * 3


def test_component_statuses_know_no_other_field(space: Space) -> None:
    answer = space.client.get("/api/v1/componentstatuses", fieldSelector="spec.nodeName=x")
    assert (answer.status, answer.body["reason"]) == (400, "BadRequest")
