"""The access view: who may do something, why a user may not, and all permissions of a user."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
import yaml
from support.browser import Visitor
from support.client import YAML, Object
from support.namespaces import Collection, Space

expect = pytest.importorskip("playwright.sync_api").expect

if TYPE_CHECKING:
    from playwright.sync_api import Locator

Visit = Callable[..., Visitor]
RBAC = "rbac.authorization.@"
LABELS = {
    **{"verb": "Verb", "kind": "Kind or /path", "namespace": "Namespace", "name": "Name"},
    **{"user": "As user", "groups": "With groups"},
}


def ask(visitor: Visitor, **fields: str) -> None:
    for name, value in fields.items():
        visitor.page.get_by_label(LABELS[name], exact=True).fill(value)
    visitor.page.get_by_role("button", name="Ask").click()


def bind(space: Space, name: str, subject: Object, *rules: Object) -> Collection:
    """A role and its binding; the latter's collection."""
    roles, bindings = space.collection("roles", RBAC), space.collection("rolebindings", RBAC)
    roles.create(name, rules=list(rules))
    group = space.dialect.group_name(RBAC)
    if subject["kind"] != "ServiceAccount":
        subject = {**subject, "apiGroup": group}
    role = {"kind": "Role", "name": name, "apiGroup": group}
    bindings.create(name, roleRef=role, subjects=[subject])
    return bindings


def rule(*verbs: str, resource: str = "configmaps", **more: list[str]) -> Object:
    return {"apiGroups": [""], "resources": [resource], "verbs": list(verbs), **more}


def who(visitor: Visitor, text: str) -> Locator:
    return (
        visitor.page.get_by_role("table", name="Who can").get_by_role("row").filter(has_text=text)
    )


def test_who_can_is_told_with_the_way_of_the_right(returning: Visit, kubernetes: Space) -> None:
    bind(kubernetes, "writers", {"kind": "Group", "name": "dev"}, rule("create", "update"))
    bind(kubernetes, "named", {"kind": "User", "name": "carol"}, rule("*", resourceNames=["one"]))
    bind(kubernetes, "account", {"kind": "ServiceAccount", "name": "bot"}, rule("*", resource="*"))
    visitor = returning(kubernetes.server, "#/access", namespace=kubernetes.name)
    ask(visitor, verb="update", kind="configmaps")
    expect(who(visitor, "Group dev")).to_contain_text(f"RoleBinding {kubernetes.name}/writers")
    expect(who(visitor, "Group dev")).to_contain_text("create,update configmaps")
    expect(who(visitor, f"ServiceAccount {kubernetes.name}/bot")).to_have_count(1)
    expect(who(visitor, "Group system:masters")).to_contain_text("cluster-admin")
    expect(who(visitor, "carol")).to_have_count(0)
    visitor.picture("access-who")
    assert visitor.findings() == []
    ask(visitor, name="one")
    expect(who(visitor, "User carol")).to_contain_text("named one")
    ask(visitor, verb="delete", name="")
    expect(who(visitor, f"ServiceAccount {kubernetes.name}/bot")).to_have_count(1)
    expect(who(visitor, "Group dev")).to_have_count(0)


def test_an_aggregated_role_says_where_it_has_a_rule_from(returning: Visit, cluster: Space) -> None:
    roles = cluster.everywhere("clusterroles", RBAC)
    labels = {"of": cluster.name}
    path = f"/{cluster.name}/*"
    roles.create(
        f"{cluster.name}-part", labels=labels, rules=[{"nonResourceURLs": [path], "verbs": ["get"]}]
    )
    selector = {"clusterRoleSelectors": [{"matchLabels": labels}]}
    roles.create(f"{cluster.name}-all", aggregationRule=selector, rules=[])
    group = cluster.dialect.group_name(RBAC)
    cluster.everywhere("clusterrolebindings", RBAC).create(
        cluster.name,
        roleRef={"kind": "ClusterRole", "name": f"{cluster.name}-all", "apiGroup": group},
        subjects=[{"kind": "User", "name": "dora", "apiGroup": group}],
    )
    visitor = returning(cluster.server, "#/access")
    ask(visitor, verb="get", kind=f"/{cluster.name}/deep")
    expect(who(visitor, "dora")).to_contain_text(f"from ClusterRole {cluster.name}-part")


def answer(visitor: Visitor) -> Locator:
    return visitor.page.get_by_role("region", name="Answer")


def missing(visitor: Visitor) -> str:
    """The YAML that is shown, as one would copy it."""
    output = visitor.page.get_by_role("region", name="What is missing").locator("code")
    return "\n".join(output.all_text_contents())


@pytest.mark.both_dialects
def test_what_is_missing_is_just_what_allows_it(returning: Visit, space: Space) -> None:
    visitor = returning(space.server, "#/access/why", token="alice-token", namespace=space.name)
    question = {"verb": "delete", "kind": "pods", "name": "web"}
    ask(visitor, **question)
    expect(answer(visitor)).to_contain_text("No. You may not delete pods web")
    visitor.picture(f"access-why-{space.dialect.name}")
    assert visitor.findings() == []
    for item in yaml.safe_load_all(missing(visitor)):
        plural = f"{item['kind'].lower()}s"
        response = space.client.post(
            space.collection(plural, RBAC).path,
            yaml.safe_dump(item),
            headers={"Content-Type": YAML},
        )
        assert response.status == 201, response.text
    ask(visitor)
    expect(answer(visitor)).to_contain_text("Yes. You may delete pods web")
    ask(visitor, name="another")
    expect(answer(visitor)).to_contain_text("No. You may not")
    near = visitor.page.get_by_role("table", name="Near misses")
    expect(near).to_contain_text("it is for other names")


