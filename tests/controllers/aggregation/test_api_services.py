"""The group versions of this server are registered as APIServices, and follow its resources."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.client import Object
from support.namespaces import Collection, Space
from support.process import FreshServer, ServerProcess
from support.registered import Gadgets
from support.waiting import eventually

from fairlead.base.dialect import Dialect


def services_of(space: Space) -> Collection:
    return space.everywhere("apiservices", "apiregistration.@")


def label_of(dialect: Dialect) -> str:
    return dialect.label("kube-aggregator.@/automanaged")


def listed_groups(space: Space) -> list[Object]:
    """The built-in ones: other tests define some of their own."""
    groups = space.client.get("/apis").body["groups"]
    return [group for group in groups if ".example." not in group["name"]]


@pytest.fixture
def services(space: Space) -> Collection:
    return services_of(space)


@pytest.fixture
def gadgets(space: Space, services: Collection) -> Iterator[Gadgets]:
    gadgets = Gadgets(space)
    eventually(lambda: services.get(gadgets.service()).status == 200, "it is registered")
    yield gadgets
    gadgets.definitions.delete(gadgets.name)
    eventually(lambda: gadgets.definitions.get(gadgets.name).status == 404, "the definition goes")
    eventually(
        lambda: not [name for name in services.names() if gadgets.group in name],
        "nothing of it is registered",
    )


@pytest.mark.both_dialects
def test_every_version_of_a_group_is_registered(space: Space, services: Collection) -> None:
    served = {
        f"{version['version']}.{group['name']}"
        for group in listed_groups(space)
        for version in group["versions"]
    }
    own = f"v1.{space.dialect.group_name('apiregistration.@')}"
    registered = {name for name in services.names() if ".example." not in name}
    assert registered == served - {own} | {"v1."}


@pytest.mark.both_dialects
def test_what_is_registered_is_local_and_available(space: Space, services: Collection) -> None:
    service = services.read("v1.apps")
    assert service["metadata"]["labels"] == {label_of(space.dialect): "onstart"}
    assert "service" not in service["spec"]
    [condition] = service["status"]["conditions"]
    del condition["lastTransitionTime"]
    assert condition == {
        "type": "Available",
        "status": "True",
        "reason": "Local",
        "message": "Local APIServices are always available",
    }


@pytest.mark.both_dialects
@pytest.mark.parametrize(
    ("version", "group", "priorities"),
    [
        ("v1", "", (18000, 1)),
        ("v1", "apps", (17800, 15)),
        ("v2", "autoscaling", (17500, 30)),
        ("v1", "autoscaling", (17500, 15)),
        ("v1beta1", "storage.@", (16800, 9)),
        ("v1", "apiextensions.@", (16700, 15)),
        ("v1beta2", "flowcontrol.apiserver.@", (16100, 15)),
    ],
)
def test_priorities_are_those_of_the_reference(
    space: Space, services: Collection, version: str, group: str, priorities: tuple[int, int]
) -> None:
    spec = services.read(f"{version}.{space.dialect.group_name(group)}")["spec"]
    assert (spec["groupPriorityMinimum"], spec["versionPriority"]) == priorities


@pytest.mark.both_dialects
def test_groups_are_listed_by_priority(space: Space, services: Collection) -> None:
    by_group = {
        item["spec"].get("group", ""): item["spec"]["groupPriorityMinimum"]
        for item in services.list().body["items"]
    }
    first, *others = [group["name"] for group in listed_groups(space)]
    assert first == space.dialect.group_name("apiregistration.@")
    priorities = [by_group[name] for name in others]
    assert priorities == sorted(priorities, reverse=True)


@pytest.mark.both_dialects
def test_the_table_says_who_is_available(space: Space, services: Collection) -> None:
    form = f"application/json;as=Table;v=v1;g={space.dialect.meta_group}"
    answer = space.client.get(f"{services.path}/v1.apps", headers={"Accept": form})
    [row] = answer.body["rows"]
    assert row["cells"][:3] == ["v1.apps", "Local", "True"]


@pytest.mark.both_dialects
def test_versions_of_a_definition_are_registered(
    space: Space, services: Collection, gadgets: Gadgets
) -> None:
    result = services.read(gadgets.service("v1beta1"))
    assert result["metadata"]["labels"] == {label_of(space.dialect): "true"}
    assert result["spec"] == {
        "group": gadgets.group,
        "version": "v1beta1",
        "groupPriorityMinimum": 1000,
        "versionPriority": 100,
    }


def test_a_version_that_is_no_longer_served_is_not_registered(
    services: Collection, gadgets: Gadgets
) -> None:
    definition = gadgets.definitions.read(gadgets.name)
    definition["spec"]["versions"][1]["served"] = False
    gadgets.definitions.update(definition)
    beta = gadgets.service("v1beta1")
    eventually(lambda: services.get(beta).status == 404, "it is taken back")
    assert services.get(gadgets.service()).status == 200


def test_a_registration_of_a_definition_that_is_deleted_comes_back(
    services: Collection, gadgets: Gadgets
) -> None:
    uid = services.read(gadgets.service())["metadata"]["uid"]
    services.remove(gadgets.service())

    def is_new() -> bool:
        answer = services.get(gadgets.service())
        return answer.status == 200 and answer.body["metadata"]["uid"] != uid

    eventually(is_new, "it comes back")


def test_a_registration_of_a_definition_is_corrected(
    services: Collection, gadgets: Gadgets
) -> None:
    name = gadgets.service()
    service = {"namespace": "default", "name": "other"}
    wrong = {"groupPriorityMinimum": 5000, "service": service, "insecureSkipTLSVerify": True}
    assert services.patch(name, {"spec": wrong}).status == 200

    def is_right() -> bool:
        service = services.read(name)
        spec, [condition] = service["spec"], service["status"]["conditions"]
        return (
            spec["groupPriorityMinimum"] == 1000
            and "service" not in spec
            and "insecureSkipTLSVerify" not in spec
            and condition["reason"] == "Local"
        )

    eventually(is_right, "it is as it was")


@pytest.mark.both_dialects
def test_a_registration_without_the_label_is_left_to_its_owner(
    space: Space, services: Collection, gadgets: Gadgets
) -> None:
    name = gadgets.service()
    taken = {
        "metadata": {"labels": {label_of(space.dialect): None}},
        "spec": {"versionPriority": 7},
    }
    assert services.patch(name, taken).status == 200
    # Another one of the same definition, which shows when the server has looked at both.
    services.patch(gadgets.service("v1beta1"), {"spec": {"versionPriority": 7}})
    services.patch(name, {"metadata": {"labels": {"a": "b"}}})
    eventually(
        lambda: services.read(gadgets.service("v1beta1"))["spec"]["versionPriority"] == 100,
        "the other is corrected",
    )
    assert services.read(name)["spec"]["versionPriority"] == 7
    services.remove(name)


def test_a_builtin_registration_is_put_back_when_it_is_changed(
    space: Space, services: Collection
) -> None:
    before = services.read("v1.apps")["spec"]
    service = {"namespace": "default", "name": "other"}
    wrong = {"groupPriorityMinimum": 1, "service": service, "insecureSkipTLSVerify": True}
    assert services.patch("v1.apps", {"spec": wrong}).status == 200
    eventually(lambda: services.read("v1.apps")["spec"] == before, "it is as it was")


def test_a_builtin_registration_that_was_deleted_comes_back_with_the_next_start(
    fresh_server: FreshServer,
) -> None:
    server = fresh_server()
    services = services_of(Space(server, server.client()))
    services.remove("v1.batch")
    label = label_of(server.dialect)
    own = {"metadata": {"labels": {label: None}}, "spec": {"versionPriority": 2}}
    assert services.patch("v1.policy", own).status == 200

    services = restarted(server, "--runtime-config", "flowcontrol.apiserver.k8s.io/v1beta1=false")
    assert services.get("v1.batch").status == 200
    assert services.read("v1.policy")["spec"]["versionPriority"] == 2
    unserved = "v1beta1.flowcontrol.apiserver.k8s.io"
    eventually(lambda: services.get(unserved).status == 404, "what is not served goes")


def restarted(server: ServerProcess, *flags: str) -> Collection:
    server.stop()
    server.flags = flags
    server.start()
    return services_of(Space(server, server.client()))


def test_a_server_that_lists_registrations_has_completed_them(space: Space) -> None:
    content = space.client.get("/readyz", verbose="").text
    names = [line.removeprefix("[+]").removesuffix(" ok") for line in content.splitlines()]
    first = names.index("poststarthook/apiservice-registration-controller")
    assert names[first : first + 4] == [
        "poststarthook/apiservice-registration-controller",
        "poststarthook/apiservice-status-available-controller",
        "poststarthook/kube-apiserver-autoregistration",
        "autoregister-completion",
    ]
    assert space.client.get("/readyz/autoregister-completion").text == "ok"
