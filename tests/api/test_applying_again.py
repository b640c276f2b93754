"""Apply: repeated configurations, with changes in them and by others."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from support.client import Answer, Object
from support.namespaces import Space

APPLY = "application/apply-patch+yaml"

CONTAINER: Object = {
    "name": "web",
    "image": "registry.example/web:1",
    "args": ["--verbose"],
    "ports": [{"containerPort": 80}],
    "env": [
        *({"name": letter, "value": "1"} for letter in "ABCDEFGHIJKLMNOP"),
        {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
    ],
    "resources": {"limits": {"cpu": "100m", "memory": "1Gi"}},
    "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],
}
SPEC: Object = {
    "automountServiceAccountToken": False,
    "containers": [CONTAINER],
    "volumes": [{"name": "tmp", "emptyDir": {}}],
    "nodeSelector": {"disk": "fast"},
}


class Applied:
    """An object and the requests to it."""

    name = "applied"

    def __init__(self, space: Space, resource: str) -> None:
        self.collection = space.collection(resource)
        self.dialect = space.dialect
        self._is_pod = resource == "pods"

    def config(self, label: str = "a", spec: Object | None = None, **metadata: Any) -> Object:
        value = {"name": self.name, "labels": {"app": label}, **metadata}
        head = {"apiVersion": "v1", "kind": "Pod" if self._is_pod else "PodTemplate"}
        body = {"spec": SPEC if spec is None else spec}
        return {**head, "metadata": value, **(body if self._is_pod else {"template": body})}

    def apply(self, config: Object | str, manager: str = "one", **query: Any) -> Answer:
        body = config if isinstance(config, str) else json.dumps(config)
        query = {"fieldManager": manager, **query}
        return self.collection.client.patch(
            self.collection.item(self.name), body, kind=APPLY, **query
        )

    def label(self, *labels: str, **how: Any) -> Answer:
        """Apply the same with another label."""
        return [self.apply(self.config(label), **how) for label in labels][-1]

    def patch(self, value: Object, subresource: str = "", manager: str = "two") -> Answer:
        path = self.collection.item(self.name, subresource)
        return self.collection.client.patch(path, value, fieldManager=manager)

    def change(self, **fields: Any) -> Answer:
        """Change the container as another manager."""
        item = self.collection.read(self.name)
        spec = item["spec"] if self._is_pod else item["template"]["spec"]
        spec["containers"][0].update(fields)
        return self.collection.put(item, fieldManager="two")


Story = Callable[[Applied], list[Answer]]


def answers(space: Space, story: Story, resource: str = "podtemplates") -> list[Answer]:
    """The answers to a story about an object that was applied twice."""
    if resource == "pods":
        space.ready_for_pods()
    applied = Applied(space, resource)
    assert applied.label("a").status == 201
    assert applied.label("b").status == 200
    return story(applied)


def codes(given: list[Answer]) -> list[int]:
    return [answer.status for answer in given]


@pytest.mark.both_dialects
@pytest.mark.parametrize("manager", ["one", "two"])
@pytest.mark.parametrize("resource", ["podtemplates", "pods"])
def test_an_unchanged_configuration_writes_nothing(
    space: Space, resource: str, manager: str
) -> None:
    """Not even a time, also if another manager owns the same and if a struct gets defaults."""

    def story(applied: Applied) -> list[Answer]:
        applied.label("b", manager=manager, force=True)
        earlier = applied.collection.read(applied.name)
        for entry in earlier["metadata"]["managedFields"]:
            entry["time"] = "2020-01-01T00:00:00Z"
        return [applied.collection.put(earlier), applied.label("b", manager=manager, force=True)]

    before, after = answers(space, story, resource)
    assert after.body == before.body


@pytest.mark.both_dialects
@pytest.mark.parametrize("resource", ["podtemplates", "pods"])
def test_a_label_is_changed_again_and_again(space: Space, resource: str) -> None:
    labels = ["c", "d", "a-much-longer"]
    given = answers(space, lambda applied: [applied.label(label) for label in labels], resource)
    assert [answer.body["metadata"]["labels"]["app"] for answer in given] == labels
    assert given[-1].body["metadata"]["managedFields"][0]["manager"] == "one"


@pytest.mark.both_dialects
def test_what_another_changed_in_between_is_a_conflict(space: Space) -> None:
    def story(applied: Applied) -> list[Answer]:
        return [
            applied.change(image="registry.example/web:2"),
            applied.label("c"),
            applied.label("d"),
        ]

    given = answers(space, story)
    assert codes(given) == [200, 409, 409]
    assert "containers" in given[1].body["details"]["causes"][0]["field"]


@pytest.mark.both_dialects
def test_what_another_changed_in_between_is_taken_back_by_force(space: Space) -> None:
    def story(applied: Applied) -> list[Answer]:
        changed = applied.change(image="registry.example/web:2")
        return [changed, applied.label("c", force=True), applied.label("d", "e")]

    given = answers(space, story)
    assert codes(given) == [200, 200, 200]
    for answer in given[1:]:
        assert answer.body["template"]["spec"]["containers"][0]["image"] == "registry.example/web:1"


@pytest.mark.both_dialects
def test_what_another_added_beside_it_stays(space: Space) -> None:
    def story(applied: Applied) -> list[Answer]:
        env = [*CONTAINER["env"], {"name": "MORE", "value": "2"}]
        return [applied.change(env=env, tty=True), applied.label("c"), applied.label("d")]

    given = answers(space, story)
    env = given[-1].body["template"]["spec"]["containers"][0]["env"]
    assert env[-1] == {"name": "MORE", "value": "2"}


@pytest.mark.both_dialects
def test_what_it_no_longer_states_goes_and_comes_back(space: Space) -> None:
    def story(applied: Applied) -> list[Answer]:
        less = {name: item for name, item in SPEC.items() if name != "nodeSelector"}
        return [
            applied.apply(applied.config("c", less)),
            applied.label("d"),
            applied.apply(applied.config("d", less)),
            applied.apply({**applied.config("e"), "template": {}}),
        ]

    given = answers(space, story)
    there = ["nodeSelector" in answer.body["template"]["spec"] for answer in given[:3]]
    assert there == [False, True, False]
    assert codes(given) == [200, 200, 200, 422]


@pytest.mark.both_dialects
def test_two_managers_state_the_same(space: Space) -> None:
    def story(applied: Applied) -> list[Answer]:
        return [
            applied.label("b", manager="two", force=True),
            applied.label("c", manager="two"),
            applied.label("c", "b", manager="one", force=True),
            applied.label("b", "c", manager="two", force=True),
            applied.apply({**applied.config("c"), "template": {}}, manager="two"),
            applied.label("d", manager="one", force=True),
            applied.apply({**applied.config("d"), "template": {}}, manager="two", force=True),
            applied.label("e", manager="one", force=True),
        ]

    given = answers(space, story)
    assert codes(given) == [200, 409, 200, 200, 200, 200, 200, 200]
    assert "spec" in given[-1].body["template"]


@pytest.mark.both_dialects
def test_a_status_that_changed_in_between_is_no_matter(space: Space) -> None:
    def story(applied: Applied) -> list[Answer]:
        messages = [applied.patch({"status": {"message": text}}, "status") for text in ("x", "y")]
        messages.append(applied.label("c"))
        messages.append(applied.patch({"status": {"message": "z"}}, "status"))
        return [*messages, applied.label("d"), applied.label("e")]

    given = answers(space, story, "pods")
    assert codes(given) == [200] * 6
    assert given[-1].body["status"]["message"] == "z"


@pytest.mark.both_dialects
def test_a_spec_that_may_not_change_is_refused(space: Space) -> None:
    def story(applied: Applied) -> list[Answer]:
        other = {**SPEC, "nodeSelector": {"disk": "slow"}}
        return [applied.apply(applied.config("c", other)), applied.label("c")]

    assert codes(answers(space, story, "pods")) == [422, 200]


@pytest.mark.both_dialects
def test_owners_that_were_forgotten_begin_anew(space: Space) -> None:
    def story(applied: Applied) -> list[Answer]:
        return [
            applied.patch({"metadata": {"managedFields": [{}]}}),
            applied.label("c"),
            applied.label("d"),
        ]

    assert codes(answers(space, story))[0] == 200


@pytest.mark.both_dialects
def test_items_that_cannot_be_told_apart_are_told(space: Space) -> None:
    def story(applied: Applied) -> list[Answer]:
        return [applied.change(env=[{"name": "A", "value": "1"}] * 2), applied.label("c")]

    given = answers(space, story)
    assert codes(given) == [200, 400]
    assert "duplicate entries" in given[1].body["message"]


@pytest.mark.both_dialects
def test_an_object_of_the_same_name_is_another(space: Space) -> None:
    def story(applied: Applied) -> list[Answer]:
        applied.collection.remove(applied.name)
        answer = applied.label("c")
        applied.collection.remove(applied.name)
        applied.collection.create(applied.name, template={"spec": SPEC})
        return [answer, applied.label("d"), applied.label("d", force=True), applied.label("e")]

    assert codes(answers(space, story)) == [201, 409, 200, 200]


@pytest.mark.both_dialects
def test_a_dry_run_leaves_nothing_behind(space: Space) -> None:
    def story(applied: Applied) -> list[Answer]:
        return [
            applied.label("c", dryRun="All"),
            applied.label("d"),
            applied.label("e", dryRun="All"),
        ]

    given = answers(space, story)
    assert [answer.body["metadata"]["labels"]["app"] for answer in given] == ["c", "d", "e"]


def broken(applied: Applied) -> dict[str, str]:
    """Return bodies with the known part and an error, by the kind of error."""
    whole = applied.config("c")
    text = json.dumps(whole)
    part = json.dumps(whole["template"])
    key = text[: text.index(part)].rpartition('"template"')[2]
    without = {name: item for name, item in whole.items() if name != "template"}
    return {
        "a repeated key": text.replace('"labels"', '"labels":{"app":"x"},"labels"'),
        "the part twice": text[:-1] + f',"template"{key}{part}}}',
        "the part elsewhere": json.dumps({**without, "metadata": {"template": "P"}}).replace(
            '"P"', part
        ),
        "another kind": json.dumps({**whole, "kind": "Pod"}),
        "another version": json.dumps({**whole, "apiVersion": "v2"}),
        "another name": json.dumps({**whole, "metadata": {"name": "another"}}),
        "metadata of another type": json.dumps({**whole, "metadata": ["x"]}),
        "labels of another type": json.dumps({**whole, "metadata": {"labels": 5}}),
        "annotations of another type": json.dumps({**whole, "metadata": {"annotations": [1]}}),
        "a label that is none": json.dumps(applied.config("not a label")),
        "an unknown field": json.dumps({**whole, "more": 1}),
        "owners": json.dumps(applied.config(managedFields=[])),
        "something behind it": text + "}",
        "no end": text[:-1],
    }


@pytest.mark.both_dialects
def test_what_is_wrong_beside_it_is_told(space: Space) -> None:
    names: list[str] = []

    def story(applied: Applied) -> list[Answer]:
        bodies = broken(applied)
        names[:] = bodies
        return [applied.apply(text, manager="one") for text in bodies.values()]

    given = answers(space, story)
    accepted = [name for name, code in zip(names, codes(given), strict=True) if code == 200]
    dropped = ["an unknown field"] if space.dialect.apply_drops_unknown else []
    assert accepted == ["a repeated key", "the part twice", *dropped, "something behind it"]


@pytest.mark.both_dialects
def test_the_annotation_of_client_side_apply_shows_all_of_it(space: Space) -> None:
    def story(applied: Applied) -> list[Answer]:
        name = applied.dialect.label("kubectl.@/last-applied-configuration")
        kubectl = applied.dialect.client_manager
        messages = [applied.label("b", "c", manager=kubectl, force=True)]
        messages.append(applied.patch({"metadata": {"annotations": {name: "{}"}}}))
        messages.append(applied.label("d", manager=kubectl))
        numbers = json.loads(messages[-1].body["metadata"]["annotations"][name])
        assert numbers == applied.config("d")
        return messages

    answers(space, story)