def test_why_somebody_else_may_or_may_not(returning: Visit, kubernetes: Space) -> None:
    bind(kubernetes, "readers", {"kind": "Group", "name": "ops"}, rule("get", "list"))
    visitor = returning(kubernetes.server, "#/access/why", namespace=kubernetes.name)
    question = {"verb": "list", "kind": "configmaps", "user": "zoe"}
    ask(visitor, **question, groups="ops")
    expect(answer(visitor)).to_contain_text("Yes. zoe may list configmaps")
    why = visitor.page.get_by_role("table", name="Why it is allowed")
    expect(why).to_contain_text(f"RoleBinding {kubernetes.name}/readers")
    ask(visitor, verb="delete")
    expect(answer(visitor)).to_contain_text("No. zoe may not delete configmaps")
    near = visitor.page.get_by_role("table", name="Near misses")
    expect(near).to_contain_text("it does not have the verb delete")
    ask(visitor, verb="list", namespace="default")
    expect(near).to_contain_text(f"it is for the namespace {kubernetes.name} only")


def test_what_cannot_be_known_without_rights_is_said(returning: Visit, kubernetes: Space) -> None:
    visitor = returning(
        kubernetes.server, "#/access", token="alice-token", namespace=kubernetes.name
    )
    ask(visitor, verb="get", kind="pods")
    expect(visitor.page.get_by_role("alert")).to_contain_text("you may not list")
    visitor.go("#/access/why")
    ask(visitor, verb="get", user="bob")
    expect(visitor.page.get_by_role("alert")).to_contain_text('User "alice" cannot create')


def test_all_that_one_may_is_a_table_of_verbs(returning: Visit, kubernetes: Space) -> None:
    bind(kubernetes, "some", {"kind": "User", "name": "alice"}, rule("get", "watch"))
    only = rule("delete", resource="secrets", resourceNames=["<b>x"])
    bind(kubernetes, "one", {"kind": "User", "name": "alice"}, only)
    visitor = returning(
        kubernetes.server, "#/access/mine", token="alice-token", namespace=kubernetes.name
    )
    table = visitor.page.get_by_role("table", name="Verbs by kind")
    cells = table.get_by_role("row").filter(has_text="configmaps").get_by_role("cell")
    expect(cells).to_have_text(["configmaps", "yes", "", "yes", "", "", "", "", ""])
    expect(table.get_by_role("row").filter(has_text="secrets")).to_contain_text("by name")
    visitor.picture("access-mine")
    assert visitor.findings() == []


def test_a_denied_request_leads_to_its_explanation_with_everything_filled_in(
    returning: Visit, kubernetes: Space
) -> None:
    bind(kubernetes, "readers", {"kind": "Group", "name": "dev"}, rule("get", resource="secrets"))
    headers = {"Impersonate-User": "zoe", "Impersonate-Group": "dev"}
    secret = kubernetes.secrets.item("s")
    assert kubernetes.client.request("DELETE", secret, headers=headers).status == 403
    visitor = returning(kubernetes.server, "#/overview", namespace=kubernetes.name)
    denied = visitor.page.get_by_role("region", name="Requests that were denied")
    line = denied.get_by_role("row").filter(has_text=kubernetes.name)
    line.get_by_role("link", name="Why not? zoe").click()
    expect(answer(visitor)).to_contain_text("No. zoe may not delete secrets s")
    fields = {"user": "zoe", "verb": "delete", "kind": "secrets", "name": "s"}
    for name, text in fields.items():
        expect(visitor.page.get_by_label(LABELS[name], exact=True)).to_have_value(text)
    groups = visitor.page.get_by_label(LABELS["groups"], exact=True)
    expect(groups).to_have_value("dev,system:authenticated")
    expect(answer(visitor)).to_contain_text("The nearest rule is get secrets of Role")
    expect(answer(visitor)).to_contain_text("but it does not have the verb delete.")
    visitor.picture("denied-explained")
    assert visitor.findings() == []
    expect(answer(visitor)).to_contain_text("would allow it, if one were bound")
    for item in yaml.safe_load_all(missing(visitor)):
        path = kubernetes.collection(f"{item['kind'].lower()}s", RBAC).path
        assert kubernetes.client.post(path, item).status == 201
    assert kubernetes.client.request("DELETE", secret, headers=headers).status == 404


def test_a_refusal_on_a_page_leads_to_its_explanation(returning: Visit, kubernetes: Space) -> None:
    visitor = returning(
        kubernetes.server, "#/kinds/core/secrets", token="alice-token", namespace=kubernetes.name
    )
    visitor.go(f"#/objects/core/secrets/{kubernetes.name}/s")
    visitor.page.get_by_role("alert").get_by_role("link", name="Why not?").click()
    expect(answer(visitor)).to_contain_text("No. You may not get secrets")
