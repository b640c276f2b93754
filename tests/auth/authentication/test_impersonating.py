"""Impersonation: headers, permission checks, and odd headers that must gain nothing."""

from __future__ import annotations

import pytest
from support.authentication import run

from fairlead.auth.authentication.impersonation import asks_to_impersonate, impersonate
from fairlead.auth.authentication.user import User
from fairlead.base.dialect import KUBERNETES
from fairlead.base.errors import ResourceRef, StatusError, forbidden

ADMIN = User("admin", "uid-admin", ("system:masters", "system:authenticated"))
AUTHN = "authentication.k8s.io"
Check = tuple[str, str, str, str, str, str]


class Caller:
    """May do everything except what `refused` lists; records the checks."""

    def __init__(self, *refused: Check) -> None:
        self.refused = refused
        self.requests: list[Check] = []

    async def authorize(
        self, verb: str, group: str, resource: str, subresource: str, namespace: str, name: str
    ) -> None:
        requests = (verb, group, resource, subresource, namespace, name)
        self.requests.append(requests)
        if requests in self.refused:
            raise forbidden(ResourceRef(group, resource, name), "no")

    def become(self, *headers: tuple[str, str | bytes]) -> User:
        raw = [
            (name.lower().encode(), value if isinstance(value, bytes) else value.encode())
            for name, value in headers
        ]
        assert asks_to_impersonate(raw) == bool(headers)
        return run(impersonate(KUBERNETES, raw, ADMIN, self.authorize))


def test_nobody() -> None:
    caller = Caller()
    assert caller.become() is ADMIN
    assert caller.requests == []


def test_user() -> None:
    caller = Caller()
    assert caller.become(("Impersonate-User", "carol")) == User(
        "carol", "", ("system:authenticated",)
    )
    assert caller.requests == [("impersonate", "", "users", "", "", "carol")]


def test_everything() -> None:
    caller = Caller()
    user = caller.become(
        ("Impersonate-User", "carol"),
        ("Impersonate-Group", "dev"),
        ("impersonate-group", "ops"),
        ("Impersonate-Extra-Scopes", "view"),
        ("impersonate-extra-scopes", "edit"),
        ("Impersonate-Extra-acme.com%2Fproject", "some"),
        ("Impersonate-Uid", "7"),
    )
    extra = {"scopes": ("view", "edit"), "acme.com/project": ("some",)}
    assert user == User("carol", "7", ("dev", "ops", "system:authenticated"), extra)
    assert caller.requests == [
        ("impersonate", "", "users", "", "", "carol"),
        ("impersonate", "", "groups", "", "", "dev"),
        ("impersonate", "", "groups", "", "", "ops"),
        ("impersonate", AUTHN, "userextras", "scopes", "", "view"),
        ("impersonate", AUTHN, "userextras", "scopes", "", "edit"),
        ("impersonate", AUTHN, "userextras", "acme.com/project", "", "some"),
        ("impersonate", AUTHN, "uids", "", "", "7"),
    ]


def test_service_account_has_its_groups() -> None:
    caller = Caller()
    user = caller.become(("Impersonate-User", "system:serviceaccount:ns:robot"))
    assert user.groups == (
        "system:serviceaccounts",
        "system:serviceaccounts:ns",
        "system:authenticated",
    )
    assert caller.requests == [("impersonate", "", "serviceaccounts", "", "ns", "robot")]


def test_explicit_groups_replace_those_of_a_service_account() -> None:
    user = Caller().become(
        ("Impersonate-User", "system:serviceaccount:ns:robot"), ("Impersonate-Group", "dev")
    )
    assert user.groups == ("dev", "system:authenticated")


@pytest.mark.parametrize(
    "name",
    [
        "system:serviceaccount:ns",
        "system:serviceaccount:ns:a:b",
        "system:serviceaccount::robot",
        "system:serviceaccount:ns:",
        "system:serviceaccount:Ns:robot",
        "system:serviceaccount:ns:ro/bot",
        "System:serviceaccount:ns:robot",
    ],
)
def test_what_only_looks_like_a_service_account_is_a_user(name: str) -> None:
    caller = Caller()
    assert caller.become(("Impersonate-User", name)).groups == ("system:authenticated",)
    assert caller.requests == [("impersonate", "", "users", "", "", name)]


