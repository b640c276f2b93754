"""A deleted namespace is emptied and removed; its status names what blocks it."""

from __future__ import annotations

from support.client import Object
from support.namespaces import Space
from support.owners import Widgets, await_deletion, depend, is_going, reference, release
from support.process import FreshServer
from support.running import run_pod
from support.waiting import eventually

HELD = ["example.com/hold"]
FINE = {
    "NamespaceDeletionDiscoveryFailure": (
        "False",
        "ResourcesDiscovered",
        "All resources successfully discovered",
    ),
    "NamespaceDeletionGroupVersionParsingFailure": (
        "False",
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    "NamespaceDeletionContentFailure": (
        "False",
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    "NamespaceContentRemaining": ("False", "ContentRemoved", "All content successfully removed"),
    "NamespaceFinalizersRemaining": (
        "False",
        "ContentHasNoFinalizers",
        "All content-preserving finalizers finished",
    ),
}


def path_of(space: Space) -> str:
    return f"/api/v1/namespaces/{space.name}"


def delete(space: Space) -> None:
    assert space.client.delete(path_of(space)).status == 200


def namespace_goes(space: Space) -> None:
    eventually(lambda: space.client.get(path_of(space)).status == 404, "the namespace goes")


def conditions(space: Space) -> dict[str, tuple[str, str, str]]:
    """Status, reason and message of what the status says, by type."""
    result = space.client.get(path_of(space)).body["status"].get("conditions") or ()
    return {item["type"]: (item["status"], item["reason"], item["message"]) for item in result}


def await_condition(space: Space, kind: str, reason: str, message: str) -> None:
    eventually(
        lambda: conditions(space).get(kind) == ("True", reason, message),
        f"the status says {message}",
    )


def remaining(space: Space, what: str) -> None:
    await_condition(space, "NamespaceContentRemaining", "SomeResourcesRemain", what)


def test_an_empty_namespace_goes(space: Space) -> None:
    delete(space)
    namespace_goes(space)


def test_content_goes_with_its_namespace(space: Space) -> None:
    space.secrets.create("a")
    delete(space)
    namespace_goes(space)
    assert space.secrets.get("a").status == 404


def test_a_job_does_not_hold_its_namespace(space: Space) -> None:
    """Jobs orphan their pods when nothing else is said, which would wait for somebody to do it."""
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    space.collection("jobs", "batch").create("j", spec={"template": template})
    delete(space)
    namespace_goes(space)


def test_a_finalizer_holds_the_namespace_and_is_named(space: Space) -> None:
    space.secrets.create("a", metadata={"finalizers": HELD})
    space.secrets.create("b")
    delete(space)
    remaining(space, "Some resources are remaining: secrets. has 1 resource instances")
    assert conditions(space) == FINE | {
        "NamespaceContentRemaining": (
            "True",
            "SomeResourcesRemain",
            "Some resources are remaining: secrets. has 1 resource instances",
        ),
        "NamespaceFinalizersRemaining": (
            "True",
            "SomeFinalizersRemain",
            "Some content in the namespace has finalizers remaining: example.com/hold in 1"
            " resource instances",
        ),
    }
    assert space.client.get(path_of(space)).body["status"]["phase"] == "Terminating"
    assert is_going(space.secrets, "a")
    release(space.secrets, "a")
    namespace_goes(space)


def test_what_is_left_is_counted_by_resource_and_finalizer(kubernetes: Space) -> None:
    space = kubernetes
    roles = space.collection("roles", "rbac.authorization.@")
    widgets = Widgets(space).install()
    for name in ("a", "b"):
        space.secrets.create(name, metadata={"finalizers": ["example.com/one", "example.com/two"]})
    roles.create("r", metadata={"finalizers": ["example.com/one"]})
    widgets.create("w", finalizers=["example.com/two"])
    delete(space)
    remaining(
        space,
        "Some resources are remaining: roles.rbac.authorization.k8s.io has 1 resource instances,"
        f" secrets. has 2 resource instances, {widgets.name} has 1 resource instances",
    )
    assert conditions(space)["NamespaceFinalizersRemaining"][2] == (
        "Some content in the namespace has finalizers remaining: example.com/one in 3 resource"
        " instances, example.com/two in 3 resource instances"
    )
    release(roles, "r")
    release(space.secrets, "a")
    remaining(
        space,
        "Some resources are remaining: secrets. has 1 resource instances,"
        f" {widgets.name} has 1 resource instances",
    )
    release(widgets.collection, "w")
    release(space.secrets, "b")
    namespace_goes(space)
    widgets.definitions.remove(widgets.name)


def test_a_condition_keeps_the_time_of_its_last_turn(kubernetes: Space) -> None:
    space = kubernetes
    for name in ("a", "b"):
        space.secrets.create(name, metadata={"finalizers": HELD})
    delete(space)
    remaining(space, "Some resources are remaining: secrets. has 2 resource instances")
    value = space.client.get(path_of(space)).body
    early = "2020-01-01T00:00:00Z"
    for condition in value["status"]["conditions"]:
        condition["lastTransitionTime"] = early
    mine = {"type": "Mine", "status": "True", "reason": "Mine", "message": "of others"}
    value["status"]["conditions"].append(mine)
    del value["metadata"]["resourceVersion"]
    assert space.client.put(f"{path_of(space)}/status", value).status == 200
    release(space.secrets, "a")
    remaining(space, "Some resources are remaining: secrets. has 1 resource instances")
    reported = space.client.get(path_of(space)).body["status"]["conditions"]
    assert {condition["type"]: condition.get("lastTransitionTime") for condition in reported} == {
        **dict.fromkeys(FINE, early),
        "Mine": None,
    }
    release(space.secrets, "b")
    namespace_goes(space)


def test_pods_have_their_time_to_end(kubernetes: Space) -> None:
    space = kubernetes
    space.ready_for_pods()
    run_pod(space, "p", node="some-node")
    delete(space)
    remaining(space, "Some resources are remaining: pods. has 1 resource instances")
    assert space.collection("pods").read("p")["metadata"]["deletionGracePeriodSeconds"] == 30
    space.collection("pods").delete("p", gracePeriodSeconds="0")
    namespace_goes(space)


def test_an_emptied_namespace_that_others_hold_says_that_it_is_empty(kubernetes: Space) -> None:
    space = kubernetes
    patch = {"metadata": {"finalizers": HELD}}
    assert space.client.patch(path_of(space), patch).status == 200
    delete(space)
    eventually(lambda: conditions(space) == FINE, "the status says that nothing is left")
    eventually(
        lambda: "finalizers" not in space.client.get(path_of(space)).body["spec"], "it is emptied"
    )
    space.client.patch(path_of(space), {"metadata": {"finalizers": None}})
    namespace_goes(space)


def test_a_namespace_can_wait_for_its_dependents(kubernetes: Space) -> None:
    space = kubernetes
    owner = space.client.get(path_of(space)).body
    roles = space.everywhere("clusterroles", "rbac.authorization.@")
    depend(roles, space.name, reference(owner, blockOwnerDeletion=True), finalizers=HELD)
    space.client.delete(path_of(space), propagationPolicy="Foreground")
    eventually(lambda: is_going(roles, space.name), "the dependent is deleted")
    held = space.client.get(path_of(space)).body["metadata"]["finalizers"]
    assert held == ["foregroundDeletion"]
    release(roles, space.name)
    namespace_goes(space)
    await_deletion(roles, space.name)


def test_custom_objects_go_with_a_definition_that_goes_at_the_same_time(
    kubernetes: Space,
) -> None:
    widgets = Widgets(kubernetes).install()
    widgets.create("w", finalizers=HELD)
    delete(kubernetes)
    widgets.definitions.remove(widgets.name)
    remaining(kubernetes, f"Some resources are remaining: {widgets.name} has 1 resource instances")
    release(widgets.collection, "w")
    namespace_goes(kubernetes)
    await_deletion(widgets.definitions, widgets.name)


def test_the_end_of_what_is_left_is_heard_of(fresh_server: FreshServer) -> None:
    """However long what is left is not counted again."""
    slow = "import fairlead.controllers.namespace_deletion as d; d._RECOUNT_INTERVAL = 1e6"
    server = fresh_server(prelude=slow)
    space = Space(server, server.client())
    pods = space.collection("pods")
    space.ready_for_pods()
    run_pod(space, "p", node="some-node")
    for name in ("a", "b"):
        space.secrets.create(name, metadata={"finalizers": HELD})
    delete(space)
    remaining(
        space,
        "Some resources are remaining: pods. has 1 resource instances, secrets. has 2 resource"
        " instances",
    )
    release(space.secrets, "a")
    pods.delete("p", gracePeriodSeconds="0")
    release(space.secrets, "b")
    namespace_goes(space)


def test_what_cannot_be_deleted_is_told_and_tried_again(fresh_server: FreshServer) -> None:
    server = fresh_server()
    space = Space(server, server.client())
    roles = space.everywhere("clusterroles", "rbac.authorization.@")
    name = "system:controller:namespace-controller"
    rules = roles.read(name)["rules"]
    eventually(lambda: space.config_maps.names() != [], "the namespace has what all have")
    space.secrets.create("a")
    assert set_rules(space, name, [rule for rule in rules if rule["resources"] != ["*"]]) == 200
    delete(space)
    user = f"system:serviceaccount:{space.dialect.system_namespace}:namespace-controller"
    eventually(
        lambda: conditions(space).get("NamespaceDeletionContentFailure", ("",))[0] == "True",
        "the failure is told",
    )
    _, reason, message = conditions(space)["NamespaceDeletionContentFailure"]
    assert reason == "ContentDeletionFailed"
    assert message.startswith("Failed to delete all resource types, 3 remaining: configmaps is")
    assert (
        f'secrets is forbidden: User "{user}" cannot deletecollection resource "secrets" in API'
        f' group "" in the namespace "{space.name}"' in message
    )
    assert set_rules(space, name, rules) == 200
    namespace_goes(space)


def set_rules(space: Space, role: str, rules: list[Object]) -> int:
    roles = space.everywhere("clusterroles", "rbac.authorization.@")
    return roles.patch(role, {"rules": rules}).status
