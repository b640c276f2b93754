"""A configuration of which a part comes again as it was does what it would do without memory.

Each story is told to twins. One is applied to with compact JSON, of which the server remembers a
part, the other with JSON that has spaces, of which it does not; both must fare alike.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
from support.client import Answer, Object
from support.things import Space

APPLY = "application/apply-patch+yaml"
COMPACT, SPACED = (",", ":"), (", ", ": ")
_OWN = ("uid", "resourceVersion", "creationTimestamp")

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


class Twin:
    """One of two objects of a collection to which the same is done."""

    def __init__(self, space: Space, resource: str, name: str, separators: tuple[str, str]) -> None:
        self.things = space.things(resource)
        self.dialect = space.dialect
        self.name = name
        self._is_pod = resource == "pods"
        self._separators = separators

    def config(self, label: str = "a", spec: Object | None = None, **metadata: Any) -> Object:
        given = {"name": self.name, "labels": {"app": label}, **metadata}
        head = {"apiVersion": "v1", "kind": "Pod" if self._is_pod else "PodTemplate"}
        body = {"spec": SPEC if spec is None else spec}
        return {**head, "metadata": given, **(body if self._is_pod else {"template": body})}

    def apply(self, config: Object | str, manager: str = "one", **query: Any) -> Answer:
        body = config
        if not isinstance(body, str):
            body = json.dumps(body, separators=self._separators)
        query = {"fieldManager": manager, **query}
        return self.things.client.patch(self.things.item(self.name), body, kind=APPLY, **query)

    def text(self, config: Object) -> str:
        return json.dumps(config, separators=self._separators)

    def label(self, *labels: str, **how: Any) -> Answer:
        """Apply the same with another label."""
        return [self.apply(self.config(label), **how) for label in labels][-1]

    def patch(self, value: Object, subresource: str = "", manager: str = "two") -> Answer:
        path = self.things.item(self.name, subresource)
        return self.things.client.patch(path, value, fieldManager=manager)

    def change(self, **fields: Any) -> Answer:
        """Somebody else changes the container."""
        item = self.things.read(self.name)
        spec = item["spec"] if self._is_pod else item["template"]["spec"]
        spec["containers"][0].update(fields)
        return self.things.put(item, fieldManager="two")


def told(twin: Twin, answer: Answer) -> Any:
    """An answer without what is an object's own, and without times."""
    body = deepcopy(answer.body)
    for name in _OWN:
        body.get("metadata", {}).pop(name, None)
    entries = body.get("metadata", {}).get("managedFields", [])
    for entry in entries:
        entry.pop("time", None)
    entries.sort(key=json.dumps)  # which otherwise goes by time
    text = json.dumps([answer.status, body, answer.warnings])
    return json.loads(text.replace(twin.name, "its-name"))


Story = Callable[[Twin], list[Answer]]


def both(space: Space, story: Story, resource: str = "podtemplates") -> list[Any]:
    """What is told of each of the answers, if it is the same for both."""
    if resource == "pods":
        space.ready_for_pods()
    fates = []
    for name, separators in (("remembered", COMPACT), ("forgotten1", SPACED)):
        twin = Twin(space, resource, name, separators)
        assert twin.label("a").status == 201
        assert twin.label("b").status == 200
        fates.append([told(twin, answer) for answer in story(twin)])
    assert fates[0] == fates[1]
    return fates[0]


def codes(fate: list[Any]) -> list[int]:
    return [code for code, _, _ in fate]


@pytest.mark.parametrize("resource", ["podtemplates", "pods"])
def test_a_label_is_changed_again_and_again(space: Space, resource: str) -> None:
    labels = ["c", "d", "a-much-longer"]
    fate = both(space, lambda twin: [twin.label(label) for label in labels], resource)
    assert [body["metadata"]["labels"]["app"] for _, body, _ in fate] == labels
    assert fate[-1][1]["metadata"]["managedFields"][0]["manager"] == "one"


def test_what_another_changed_in_between_is_a_conflict(space: Space) -> None:
    def story(twin: Twin) -> list[Answer]:
        return [twin.change(image="registry.example/web:2"), twin.label("c"), twin.label("d")]

    fate = both(space, story)
    assert codes(fate) == [200, 409, 409]
    assert "containers" in fate[1][1]["details"]["causes"][0]["field"]


def test_what_another_changed_in_between_is_taken_back_by_force(space: Space) -> None:
    def story(twin: Twin) -> list[Answer]:
        changed = twin.change(image="registry.example/web:2")
        return [changed, twin.label("c", force=True), twin.label("d", "e")]

    fate = both(space, story)
    assert codes(fate) == [200, 200, 200]
    for _, body, _ in fate[1:]:
        assert body["template"]["spec"]["containers"][0]["image"] == "registry.example/web:1"


def test_what_another_added_beside_it_stays(space: Space) -> None:
    def story(twin: Twin) -> list[Answer]:
        env = [*CONTAINER["env"], {"name": "MORE", "value": "2"}]
        return [twin.change(env=env, tty=True), twin.label("c"), twin.label("d")]

    fate = both(space, story)
    env = fate[-1][1]["template"]["spec"]["containers"][0]["env"]
    assert env[-1] == {"name": "MORE", "value": "2"}


def test_what_it_no_longer_states_goes_and_comes_back(space: Space) -> None:
    def story(twin: Twin) -> list[Answer]:
        less = {name: item for name, item in SPEC.items() if name != "nodeSelector"}
        return [
            twin.apply(twin.config("c", less)),
            twin.label("d"),
            twin.apply(twin.config("d", less)),
            twin.apply({**twin.config("e"), "template": {}}),
        ]

    fate = both(space, story)
    there = ["nodeSelector" in body["template"]["spec"] for _, body, _ in fate[:3]]
    assert there == [False, True, False]
    assert codes(fate) == [200, 200, 200, 422]


