"""The compiled RBAC index decides like a plain evaluation of roles and bindings."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from support.authorization import World, ask, subject, user

from fairlead.auth.authentication.user import User
from fairlead.auth.authorization.attributes import Attributes
from fairlead.auth.authorization.coverage import missing_rules, single_verb_rules
from fairlead.auth.authorization.rbac import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    ROLE_BINDINGS,
    ROLES,
)

Object = dict[str, Any]

VERBS = ("get", "list", "*", "")
GROUPS = ("", "apps", "*")
RESOURCES = ("pods", "pods/log", "pods/*", "*/log", "deployments", "deployments/scale", "*")
NAMES = ("", "a", "b")
PATHS = ("/a", "/a/", "/a/b", "/a/*", "/a*", "*", "/")
NAMESPACES = ("one", "two")
ROLE_NAMES = ("r", "s", "t")
SUBJECTS = (
    "user:alice", "user:bob", "user:system:serviceaccount:one:robot", "group:dev", "group:ops",
    "account:one/robot", "account:robot",
)  # fmt: skip
USERS = (
    user("alice", "dev"),
    user("bob", "dev", "ops"),
    user("carol"),
    user("system:serviceaccount:one:robot", "ops"),
    user("system:serviceaccount:two:robot"),
)


def some(values: tuple[str, ...], minimum: int = 1) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(values), min_size=minimum, max_size=3)


resource_rules = st.builds(
    lambda verbs, groups, resources, names: {
        "verbs": verbs, "apiGroups": groups, "resources": resources, "resourceNames": names,
    },
    some(VERBS), some(GROUPS), some(RESOURCES), some(NAMES, 0),
)  # fmt: skip
path_rules = st.builds(
    lambda verbs, urls: {"verbs": verbs, "nonResourceURLs": urls}, some(VERBS), some(PATHS)
)
rules = st.lists(st.one_of(resource_rules, path_rules), max_size=3)
Named = tuple[str, str]  # namespace and name
Roles = dict[Named, list[Object]]
Bindings = dict[Named, tuple[str, str, list[str]]]

roles = st.dictionaries(
    st.tuples(st.sampled_from(("", *NAMESPACES)), st.sampled_from(ROLE_NAMES)), rules, max_size=5
)
bindings = st.dictionaries(
    st.tuples(st.sampled_from(("", *NAMESPACES)), st.sampled_from(("x", "y", "z"))),
    st.tuples(
        st.sampled_from(("Role", "ClusterRole")),
        st.sampled_from(ROLE_NAMES),
        st.lists(st.sampled_from(SUBJECTS), max_size=3),
    ),
    max_size=6,
)
questions = st.one_of(
    st.builds(
        ask,
        st.sampled_from(USERS),
        st.sampled_from(("get", "list", "create", "")),
        st.sampled_from(
            ("pods", "pods/log", "apps:deployments", "apps:deployments/scale", "apps:pods/log",
             "x:y", "pods/*")
        ),
        st.sampled_from(("", *NAMESPACES)),
        st.sampled_from(("", "a", "c")),
    ),
    st.builds(
        ask,
        st.sampled_from(USERS),
        st.sampled_from(("get", "post")),
        st.sampled_from(("/a", "/a/", "/a/b", "/ab", "/", "/b")),
    ),
)  # fmt: skip


# The plain reading: every binding, every subject, every rule, one after the other.


def plain_allows(all_roles: Roles, all_bindings: Bindings, question: Attributes) -> bool:
    for (namespace, _), (kind, role, subjects) in all_bindings.items():
        if namespace not in ("", question.namespace):
            continue
        if not any(reaches(subject(text), namespace, question.user) for text in subjects):
            continue
        if kind == "Role" and not namespace:
            continue
        granted = all_roles.get((namespace if kind == "Role" else "", role), [])
        if any(rule_matches(rule, question) for rule in granted):
            return True
    return False


def reaches(who: Object, namespace: str, asking: User) -> bool:
    if who["kind"] == "User":
        return bool(who["name"] == asking.name)
    if who["kind"] == "Group":
        return who["name"] in asking.groups
    home = who.get("namespace") or namespace
    return home != "" and asking.name == f"system:serviceaccount:{home}:{who['name']}"


def rule_matches(rule: Object, question: Attributes) -> bool:
    if question.verb not in rule["verbs"] and "*" not in rule["verbs"]:
        return False
    if not question.is_resource:
        return any(path_matches(url, question.path) for url in rule.get("nonResourceURLs", []))
    if question.group not in rule.get("apiGroups", []) and "*" not in rule.get("apiGroups", []):
        return False
    if not any(resource_matches(name, question) for name in rule.get("resources", [])):
        return False
    names = rule.get("resourceNames", [])
    return not names or question.name in names


def path_matches(url: str, path: str) -> bool:
    return url == path or (url.endswith("*") and path.startswith(url.rstrip("*")))


def resource_matches(name: str, question: Attributes) -> bool:
    whole = question.resource
    if question.subresource:
        whole += "/" + question.subresource
    if name in ("*", whole):
        return True
    return question.subresource != "" and name == "*/" + question.subresource


def fill(world: World, all_roles: Roles, all_bindings: Bindings) -> None:
    for (namespace, name), granted in all_roles.items():
        world.role(name, *granted, namespace=namespace)
    for (namespace, name), (kind, role, subjects) in all_bindings.items():
        world.bind(name, role, *subjects, namespace=namespace, kind=kind)


@given(roles, bindings, st.lists(questions, min_size=1, max_size=12))
def test_decisions(all_roles: Roles, all_bindings: Bindings, asked: list[Attributes]) -> None:
    world = World()
    fill(world, all_roles, all_bindings)
    for question in asked:
        expected = plain_allows(all_roles, all_bindings, question)
        assert world.rbac.decide(question).allowed is expected, question


@given(roles, bindings, roles, bindings, st.lists(questions, min_size=1, max_size=8))
def test_decisions_after_changes(
    old_roles: Roles,
    old_bindings: Bindings,
    new_roles: Roles,
    new_bindings: Bindings,
    asked: list[Attributes],
) -> None:
    """An index that was updated object by object equals a new one."""
    world = World()
    fill(world, old_roles, old_bindings)
    for namespace, name in old_roles.keys() - new_roles.keys():
        world.objects.remove(ROLES if namespace else CLUSTER_ROLES, namespace, name)
    for namespace, name in old_bindings.keys() - new_bindings.keys():
        key = ROLE_BINDINGS if namespace else CLUSTER_ROLE_BINDINGS
        world.objects.remove(key, namespace, name)
    fill(world, new_roles, new_bindings)
    for question in asked:
        expected = plain_allows(new_roles, new_bindings, question)
        assert world.rbac.decide(question).allowed is expected, question


def plain_covers(owned: Object, atom: Object) -> bool:
    """Whether a rule allows all that an atomic rule allows."""
    if not ({"*", *atom["verbs"]} & set(owned["verbs"])):
        return False
    if "nonResourceURLs" in atom:
        (url,) = atom["nonResourceURLs"]
        return any(path_matches(own, url) for own in owned.get("nonResourceURLs", []))
    if not ({"*", *atom["apiGroups"]} & set(owned.get("apiGroups", []))):
        return False
    (resource,) = atom["resources"]
    ways = {"*", resource}
    if "/" in resource:
        ways.add("*/" + resource.split("/", 1)[1])
    if not (ways & set(owned.get("resources", []))):
        return False
    names = owned.get("resourceNames", [])
    return not names or any(name in names for name in atom.get("resourceNames", []))


@given(rules, rules)
def test_coverage(owned: list[Object], wanted: list[Object]) -> None:
    missing = single_verb_rules(missing_rules(owned, wanted))
    everything = single_verb_rules(missing_rules([], wanted))
    expected = [a for a in everything if not any(plain_covers(rule, a) for rule in owned)]
    assert missing == expected


@given(rules, rules, st.lists(questions, max_size=10))
def test_covered_rules_give_nothing_new(
    owned: list[Object], wanted: list[Object], asked: list[Attributes]
) -> None:
    """A user who may grant a rule may do what it allows."""
    if missing_rules(owned, wanted):
        return
    for question in asked:
        if any(rule_matches(rule, question) for rule in wanted):
            assert any(rule_matches(rule, question) for rule in owned)
