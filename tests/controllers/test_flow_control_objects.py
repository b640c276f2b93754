"""The built-in flow schemas and priority levels, and how they are maintained."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.client import Client, Object
from support.namespaces import Collection, Space, random_word
from support.process import ServerProcess
from support.waiting import eventually

GROUP, VERSION = "flowcontrol.apiserver.@", "v1beta2"
SUGGESTED_LEVELS = {
    "system": (30, 64),
    "node-high": (40, 64),
    "leader-election": (10, 16),
    "workload-high": (40, 128),
    "workload-low": (100, 128),
    "global-default": (20, 128),
}
PRECEDENCES = {
    "exempt": 1,
    "probes": 2,
    "system-leader-election": 100,
    "endpoint-controller": 150,
    "workload-leader-election": 200,
    "system-node-high": 400,
    "system-nodes": 500,
    "{prefix}-controller-manager": 800,
    "{prefix}-scheduler": 800,
    "{prefix}-system-service-accounts": 900,
    "service-accounts": 9000,
    "global-default": 9900,
    "catch-all": 10000,
}
AUTOUPDATE = "apf.kubernetes.io/autoupdate-spec"


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server whose objects nobody else needs, and that runs nothing that can be left out."""
    running = ServerProcess(
        tmp_path_factory.mktemp("flow"), "kubernetes", ("--controllers=-*",)
    ).start()
    yield running
    running.stop()


@pytest.fixture
def own(changed: ServerProcess) -> Client:
    return changed.client()


@pytest.fixture
def schemas(own: Client) -> Collection:
    return Collection(own, "/apis/flowcontrol.apiserver.k8s.io/v1beta2/flowschemas")


@pytest.fixture
def levels(own: Client) -> Collection:
    return Collection(own, "/apis/flowcontrol.apiserver.k8s.io/v1beta2/prioritylevelconfigurations")


def in_dialect(space: Space, resource: str) -> dict[str, Object]:
    things = space.everywhere(resource, space.server.dialect.group_name(GROUP), VERSION)
    return {item["metadata"]["name"]: item for item in things.list().body["items"]}


@pytest.mark.both_dialects
def test_a_fresh_server_has_the_flow_schemas_of_the_reference(space: Space) -> None:
    result = in_dialect(space, "flowschemas")
    prefix = space.server.dialect.system_prefix
    for name, precedence in PRECEDENCES.items():
        schema = result[name.format(prefix=prefix)]
        assert schema["spec"]["matchingPrecedence"] == precedence
        key = space.server.dialect.label("apf.@/autoupdate-spec")
        assert schema["metadata"]["annotations"] == {key: "true"}


@pytest.mark.both_dialects
def test_a_fresh_server_has_the_priority_levels_of_the_reference(space: Space) -> None:
    result = in_dialect(space, "prioritylevelconfigurations")
    assert result["exempt"]["spec"] == {"type": "Exempt"}
    assert result["catch-all"]["spec"]["limited"]["limitResponse"] == {"type": "Reject"}
    for name, (shares, queues) in SUGGESTED_LEVELS.items():
        limited = result[name]["spec"]["limited"]
        assert limited["assuredConcurrencyShares"] == shares
        assert limited["limitResponse"]["queuing"]["queues"] == queues


@pytest.mark.both_dialects
def test_system_accounts_are_those_of_the_dialect(space: Space) -> None:
    dialect = space.server.dialect
    schema = in_dialect(space, "flowschemas")[f"{dialect.system_namespace}-service-accounts"]
    (subject,) = schema["spec"]["rules"][0]["subjects"]
    assert subject["serviceAccount"] == {"namespace": dialect.system_namespace, "name": "*"}


@pytest.mark.parametrize(
    ("kind", "name"), [("schemas", "exempt"), ("levels", "catch-all"), ("levels", "workload-low")]
)
def test_deleted_flow_control_object_comes_back(
    request: pytest.FixtureRequest, kind: str, name: str
) -> None:
    collection: Collection = request.getfixturevalue(kind)
    before = collection.read(name)
    collection.remove(name)
    eventually(lambda: collection.get(name).status == 200, "it is there again")
    after = collection.read(name)
    assert after["spec"] == before["spec"]
    assert after["metadata"]["uid"] != before["metadata"]["uid"]


def annotation(value: str | None) -> Object:
    return {"metadata": {"annotations": {AUTOUPDATE: value}}}


def test_a_suggested_object_is_put_right_while_nobody_took_it_over(levels: Collection) -> None:
    shares = {"spec": {"limited": {"assuredConcurrencyShares": 7}}}
    assert levels.patch("system", shares).status == 200

    def is_right() -> bool:
        limited = levels.read("system")["spec"]["limited"]
        return bool(limited["assuredConcurrencyShares"] == 30)

    eventually(is_right, "it has its shares again")


