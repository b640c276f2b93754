"""`fairlead auth can-i | whoami | why`."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.client import Object
from support.commands import Commands, Ran
from support.kubectl import Kubectl, compared
from support.namespaces import random_word


@dataclass
class WithConfig(Commands):
    """Commands of another user than the admin."""

    path: Path

    @property
    def config(self) -> Path:
        return self.path


def with_token(fairlead: Commands, token: str, directory: Path) -> Commands:
    config = json.loads(fairlead.config.read_text())
    config["users"][0]["user"] = {"token": token}
    path = directory / "config"
    path.write_text(json.dumps(config))
    return WithConfig(fairlead.space, path)


def grant(
    fairlead: Commands, role: str, user: str, *rules: Object, kind: str = "User", **metadata: str
) -> None:
    """A Role with rules, bound to a user or a group in the namespace."""
    space = fairlead.space
    group = space.dialect.group_name("rbac.authorization.@")
    space.collection("roles", "rbac.authorization.@").create(
        role, rules=list(rules), metadata=metadata
    )
    subject = {"kind": kind, "name": user, "apiGroup": group}
    space.collection("rolebindings", "rbac.authorization.@").create(
        f"{role}-binding",
        roleRef={"apiGroup": group, "kind": "Role", "name": role},
        subjects=[subject],
    )


def rule(verbs: str, resources: str, names: str = "", group: str = "") -> Object:
    value = {"apiGroups": [group], "resources": resources.split(), "verbs": verbs.split()}
    return {**value, "resourceNames": names.split()} if names else value


class TestCanI:
    def test_the_answer_is_a_word_and_the_exit_code(self, fairlead: Commands) -> None:
        grant(fairlead, "reader", "bob", rule("get list", "pods"))
        yes = fairlead.run("auth", "can-i", "get", "pods", "--as", "bob")
        no = fairlead.run("auth", "can-i", "delete", "pods", "--as", "bob")
        assert (yes.code, yes.out, yes.errors) == (0, "yes\n", "")
        assert (no.code, no.out, no.errors) == (1, "no\n", "")

    def test_quietly_the_exit_code_alone(self, fairlead: Commands) -> None:
        assert fairlead.run("auth", "can-i", "get", "pods", "-q") == Ran(0, "", "")
        assert fairlead.run("auth", "can-i", "-q", "get", "pods", "--as=bob") == Ran(1, "", "")

    @pytest.mark.parametrize(
        ("words", "code"),
        [
            (("get", "pods", "web"), 0),
            (("get", "pods/web"), 0),
            (("get", "pods/other"), 1),
            (("get", "pods"), 1),
            (("get", "pods/web", "--subresource=log"), 0),
            (("get", "pods/web", "--subresource=exec"), 1),
            (("get", "pods/web", "-A"), 1),
            (("get", "/version"), 0),
            (("get", "/metrics"), 1),
        ],
    )
    def test_names_subresources_and_paths(
        self, fairlead_kubernetes: Commands, words: tuple[str, ...], code: int
    ) -> None:
        grant(fairlead_kubernetes, "one", "bob", rule("get", "pods pods/log", "web"))
        assert fairlead_kubernetes.run("auth", "can-i", *words, "--as=bob").code == code

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (("get", "nothings"), "the server does not serve 'nothings'"),
            (("get", "x.foo"), "the server does not serve 'x' in group 'foo'"),
            (
                ("get", "nodes"),
                "'nodes' is in no namespace: the question is about the whole cluster",
            ),
            (("frob", "pods"), "no resource has the verb 'frob'"),
            (("frob", "/x"), "no path has the verb 'frob'"),
        ],
    )
    def test_what_may_not_be_meant_is_warned_of(
        self, fairlead_kubernetes: Commands, words: tuple[str, ...], message: str
    ) -> None:
        ran = fairlead_kubernetes.run("auth", "can-i", *words)
        assert (ran.code, ran.out, ran.errors) == (0, "yes\n", f"Warning: {message}\n\n")

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            ((), "say what is asked, as in get pods, update configmap/web or get /metrics"),
            (
                ("get", "/x", "--subresource=y"),
                "--subresource is for resources, not for a path such as /healthz",
            ),
            (("--list", "get"), "--list shows everything: leave out verb and resource"),
            (("--list", "-q"), "--list cannot be combined with --quiet"),
            (("get", "pods", "--no-headers"), "--no-headers is for --list"),
            (("get", "pods/a", "a"), "a name can be given once"),
        ],
    )
    def test_what_it_does_not_understand(
        self, fairlead_kubernetes: Commands, words: tuple[str, ...], message: str
    ) -> None:
        ran = fairlead_kubernetes.run("auth", "can-i", *words)
        assert ran.code == 1
        assert ran.errors.startswith(f"error: {message}")

    def test_all_that_is_allowed_is_listed(self, fairlead: Commands) -> None:
        grant(
            fairlead, "a", "bob", rule("get list", "pods"), rule("delete", "pods pods/log", "web")
        )
        lines = fairlead("auth", "can-i", "--list", "--as=bob").splitlines()
        head = ["Resources", "Non-Resource URLs", "Resource Names", "Verbs"]
        assert re.split("   +", lines[0]) == head
        assert ["pods", "[]", "[]", "[get", "list]"] in [line.split() for line in lines]
        assert ["pods/log", "[]", "[web]", "[delete]"] in [line.split() for line in lines]
        bare = fairlead("auth", "can-i", "--list", "--no-headers", "--as=bob")
        assert [line.split() for line in bare.splitlines()] == [line.split() for line in lines[1:]]

    @compared
    def test_the_list_is_kubectls(self, fairlead_kubernetes: Commands, tmp_path: Path) -> None:
        grant(fairlead_kubernetes, "a", "bob", rule("get list", "pods"), rule("*", "*", group="*"))
        space = fairlead_kubernetes.space
        kubectl = Kubectl(space.server, space.name, tmp_path)
        words = ("auth", "can-i", "--list", "--as=bob")
        assert fairlead_kubernetes(*words) == kubectl(*words)


class TestWhoAmI:
    def test_a_certificate_says_it(self, fairlead: Commands) -> None:
        ran = fairlead.run("auth", "whoami")
        assert ran.code == 0
        assert ran.out == (
            "ATTRIBUTE   VALUE\n"
            "Username    admin\n"
            "Groups      [system:masters system:authenticated]\n"
        )
        assert "comes from the subject of the client certificate" in ran.errors

    def test_a_token_is_asked_about(self, fairlead: Commands, tmp_path: Path) -> None:
        ran = with_token(fairlead, "admin-token", tmp_path).run("auth", "whoami", "-o", "json")
        info = json.loads(ran.out)["status"]["userInfo"]
        assert info["username"] == "admin"
        assert "system:masters" in info["groups"]
        assert "a TokenReview" in ran.errors

    def test_a_service_accounts_token_names_its_user(
        self, fairlead: Commands, tmp_path: Path
    ) -> None:
        fairlead.space.ready_for_pods()
        token = fairlead("token", "create", "default").strip()
        ran = with_token(fairlead, token, tmp_path).run("auth", "whoami")
        space = fairlead.space.name
        assert f"Username    system:serviceaccount:{space}:default\n" in ran.out
        assert f"[system:serviceaccounts system:serviceaccounts:{space} system:auth" in ran.out
        assert "the claims of the token" in ran.errors

    def test_it_does_not_guess(self, fairlead: Commands, tmp_path: Path) -> None:
        ran = with_token(fairlead, "alice-token", tmp_path).run("auth", "whoami")
        assert (ran.code, ran.out) == (1, "")
        assert "cannot determine the user" in ran.errors

    def test_a_refused_token_is_nobody(self, fairlead: Commands, tmp_path: Path) -> None:
        ran = with_token(fairlead, "no-such-token", tmp_path).run("auth", "whoami")
        assert ran.code == 1
        assert (
            ran.errors == "error: the server does not accept your credentials (Unauthorized): see"
            " `fairlead config view`\n"
        )

    def test_one_who_acts_as_another_is_that_one(self, fairlead: Commands) -> None:
        out = fairlead("auth", "whoami", "--as=bob", "--as-group=dev", "-o=yaml")
        assert "username: bob" in out
        assert "- dev\n    - system:authenticated" in out


class TestWhy:
    def test_the_rules_that_allow_it_are_named_the_narrowest_first(
        self, fairlead: Commands
    ) -> None:
        grant(fairlead, "wide", "dev", rule("*", "*"), kind="Group")
        grant(fairlead, "narrow", "bob", rule("get", "pods", "web"), rule("get", "secrets"))
        out = fairlead("auth", "why", "get", "pods", "web", "--as=bob", "--as-group=dev")
        first, _, *lines = out.splitlines()
        assert first == f"yes: bob may get pods web in namespace {fairlead.space.name}"
        assert lines[0] == "RoleBinding narrow-binding gives Role narrow to User bob"
        assert lines[1] == (
            '  rule  {apiGroups: [""], resources: [pods], resourceNames: [web], verbs: [get]}'
        )
        assert lines[3] == "RoleBinding wide-binding gives Role wide to Group dev"
        assert "secrets" not in out

    def test_what_the_server_says_agrees(self, fairlead: Commands) -> None:
        grant(fairlead, "only", "bob", rule("get", "pods"))
        out = fairlead("auth", "why", "get", "pods", "--as=bob")
        binding = f'RoleBinding "only-binding/{fairlead.space.name}" of Role "only" to User "bob"'
        assert out.endswith(f"The server says: RBAC: allowed by {binding}\n")

    @pytest.mark.both_dialects
    def test_an_aggregated_rule_is_traced_to_its_role(self, fairlead: Commands) -> None:
        user = random_word()
        group = fairlead.space.dialect.group_name("rbac.authorization.@")
        fairlead.space.collection("rolebindings", "rbac.authorization.@").create(
            "viewers",
            roleRef={"apiGroup": group, "kind": "ClusterRole", "name": "view"},
            subjects=[{"kind": "User", "name": user, "apiGroup": group}],
        )
        out = fairlead("auth", "why", "list", "pods", f"--as={user}")
        assert f"RoleBinding viewers gives ClusterRole view to User {user}\n" in out
        assert "  from  ClusterRole system:aggregate-to-view, which is aggregated into it\n" in out

    def test_masters_need_no_rule(self, fairlead: Commands) -> None:
        out = fairlead("auth", "why", "delete", "nodes")
        assert out.splitlines() == [
            "yes: admin may delete nodes",
            "",
            "Members of system:masters may do everything, without any rule.",
        ]

    def test_what_is_missing_is_named(self, fairlead: Commands) -> None:
        grant(fairlead, "reader", "bob", rule("get", "pods"))
        ran = fairlead.run("auth", "why", "delete", "pods", "--as=bob")
        space = fairlead.space.name
        assert ran.code == 1
        assert ran.out.startswith(f"no: bob may not delete pods in namespace {space}\n")
        assert "  RoleBinding reader-binding gives Role reader to User bob\n" in ran.out
        assert "    but   it does not have the verb delete\n" in ran.out
        assert "  ClusterRole edit\n" in ran.out
        assert f"create rolebinding bob-edit --clusterrole=edit --user=bob -n {space}\n" in ran.out
        assert ran.out.endswith(
            'The rule that is missing: {apiGroups: [""], resources: [pods], verbs: [delete]}\n'
            "    fairlead create role bob-delete-pods --verb=delete --resource=pods"
            f" -n {space}\n"
            "    fairlead create rolebinding bob-delete-pods --role=bob-delete-pods --user=bob"
            f" -n {space}\n"
        )

    @pytest.mark.parametrize(
        ("words", "but"),
        [
            (("get", "pods/other"), "it is for other names"),
            (("get", "pods"), "it is for single names only"),
            (("get", "pods/web", "--subresource=log"), "it does not have the subresource log"),
            (("get", "podtemplates"), ""),
        ],
    )
    def test_what_comes_near_is_shown(
        self, fairlead_kubernetes: Commands, words: tuple[str, ...], but: str
    ) -> None:
        grant(fairlead_kubernetes, "one", "bob", rule("get", "pods", "web"))
        out = fairlead_kubernetes.run("auth", "why", *words, "--as=bob").out
        assert (f"    but   {but}\n" in out) if but else ("Close" not in out)

    def test_a_rule_of_another_group_comes_near(self, fairlead_kubernetes: Commands) -> None:
        grant(fairlead_kubernetes, "one", "bob", rule("get", "deployments"))
        out = fairlead_kubernetes.run("auth", "why", "get", "deployments", "--as=bob").out
        assert '    but   it is for other groups than "apps"\n' in out
        assert "--resource=deployments.apps " in out

    def test_the_commands_it_proposes_are_for_accounts_paths_and_the_cluster_too(
        self, fairlead: Commands
    ) -> None:
        account = f"system:serviceaccount:{fairlead.space.name}:robot"
        ran = fairlead.run("auth", "why", "get", "nodes", "--as", account)
        assert ran.errors == ""
        assert ran.out.endswith(
            "    fairlead create clusterrole robot-get-nodes --verb=get --resource=nodes\n"
            "    fairlead create clusterrolebinding robot-get-nodes --clusterrole=robot-get-nodes"
            f" --serviceaccount={fairlead.space.name}:robot\n"
        )
        paths = fairlead.run("auth", "why", "get", "/metrics/x", "--as=bob").out
        assert "{nonResourceURLs: [/metrics/x], verbs: [get]}\n" in paths
        assert (
            "create clusterrole bob-get-metrics-x --verb=get --non-resource-url=/metrics/x\n"
            in paths
        )
        assert "ClusterRole cluster-admin\n" in paths

    def test_who_may_not_read_roles_hears_the_servers_reason(
        self, fairlead: Commands, tmp_path: Path
    ) -> None:
        fairlead.space.ready_for_pods()
        account = f"system:serviceaccount:{fairlead.space.name}:default"
        grant(fairlead, "reader", account, rule("get", "pods"))
        token = fairlead("token", "create", "default").strip()
        out = with_token(fairlead, token, tmp_path)("auth", "why", "get", "pods")
        assert "You may not read clusterrolebindings, clusterroles, rolebindings, roles" in out
        assert 'The server says: RBAC: allowed by RoleBinding "reader-binding/' in out

    def test_what_another_authorizer_allows_is_told_as_such(self, fairlead: Commands) -> None:
        words = (
            "auth",
            "why",
            "get",
            "nodes",
            "n",
            "--as=system:node:n",
            "--as-group=system:nodes",
        )
        assert "No rule allows it: another authorizer than RBAC does.\n" in fairlead(*words)

    def test_hostile_names_are_neither_commands_nor_escapes(self, fairlead: Commands) -> None:
        grant(fairlead, "a$(rm x)\x1b[31m", "somebody", rule("frob", "pods"))
        ran = fairlead.run("auth", "why", "frob", "pods", "--as", "b$(rm x)")
        assert "'--role=a$(rm x)^[[31m' '--user=b$(rm x)' -n" in ran.out
        assert "\x1b" not in ran.out