@pytest.mark.parametrize(
    ("name", "groups", "expected"),
    [
        ("carol", ["system:authenticated"], ("system:authenticated",)),
        ("carol", ["system:unauthenticated"], ("system:unauthenticated",)),
        ("system:anonymous", [], ("system:unauthenticated",)),
        ("system:anonymous", ["dev"], ("dev", "system:unauthenticated")),
        ("system:anonymous", ["system:unauthenticated"], ("system:unauthenticated",)),
    ],
)
def test_group_of_authentication(name: str, groups: list[str], expected: tuple[str, ...]) -> None:
    headers = [("Impersonate-Group", group) for group in groups]
    assert Caller().become(("Impersonate-User", name), *headers).groups == expected


@pytest.mark.parametrize(
    "headers",
    [
        [("Impersonate-Group", "system:masters")],
        [("Impersonate-Uid", "1")],
        [("Impersonate-Extra-Scopes", "view")],
        [("Impersonate-User", ""), ("Impersonate-Group", "system:masters")],
    ],
)
def test_a_user_is_needed(headers: list[tuple[str, str]]) -> None:
    caller = Caller()
    with pytest.raises(StatusError) as caught:
        caller.become(*headers)
    assert caught.value.code == 400
    assert caller.requests == []


@pytest.mark.parametrize(
    "refused",
    [
        ("impersonate", "", "users", "", "", "carol"),
        ("impersonate", "", "groups", "", "", "ops"),
        ("impersonate", AUTHN, "userextras", "scopes", "", "edit"),
        ("impersonate", AUTHN, "uids", "", "", "7"),
    ],
)
def test_every_part_needs_permission(refused: Check) -> None:
    with pytest.raises(StatusError) as caught:
        Caller(refused).become(
            ("Impersonate-User", "carol"),
            ("Impersonate-Group", "dev"),
            ("Impersonate-Group", "ops"),
            ("Impersonate-Extra-Scopes", "view"),
            ("Impersonate-Extra-Scopes", "edit"),
            ("Impersonate-Uid", "7"),
        )
    assert caught.value.code == 403


class TestOddHeaders:
    """The checked identity is the one that is used, for any headers."""

    def test_only_the_first_user_and_uid_count(self) -> None:
        caller = Caller()
        user = caller.become(
            ("Impersonate-User", "carol"),
            ("impersonate-user", "admin"),
            ("Impersonate-Uid", "1"),
            ("IMPERSONATE-UID", "2"),
        )
        assert (user.name, user.uid) == ("carol", "1")
        assert [request[-1] for request in caller.requests] == ["carol", "1"]

    @pytest.mark.parametrize(
        ("header", "name"),
        [
            ("Impersonate-Extra-Mixed-CASE", "mixed-case"),
            ("Impersonate-Extra-a%2Fb", "a/b"),
            ("Impersonate-Extra-a%252Fb", "a%2fb"),
            ("Impersonate-Extra-a%2", "a%2"),
            ("Impersonate-Extra-a%zz", "a%zz"),
            ("Impersonate-Extra-%41", "A"),
            ("Impersonate-Extra-gr%C3%BCn", "grün"),
            ("Impersonate-Extra-", ""),
        ],
    )
    def test_extra_names_are_decoded_once(self, header: str, name: str) -> None:
        caller = Caller()
        user = caller.become(("Impersonate-User", "carol"), (header, "v"))
        assert user.extra == {name: ("v",)}
        assert caller.requests[-1] == ("impersonate", AUTHN, "userextras", name, "", "v")

    def test_spellings_of_one_extra_name_come_together(self) -> None:
        user = Caller().become(
            ("Impersonate-User", "carol"),
            ("Impersonate-Extra-a%2Fb", "1"),
            ("Impersonate-Extra-a%2fb", "2"),
            ("Impersonate-Extra-a/b", "3"),
        )
        assert user.extra == {"a/b": ("1", "2", "3")}

    def test_text_that_is_not_utf8(self) -> None:
        for header in ("Impersonate-User", "Impersonate-Group", "Impersonate-Extra-X"):
            with pytest.raises(StatusError) as caught:
                Caller().become((header, b"\xff"), ("Impersonate-User", "carol"))
            assert caught.value.code == 400

    def test_names_beyond_ascii(self) -> None:
        assert Caller().become(("Impersonate-User", "zoë")).name == "zoë"

    def test_percent_in_a_user_name_stands_for_itself(self) -> None:
        assert Caller().become(("Impersonate-User", "system%3Amasters")).name == (
            "system%3Amasters"
        )
