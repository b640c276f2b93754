"""`fairlead tree`: dependents and owners of an object."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from support.commands import Commands
from support.namespaces import Space, random_word
from support.terminals import on_terminal
from support.waiting import eventually

Object = dict[str, Any]


def owner(value: Object) -> Object:
    """A reference to an object."""
    return {
        "apiVersion": value.get("apiVersion", "v1"),
        "kind": value.get("kind", "ConfigMap"),
        "name": value["metadata"]["name"],
        "uid": value["metadata"]["uid"],
    }


def create_owned(space: Space, name: str, *owners: Object) -> Object:
    references = {"ownerReferences": [owner(item) for item in owners]} if owners else {}
    return space.config_maps.create(name, metadata=references)


def names(text: str) -> list[str]:
    """The first column, with its lines."""
    return [re.findall(r"^[│├└─ ]*\S+", line)[0] for line in text.splitlines()[1:]]


def deployment(space: Space, name: str) -> None:
    """With a ReplicaSet and a pod made by the controllers; no node is there to run it."""
    labels = {"app": name}
    containers = [{"name": "c", "image": "i"}]
    space.collection("deployments", "apps").create(
        name,
        spec={
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": containers}},
        },
    )
    with space.collection("pods").watch() as events:
        assert events.next().name.startswith(f"{name}-")


def test_a_deployment_down_to_its_pods(fairlead: Commands) -> None:
    deployment(fairlead.space, "web")
    output = fairlead("tree", "deployment", "web")
    head, top, middle, pod = output.splitlines()
    assert head.split() == ["NAME", "READY", "STATUS", "AGE"]
    assert top.split()[:2] == ["Deployment/web", "0/1"]
    assert re.match(r"└─ReplicaSet/web-\w+ +0/1 ", middle)
    assert re.match(r"  └─Pod/web-\w+-\w+ +0/1 +Pending", pod)


def test_conditions_that_are_not_good_are_named(fairlead: Commands) -> None:
    deployment(fairlead.space, "web")
    numbers = json.loads(fairlead("tree", "deployment", "web", "-o", "json"))
    pod = numbers["owned"][0]["owned"][0]
    assert (pod["kind"], pod["status"]) == ("Pod", "Pending")
    fairlead.space.client.patch(
        fairlead.space.collection("pods").item(pod["name"], "status"),
        {"status": {"conditions": [{"type": "Ready", "status": "False", "reason": "Bad"}]}},
    )
    assert "Pending, Ready=False (Bad)" in fairlead("tree", "deployment", "web")


def test_up_towards_the_owners(fairlead: Commands) -> None:
    deployment(fairlead.space, "web")
    (pod,) = fairlead.space.collection("pods").names()
    texts = names(fairlead("tree", f"pod/{pod}", "--up"))
    assert texts[0] == f"Pod/{pod}"
    assert texts[1].startswith("└─ReplicaSet/web-")
    assert texts[2] == "  └─Deployment/web"


def test_several_below_one_are_drawn_as_branches(fairlead: Commands) -> None:
    top = create_owned(fairlead.space, "top")
    first = create_owned(fairlead.space, "a", top)
    create_owned(fairlead.space, "b", top)
    create_owned(fairlead.space, "c", first)
    assert names(fairlead("tree", "cm", "top")) == [
        "ConfigMap/top",
        "├─ConfigMap/a",
        "│ └─ConfigMap/c",
        "└─ConfigMap/b",
    ]


def test_objects_of_several_kinds(fairlead: Commands) -> None:
    top = create_owned(fairlead.space, "top")
    fairlead.space.secrets.create("s", metadata={"ownerReferences": [owner(top)]})
    fairlead.space.collection("serviceaccounts").create(
        "account", metadata={"ownerReferences": [owner(top)]}
    )
    assert names(fairlead("tree", "cm", "top"))[1:] == [
        "├─Secret/s",
        "└─ServiceAccount/account",
    ]


def test_an_object_with_two_owners_is_opened_once(fairlead: Commands) -> None:
    top = create_owned(fairlead.space, "top")
    left, right = (
        create_owned(fairlead.space, "left", top),
        create_owned(fairlead.space, "right", top),
    )
    both = create_owned(fairlead.space, "both", left, right)
    create_owned(fairlead.space, "last", both)
    output = fairlead("tree", "cm", "top")
    assert {"│ └─ConfigMap/both", "  └─ConfigMap/both"} <= set(names(output))
    assert output.count("ConfigMap/last") == 1
    assert output.count("(shown elsewhere)") == 1


def test_a_circle_ends(fairlead: Commands) -> None:
    maps = fairlead.space.config_maps
    value = create_owned(fairlead.space, "one")
    two = create_owned(fairlead.space, "two", value)
    references = {"metadata": {"ownerReferences": [owner(two)]}}
    assert maps.patch("one", references).status == 200
    for flags in ((), ("--up",)):
        output = fairlead("tree", "cm", "one", *flags)
        assert [name.strip("└─ ") for name in names(output)] == [
            "ConfigMap/one",
            "ConfigMap/two",
            "ConfigMap/one",
        ]
        assert "(shown elsewhere)" in output
    for name in ("one", "two"):
        assert maps.patch(name, {"metadata": {"ownerReferences": None}}).status == 200


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"kind": "Nothing", "apiVersion": "example.com/v1"}, "is of a kind that is not served"),
        ({"uid": "00000000-0000-0000-0000-000000000000"}, "another one has its name now"),
    ],
)
def test_an_owner_that_is_not_there(fairlead: Commands, wrong: Object, message: str) -> None:
    # Held, or it would be collected as garbage as soon as it is there.
    top = create_owned(fairlead.space, "top")
    held = {"finalizers": ["example.com/hold"]}
    references = [{**owner(top), **wrong}]
    fairlead.space.config_maps.create("below", metadata={**held, "ownerReferences": references})
    _, above = fairlead("tree", "cm", "below", "--up").splitlines()[1:]
    assert f"(missing), {message}" in above
    fairlead.space.config_maps.patch("below", {"metadata": {"finalizers": None}})


def test_what_a_cluster_scoped_object_owns_is_looked_for_everywhere(fairlead: Commands) -> None:
    classes = fairlead.space.everywhere("priorityclasses", "scheduling.@")
    name = f"class-{random_word()}"
    top = classes.create(name, value=1)
    create_owned(fairlead.space, "below", top)
    try:
        texts = names(fairlead("tree", "priorityclass", name))
        assert texts == [f"PriorityClass/{name}", f"└─ConfigMap/{fairlead.space.name}/below"]
    finally:
        classes.remove(name)


def test_custom_kinds_own_and_are_owned(fairlead: Commands) -> None:
    space, group = fairlead.space, f"{random_word()}.example.com"
    definitions = space.everywhere("customresourcedefinitions", "apiextensions.@")
    schema = {"type": "object", "properties": {"spec": {"type": "object"}}}
    definitions.create(
        f"boats.{group}",
        spec={
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "boats", "kind": "Boat"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                }
            ],
        },
    )
    path = f"/apis/{group}/v1/namespaces/{space.name}/boats"
    boat: Object = {"apiVersion": f"{group}/v1", "kind": "Boat", "metadata": {"name": "b"}}
    eventually(lambda: space.client.get(path).status == 200, "boats are served")
    top = space.client.post(path, boat).body
    create_owned(space, "cargo", top)
    assert names(fairlead("tree", f"boats.{group}", "b")) == ["Boat/b", "└─ConfigMap/cargo"]
    assert names(fairlead("tree", "cm", "cargo", "--up")) == ["ConfigMap/cargo", "└─Boat/b"]
    definitions.remove(f"boats.{group}")


@pytest.mark.both_dialects
def test_what_may_not_be_listed_is_left_out_with_a_note(fairlead: Commands) -> None:
    space = fairlead.space
    roles, bindings = (
        space.collection(item, "rbac.authorization.@") for item in ("roles", "rolebindings")
    )
    reading = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]}
    roles.create("reader", rules=[reading])
    group = space.dialect.group_name("rbac.authorization.@")
    bindings.create(
        "reader",
        subjects=[{"kind": "User", "name": "carol", "apiGroup": group}],
        roleRef={"apiGroup": group, "kind": "Role", "name": "reader"},
    )
    top = create_owned(space, "top")
    create_owned(space, "below", top)
    space.secrets.create("s", metadata={"ownerReferences": [owner(top)]})
    ran = fairlead.run("tree", "cm", "top", "--as", "carol")
    assert ran.code == 0, ran.errors
    assert names(ran.out) == ["ConfigMap/top", "└─ConfigMap/below"]
    assert "Note: secrets left out: may not be listed\n" in ran.errors


def test_a_long_chain_is_shown_as_far_as_it_can_be_read(fairlead: Commands) -> None:
    space = fairlead.space
    last = create_owned(space, "c-0")
    for place in range(1, 110):
        last = create_owned(space, f"c-{place}", last)
    output = fairlead("tree", "cm", "c-0")
    assert len(output.splitlines()) == 102
    assert "owns more, which is not shown" in output.splitlines()[-1]


def test_bad_states_are_coloured_on_a_terminal(fairlead: Commands) -> None:
    deployment(fairlead.space, "web")
    text = on_terminal(fairlead, "tree", "deployment", "web")
    assert re.search(r"^\x1b\[33m  └─Pod/web", text, re.MULTILINE)
    assert "\x1b" not in on_terminal(fairlead, "tree", "deployment", "web", NO_COLOR="1")


def test_text_of_others_does_not_break_the_lines(fairlead: Commands) -> None:
    deployment(fairlead.space, "web")
    (pod,) = fairlead.space.collection("pods").names()
    reason = "\x1b[2Jone\ntwo\u2028three"
    answer = fairlead.space.client.patch(
        fairlead.space.collection("pods").item(pod, "status"), {"status": {"reason": reason}}
    )
    assert answer.status == 200, answer.text
    content = on_terminal(fairlead, "tree", "deployment", "web", NO_COLOR="1")
    assert len(content.rstrip("\n").split("\n")) == 4
    assert "\x1b" not in content


def test_an_object_that_owns_nothing(fairlead: Commands) -> None:
    create_owned(fairlead.space, "alone")
    assert names(fairlead("tree", "cm", "alone")) == ["ConfigMap/alone"]


def test_an_object_that_is_not_there_has_no_tree(fairlead: Commands) -> None:
    ran = fairlead.run("tree", "cm", "nope")
    assert ran.code == 1
    assert ran.errors == 'Error from server (NotFound): configmaps "nope" not found\n'