def test_two_managers_state_the_same(space: Space) -> None:
    def story(twin: Twin) -> list[Answer]:
        return [
            twin.label("b", manager="two", force=True),
            twin.label("c", manager="two"),
            twin.label("c", "b", manager="one", force=True),
            twin.label("b", "c", manager="two", force=True),
            twin.apply({**twin.config("c"), "template": {}}, manager="two"),
            twin.label("d", manager="one", force=True),
            twin.apply({**twin.config("d"), "template": {}}, manager="two", force=True),
            twin.label("e", manager="one", force=True),
        ]

    fate = both(space, story)
    assert codes(fate) == [200, 409, 200, 200, 200, 200, 200, 200]
    assert "spec" in fate[-1][1]["template"]


def test_a_status_that_changed_in_between_is_no_matter(space: Space) -> None:
    def story(twin: Twin) -> list[Answer]:
        said = [twin.patch({"status": {"message": text}}, "status") for text in ("x", "y")]
        said.append(twin.label("c"))
        said.append(twin.patch({"status": {"message": "z"}}, "status"))
        return [*said, twin.label("d"), twin.label("e")]

    fate = both(space, story, "pods")
    assert codes(fate) == [200] * 6
    assert fate[-1][1]["status"]["message"] == "z"


def test_a_spec_that_may_not_change_is_refused(space: Space) -> None:
    def story(twin: Twin) -> list[Answer]:
        other = {**SPEC, "nodeSelector": {"disk": "slow"}}
        return [twin.apply(twin.config("c", other)), twin.label("c")]

    assert codes(both(space, story, "pods")) == [422, 200]


def test_owners_that_were_forgotten_begin_anew(space: Space) -> None:
    def story(twin: Twin) -> list[Answer]:
        return [twin.patch({"metadata": {"managedFields": [{}]}}), twin.label("c"), twin.label("d")]

    assert codes(both(space, story))[0] == 200


def test_items_that_cannot_be_told_apart_are_told(space: Space) -> None:
    def story(twin: Twin) -> list[Answer]:
        return [twin.change(env=[{"name": "A", "value": "1"}] * 2), twin.label("c")]

    fate = both(space, story)
    assert codes(fate) == [200, 400]
    assert "duplicate entries" in fate[1][1]["message"]


def test_an_object_of_the_same_name_is_another(space: Space) -> None:
    def story(twin: Twin) -> list[Answer]:
        twin.things.remove(twin.name)
        made = twin.label("c")
        twin.things.remove(twin.name)
        twin.things.create(twin.name, template={"spec": SPEC})
        return [made, twin.label("d"), twin.label("d", force=True), twin.label("e")]

    assert codes(both(space, story)) == [201, 409, 200, 200]


def test_a_dry_run_leaves_nothing_behind(space: Space) -> None:
    def story(twin: Twin) -> list[Answer]:
        return [twin.label("c", dryRun="All"), twin.label("d"), twin.label("e", dryRun="All")]

    fate = both(space, story)
    assert [body["metadata"]["labels"]["app"] for _, body, _ in fate] == ["c", "d", "e"]


def broken(twin: Twin) -> dict[str, str]:
    """Bodies that have the known part and something wrong, by what it is."""
    whole = twin.config("c")
    text = twin.text(whole)
    part = twin.text(whole["template"])
    key = text[: text.index(part)].rpartition('"template"')[2]
    without = {name: item for name, item in whole.items() if name != "template"}
    return {
        "a repeated key": text.replace('"labels"', '"labels":{"app":"x"},"labels"'),
        "the part twice": text[:-1] + f',"template"{key}{part}}}',
        "the part elsewhere": twin.text({**without, "metadata": {"template": "P"}}).replace(
            '"P"', part
        ),
        "another kind": twin.text({**whole, "kind": "Pod"}),
        "another version": twin.text({**whole, "apiVersion": "v2"}),
        "another name": twin.text({**whole, "metadata": {"name": "another"}}),
        "metadata of another type": twin.text({**whole, "metadata": ["x"]}),
        "labels of another type": twin.text({**whole, "metadata": {"labels": 5}}),
        "annotations of another type": twin.text({**whole, "metadata": {"annotations": [1]}}),
        "a label that is none": twin.text(twin.config("not a label")),
        "an unknown field": twin.text({**whole, "more": 1}),
        "owners": twin.text(twin.config(managedFields=[])),
        "something behind it": text + "}",
        "no end": text[:-1],
    }


def test_what_is_wrong_beside_it_is_told(space: Space) -> None:
    names: list[str] = []

    def story(twin: Twin) -> list[Answer]:
        bodies = broken(twin)
        names[:] = bodies
        return [twin.apply(text, manager="one") for text in bodies.values()]

    fate = both(space, story)
    accepted = [name for name, code in zip(names, codes(fate), strict=True) if code == 200]
    dropped = ["an unknown field"] if space.dialect.apply_drops_unknown else []
    assert accepted == ["a repeated key", "the part twice", *dropped, "something behind it"]


def test_the_annotation_of_client_side_apply_shows_all_of_it(space: Space) -> None:
    def story(twin: Twin) -> list[Answer]:
        name = twin.dialect.label("kubectl.@/last-applied-configuration")
        kubectl = twin.dialect.client_manager
        said = [twin.label("b", "c", manager=kubectl, force=True)]
        said.append(twin.patch({"metadata": {"annotations": {name: "{}"}}}))
        said.append(twin.label("d", manager=kubectl))
        shown = json.loads(said[-1].body["metadata"]["annotations"][name])
        assert shown == twin.config("d")
        return said

    both(space, story)