def test_a_suggested_object_that_was_taken_over_is_left_alone(levels: Collection) -> None:
    change = {**annotation("false"), "spec": {"limited": {"assuredConcurrencyShares": 8}}}
    assert levels.patch("node-high", change).status == 200
    # Of two changes the second one is looked at after the first.
    levels.remove("workload-high")
    eventually(lambda: levels.get("workload-high").status == 200, "all was looked at")
    assert levels.read("node-high")["spec"]["limited"]["assuredConcurrencyShares"] == 8
    levels.patch("node-high", annotation("true"))

    def is_right() -> bool:
        return bool(levels.read("node-high")["spec"]["limited"]["assuredConcurrencyShares"] == 40)

    eventually(is_right, "given back, it is put right")


def test_without_the_annotation_a_changed_object_is_the_operators(levels: Collection) -> None:
    change = {**annotation(None), "spec": {"limited": {"assuredConcurrencyShares": 9}}}
    assert levels.patch("leader-election", change).status == 200

    def is_marked() -> bool:
        annotations = levels.read("leader-election")["metadata"].get("annotations") or {}
        return bool(annotations.get(AUTOUPDATE) == "false")

    eventually(is_marked, "it is marked as not ours")
    assert levels.read("leader-election")["spec"]["limited"]["assuredConcurrencyShares"] == 9


def test_without_the_annotation_an_unchanged_object_is_ours(schemas: Collection) -> None:
    schemas.patch("probes", annotation("perhaps"))

    def is_marked() -> bool:
        return bool(schemas.read("probes")["metadata"]["annotations"][AUTOUPDATE] == "true")

    eventually(is_marked, "it is marked as ours")


def test_a_mandatory_object_is_never_the_operators(schemas: Collection) -> None:
    schemas.patch("catch-all", annotation("false"))

    def is_marked() -> bool:
        return bool(schemas.read("catch-all")["metadata"]["annotations"][AUTOUPDATE] == "true")

    eventually(is_marked, "it is marked as ours")


def level(name: str, value: str | None) -> Object:
    manifest: Object = {"metadata": {"name": name}}
    if value is not None:
        manifest["metadata"]["annotations"] = {AUTOUPDATE: value}
    limited = {"assuredConcurrencyShares": 1, "limitResponse": {"type": "Reject"}}
    return manifest | {"spec": {"type": "Limited", "limited": limited}}


def test_obsolete_flow_control_object_goes_unless_an_operator_owns_it(
    own: Client, levels: Collection
) -> None:
    base = random_word()
    for value, mark in (("false", "f"), (None, "n"), ("true", "t")):
        assert own.post(levels.path, level(f"{base}-{mark}", value)).status == 201
    eventually(lambda: levels.get(f"{base}-t").status == 404, "it goes")
    assert levels.get(f"{base}-f").status == 200
    assert levels.get(f"{base}-n").status == 200


def test_a_schema_tells_whether_its_level_exists(
    own: Client, schemas: Collection, levels: Collection
) -> None:
    name = random_word()
    schema = {
        "metadata": {"name": name},
        "spec": {"priorityLevelConfiguration": {"name": name}, "matchingPrecedence": 5000},
    }
    assert own.post(schemas.path, schema).status == 201

    def says(status: str, reason: str, rest: str) -> bool:
        conditions = (schemas.read(name).get("status") or {}).get("conditions") or []
        text = f'This FlowSchema references the PriorityLevelConfiguration object named "{name}"'
        results = [
            (condition["type"], condition["status"], condition["reason"], condition["message"])
            for condition in conditions
        ]
        return results == [("Dangling", status, reason, f"{text} {rest}")]

    eventually(lambda: says("True", "NotFound", "but there is no such object"), "it dangles")
    own.post(levels.path, level(name, None))
    eventually(lambda: says("False", "Found", "and it exists"), "it has a level")
    levels.remove(name)
    eventually(lambda: says("True", "NotFound", "but there is no such object"), "it dangles")


def test_a_system_namespace_that_can_be_deleted_comes_back(own: Client) -> None:
    path = "/api/v1/namespaces/kube-node-lease"
    uid = own.get(path).body["metadata"]["uid"]
    assert own.delete(path).status == 200
    body = {**own.get(path).body, "spec": {"finalizers": []}}
    if own.get(path).status == 200:  # no controller runs that would finish it
        own.put(f"{path}/finalize", body)

    def is_back() -> bool:
        answer = own.get(path)
        return answer.status == 200 and answer.body["metadata"]["uid"] != uid

    eventually(is_back, "it is there again")


def test_release_1_36_applies_the_conditions_of_schemas(space_1_36: Space) -> None:
    path = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas/probes"

    def applied() -> list[Object]:
        entries = space_1_36.client.get(path).body["metadata"]["managedFields"]
        return [entry for entry in entries if entry["operation"] == "Apply"]

    eventually(lambda: bool(applied()), "the condition is there")
    (entry,) = applied()
    names = (entry["manager"], entry["subresource"])
    assert names == ("api-priority-and-fairness-config-consumer-v1", "status")
    assert list(entry["fieldsV1"]["f:status"]["f:conditions"]) == ['k:{"type":"Dangling"}']
