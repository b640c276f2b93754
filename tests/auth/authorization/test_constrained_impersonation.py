"""Impersonation by modes, in release 1.36."""

from __future__ import annotations

import asyncio

import pytest
from support.authorization import ask, user

from fairlead.auth.authentication.user import User
from fairlead.auth.authorization.attributes import Attributes, Decision
from fairlead.auth.authorization.constrained_impersonation import ConstrainedImpersonation
from fairlead.base.dialect import KUBERNETES
from fairlead.base.errors import StatusError

ALICE = user("alice")
GROUP = "authentication.k8s.io"
NODE_NAME = "authentication.kubernetes.io/node-name"
AGENT = User("system:serviceaccount:ns:agent", "", (), {NODE_NAME: ("n1",)})


class Callers:
    """Callers with rights: verb, resource and name; `*` is any name."""

    def __init__(self, *rights: tuple[str, str, str]) -> None:
        self.rights = set(rights)
        self.asked: list[Attributes] = []
        self._impersonation = ConstrainedImpersonation(KUBERNETES, self._authorize)

    async def _authorize(self, attributes: Attributes) -> Decision:
        self.asked.append(attributes)
        resource = attributes.full_resource if attributes.is_resource else attributes.path
        names = (attributes.name, "*")
        allowed = any((attributes.verb, resource, name) in self.rights for name in names)
        return Decision(allowed=allowed)

    def impersonate(
        self, *headers: tuple[str, str], caller: User = ALICE, verb: str = "list"
    ) -> User:
        raw = [(f"impersonate-{name}".encode(), value.encode()) for name, value in headers]
        request = ask(caller, verb, "pods", "ns")
        impersonated, self.constraint = asyncio.run(self._impersonation.impersonate(raw, request))
        return impersonated

    def refusal(self, *headers: tuple[str, str], caller: User = ALICE, verb: str = "list") -> str:
        with pytest.raises(StatusError) as raised:
            self.impersonate(*headers, caller=caller, verb=verb)
        return raised.value.message


ON = ("impersonate-on:user-info:list", "pods", "*")
CAROL = ("impersonate:user-info", "users", "carol")


def test_two_rights_are_needed_for_a_user_and_a_verb() -> None:
    callers = Callers(ON, CAROL)
    assert callers.impersonate(("user", "carol")) == user("carol", "system:authenticated")
    assert callers.constraint == "impersonate:user-info"
    text = 'pods is forbidden: User "alice" cannot impersonate-on:user-info:get resource "pods"'
    assert callers.refusal(("user", "carol"), verb="get").startswith(text)
    text = f'users.{GROUP} "dave" is forbidden: User "alice" cannot impersonate:user-info resource'
    assert callers.refusal(("user", "dave")).startswith(text)


def test_the_plain_verb_still_allows_everything() -> None:
    callers = Callers(("impersonate", "users", "*"), ("impersonate", "groups", "system:masters"))
    impersonated = callers.impersonate(("user", "carol"), ("group", "system:masters"))
    assert impersonated.groups == ("system:masters", "system:authenticated")
    # From now on its refusal is the one that the caller sees.
    assert callers.refusal(("user", "x"), ("group", "y")).startswith('groups "y" is forbidden')


@pytest.mark.parametrize(
    ("headers", "error"),
    [
        ([("group", "system:masters")], "impersonating the system:masters group is not allowed"),
        ([("group", "")], "impersonating the empty string group is not allowed"),
        ([("extra-a", "b")], "impersonating an invalid key in extra is not allowed"),
        ([("extra-a.io%2fb", "")], "impersonating the empty string value in extra"),
    ],
)
def test_modes_restrict_groups_and_extra(headers: list[tuple[str, str]], error: str) -> None:
    everything = [("impersonate:user-info", name, "*") for name in ("groups", "userextras/a")]
    callers = Callers(ON, CAROL, *everything)
    assert error in callers.refusal(("user", "carol"), *headers)


def test_many_groups_need_one_right_for_all() -> None:
    callers = Callers(ON, CAROL, ("impersonate:user-info", "groups", "*"))
    groups = [("group", f"g{index}") for index in range(5)]
    assert len(callers.impersonate(("user", "carol"), *groups).groups) == 6
    assert [asked.name for asked in callers.asked if asked.resource == "groups"] == ["*"]


def test_nodes_and_accounts_have_modes_of_their_own() -> None:
    callers = Callers(
        ("impersonate-on:arbitrary-node:list", "pods", "*"),
        ("impersonate:arbitrary-node", "nodes", "n1"),
        ("impersonate-on:serviceaccount:list", "pods", "*"),
        ("impersonate:serviceaccount", "serviceaccounts", "robot"),
        ON,
        ("impersonate:user-info", "users", "*"),
    )
    node = callers.impersonate(("user", "system:node:n1"))
    assert node.groups == ("system:nodes", "system:authenticated")
    account = callers.impersonate(("user", "system:serviceaccount:ns:robot"))
    assert "system:serviceaccounts:ns" in account.groups
    assert "arbitrary-node" in callers.refusal(("user", "system:node:n2"))
    callers.refusal(("user", "system:node:n1"), ("group", "g"))


def test_an_agent_impersonates_the_node_of_its_pod() -> None:
    callers = Callers(
        ("impersonate-on:associated-node:list", "pods", "*"),
        ("impersonate:associated-node", "nodes", "*"),
    )
    node = callers.impersonate(("user", "system:node:n1"), caller=AGENT)
    assert node.name == "system:node:n1"
    assert NODE_NAME not in callers.asked[0].user.extra
    callers.refusal(("user", "system:node:n2"), caller=AGENT)


def test_headers_without_a_user_are_bad() -> None:
    text = Callers().refusal(("group", "dev"), ("extra-a", "b"))
    shown = 'Groups:[]string{"dev"}, Extra:map[string][]string{"a":[]string{"b"}}}'
    assert f'requested &user.DefaultInfo{{Name:"", UID:"", {shown} without' in text
