"""Client configuration files: which are read, which values take precedence, and their errors."""

from __future__ import annotations

import asyncio
import base64
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.client_configs import cluster_of, configuration, seen_as, write
from support.namespaces import Space
from support.plugin_programs import client_certificate
from support.process import ServerProcess

from fairlead.base.dialect import DIALECTS
from fairlead.client import Access, AccessError, Client
from fairlead.client.access import files as config_files
from fairlead.client.access.loader import load_access
from fairlead.client.access.model import Impersonation
from fairlead.client.errors import Unauthorized

VARIABLES = ("KUBECONFIG", "KUBERNETES_MASTER", "KUBERNETES_SERVICE_HOST", "CLUSTER_SERVICE_HOST")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of the test's own, and an environment that names no server."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def loaded(path: Path, value: dict[str, Any], **choices: Any) -> Access:
    return load_access(write(path, value), **choices)


def authorization(access: Access) -> str:
    return asyncio.run(access.credentials.proof()).authorization


def refusal(path: Path, value: dict[str, Any], **choices: Any) -> str:
    with pytest.raises(AccessError) as raised:
        loaded(path, value, **choices)
    return str(raised.value)


# Which files are read.


def test_the_usual_file_is_in_the_home(home: Path) -> None:
    write(home / ".kube" / "config", configuration({"server": "https://usual"}))
    assert load_access().place.server == "https://usual"


def test_the_first_file_of_the_list_that_has_an_entry_wins(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = configuration({"server": "https://first"})
    first["users"] = first["contexts"] = []
    first["current-context"] = ""
    second = configuration({"server": "https://second", "tls-server-name": "x"}, {"token": "t"})
    files = (home / "gone", write(home / "1", first), write(home / "2", second))
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join(map(str, files)))
    access = load_access()
    assert (access.place.server, access.place.server_name) == ("https://first", "")
    assert authorization(access) == "Bearer t"


def test_the_first_current_context_wins(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = {"current-context": "there"}
    second = configuration()
    second["contexts"].append(
        {"name": "there", "context": {"cluster": "place", "namespace": "far"}}
    )
    files = (write(home / "1", first), write(home / "2", second))
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join(map(str, files)))
    assert load_access().namespace == "far"


def test_a_list_without_files_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", os.pathsep)
    with pytest.raises(AccessError, match="KUBECONFIG is ':', which does not name a file"):
        load_access()


def test_a_named_file_must_be_there(home: Path) -> None:
    with pytest.raises(AccessError, match=f"stat {home}/none: no such file or directory"):
        load_access(home / "none")


def test_without_any_file_it_is_said_where_one_was_looked_for(home: Path) -> None:
    with pytest.raises(AccessError, match="there is no file") as raised:
        load_access()
    assert f"{home}/.kube/config" in str(raised.value)


def test_a_file_without_a_server_is_said_to_name_none(home: Path) -> None:
    (home / "empty").write_text("")
    with pytest.raises(AccessError, match=f"no server is named in {home}/empty: name a file"):
        load_access(home / "empty")


def test_each_file_that_cannot_be_read_is_named(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "1").write_text("a: [\n")
    (home / "2").write_text("clusters: 7\n")
    (home / "3").write_text("text\n")
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join(f"{home}/{number}" for number in (1, 2, 3)))
    with pytest.raises(AccessError) as raised:
        load_access()
    assert str(raised.value).splitlines() == [
        f"{home}/1 is not a client configuration: yaml: line 1: did not find expected node content",
        f"{home}/2 is not a client configuration: clusters is not a list",
        f"{home}/3 is not a client configuration: it is no object",
    ]


@pytest.mark.parametrize("opening", ["{a: ", "[", "- "])
def test_a_file_that_is_too_deep_ends_nothing(
    home: Path, monkeypatch: pytest.MonkeyPatch, opening: str
) -> None:
    (home / "deep").write_text(opening * 100_000)
    monkeypatch.setenv("KUBECONFIG", f"{home}/deep")
    with pytest.raises(AccessError, match="yaml: exceeded max depth of 200"):
        load_access()


def test_a_json_file_is_read_without_what_reads_yaml(home: Path) -> None:
    path = write(home / "config", configuration({"server": "http://place"}))
    program = (
        "import sys; from fairlead.client.access.loader import load_access;"
        f" load_access({str(path)!r}); sys.exit('yaml' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_times_in_yaml_stay_texts(home: Path) -> None:
    path = home / "config"
    path.write_text("clusters: [{name: c, cluster: {server: 'https://c'}}]\n"
                    "users: [{name: 2020-01-01, user: {token: 2021-01-01T00:00:00Z}}]\n"
                    "contexts: [{name: x, context: {cluster: c, user: 2020-01-01}}]\n"
                    "current-context: x\n")  # fmt: skip
    assert authorization(load_access(path)) == "Bearer 2021-01-01T00:00:00Z"


# What is chosen.


def test_a_context_cluster_and_user_can_be_chosen(home: Path) -> None:
    value = configuration(namespace="n1")
    value["clusters"].append({"name": "other", "cluster": {"server": "https://other"}})
    value["users"].append({"name": "her", "user": {"token": "hers"}})
    value["contexts"].append({"name": "there", "context": {"cluster": "other", "namespace": "n2"}})
    assert loaded(home / "c", value).namespace == "n1"
    there = loaded(home / "c", value, context="there")
    assert (there.place.server, there.namespace) == ("https://other", "n2")
    mixed = loaded(home / "c", value, cluster="other", user="her", namespace="n3")
    assert (mixed.place.server, mixed.namespace) == ("https://other", "n3")
    assert authorization(mixed) == "Bearer hers"


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"context": "x"}, 'context "x" does not exist'),
        ({"cluster": "x"}, 'cluster "x" does not exist'),
        ({"user": "x"}, 'auth info "x" does not exist'),
    ],
)
def test_what_is_chosen_must_be_there(home: Path, choices: dict[str, str], message: str) -> None:
    assert refusal(home / "c", configuration(), **choices) == message


def test_what_the_files_name_must_be_there(home: Path) -> None:
    value = configuration()
    value["current-context"] = "x"
    message = 'invalid configuration: there is no context "x"'
    assert refusal(home / "c", value) == message
    value = configuration()
    value["users"] = []
    message = 'invalid configuration: the context "here" names the user "me", which is not there'
    assert refusal(home / "c", value) == message


def test_contexts_without_a_current_one_are_pointed_to(home: Path) -> None:
    value = configuration()
    del value["current-context"]
    assert "current-context is not set" in refusal(home / "c", value)


def test_fields_of_the_caller_take_the_place_of_the_files_ones(home: Path) -> None:
    value = configuration(
        {"server": "https://a", "tls-server-name": "n", "certificate-authority": "ca"},
        {"tokenFile": "old"},
    )
    (home / "ca").write_text("CA")
    access = loaded(
        home / "c",
        value,
        cluster_fields={"server": "https://b", "insecure-skip-tls-verify": True},
        user_fields={"token": "new"},
    )
    place = access.place
    assert (place.server, place.server_name, place.insecure, place.ca) == (
        "https://b", "", True, b""
    )  # fmt: skip
    assert authorization(access) == "Bearer new"


def test_a_token_of_the_caller_is_used_instead_of_a_plugin(home: Path) -> None:
    plugin = {"command": "/none", "apiVersion": "client.authentication.k8s.io/v1beta1"}
    access = loaded(home / "c", configuration(user={"exec": plugin}), user_fields={"token": "t"})
    assert authorization(access) == "Bearer t"


def test_paths_of_the_caller_start_where_it_is(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "work").mkdir()
    (home / "work" / "ca").write_text("mine")
    monkeypatch.chdir(home / "work")
    access = loaded(home / "c", configuration(), cluster_fields={"certificate-authority": "ca"})
    assert access.place.ca == b"mine"


# What entries say.


def test_relative_paths_start_at_the_file_that_the_entry_is_from(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("a", "b"):
        (home / folder / "pki").mkdir(parents=True)
        (home / folder / "pki" / "ca").write_text(f"CA of {folder}")
        (home / folder / "token").write_text(f"{folder}\n")
    first = configuration({"server": "https://a", "certificate-authority": "pki/ca"})
    first["users"] = []
    second = configuration(user={"tokenFile": "token"})
    files = (write(home / "a" / "config", first), write(home / "b" / "config", second))
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join(map(str, files)))
    access = load_access()
    assert access.place.ca == b"CA of a"
    assert authorization(access) == "Bearer b"


def test_inline_data_wins_over_a_file(home: Path) -> None:
    data = base64.b64encode(b"inline").decode()
    cluster = {
        "server": "https://a", "certificate-authority": "gone", "certificate-authority-data": data
    }  # fmt: skip
    assert loaded(home / "c", configuration(cluster)).place.ca == b"inline"


def test_a_token_file_is_read_again(home: Path) -> None:
    (home / "token").write_text("one\n")
    access = loaded(home / "c", configuration(user={"tokenFile": "token"}))
    assert authorization(access) == "Bearer one"
    (home / "token").write_text("two")
    assert authorization(access) == "Bearer two"


def test_the_entries_of_a_cluster_and_a_user_are_used_whole(home: Path) -> None:
    access = loaded(
        home / "c",
        configuration(
            {"server": "https://a", "proxy-url": "http://p:1", "tls-server-name": "n",
             "insecure-skip-tls-verify": True, "disable-compression": True},
            {"username": "u", "password": "p", "as": "other", "as-uid": "7", "as-groups": ["g"],
             "as-user-extra": {"k": ["v"]}},
        ),
    )  # fmt: skip
    place = access.place
    assert (place.proxy, place.server_name, place.insecure) == ("http://p:1", "n", True)
    assert not access.compression
    assert authorization(access) == "Basic " + base64.b64encode(b"u:p").decode()
    assert access.impersonation == Impersonation("other", ("g",), "7", {"k": ("v",)})


def test_the_proxy_of_the_environment_is_for_clusters_without_one(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://web:3128")
    assert loaded(home / "c", configuration()).place.proxy == "http://web:3128"
    monkeypatch.setenv("NO_PROXY", "place")
    assert loaded(home / "c", configuration()).place.proxy == ""


@pytest.mark.parametrize(
    ("cluster", "url"),
    [
        ({"server": "host:8080"}, "http://host:8080"),
        ({"server": "host:6443", "insecure-skip-tls-verify": True}, "https://host:6443"),
    ],
)
def test_a_server_without_a_scheme_gets_one(home: Path, cluster: Any, url: str) -> None:
    assert loaded(home / "c", configuration(cluster)).place.server == url


@pytest.mark.parametrize(
    ("cluster", "user", "message"),
    [
        ({"server": ""}, {}, 'the cluster "place" has no server'),
        ({"server": "https://x:99999"}, {}, "the server is neither a URL nor HOST:PORT"),
        ({"server": "https://x y"}, {}, "the server is neither a URL nor HOST:PORT"),
        ({"server": "ftp://x"}, {}, "is not an http or https URL"),
        ({"server": 7}, {}, 'server of the cluster "place" must be text'),
        ({"server": "https://x", "proxy-url": "gopher://y"}, {}, 'the proxy-url "gopher://y"'),
        ({"server": "https://x", "insecure-skip-tls-verify": True,
          "certificate-authority-data": "eA=="}, {}, "skip-tls-verify exclude each other"),
        ({"server": "https://x", "certificate-authority-data": "%"}, {}, "is not base64"),
        ({"server": "https://x", "certificate-authority": "no"}, {}, "unable to read cert"),
        (None, {"client-certificate-data": "eA=="}, "has a client certificate without its key"),
        (None, {"token": "a", "username": "b"}, "several ways to sign in: token, basicAuth;"),
        (None, {"as-groups": ["g"]}, "of a user that is not named"),
        (None, {"as": "a\r\nX: y"}, "is not a line of text"),
        (None, {"as": "a", "as-groups": [7]}, "is not a line of text"),
        (None, {"as": "a", "as-groups": 7}, "is malformed"),
        (None, {"exec": 7}, 'exec of the user "me" is not an object'),
        (None, {"exec": {"args": 7}}, "args must be a list of texts"),
        (None, {"exec": {"env": [7]}}, "env must be a list of names and values"),
        (None, {"exec": {"command": "x", "apiVersion": "a/v1", "interactiveMode": "Never"}},
         'exec plugin: invalid apiVersion "a/v1"'),
        (None, {"exec": {"command": "x", "apiVersion": "client.authentication.k8s.io/v1"}},
         "interactiveMode is missing in the credential plugin (exec) of me"),
        (None, {"exec": {"command": "x", "apiVersion": "client.authentication.cluster.io/v1",
                         "interactiveMode": "No"}}, 'invalid interactiveMode for me: "No"'),
        (None, {"exec": {}}, "command is missing in the credential plugin (exec) of me"),
        (None, {"auth-provider": 7}, 'auth-provider of the user "me" is not an object'),
        (None, {"auth-provider": {"name": "oidc", "config": {"a": 7}}}, "config must hold texts"),
        (None, {"auth-provider": {"name": "gcp"}}, 'the auth provider "gcp" is unknown'),
        (None, {"auth-provider": {"name": "oidc"}}, "Must provide idp-issuer-url"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_told(home: Path, cluster: Any, user: Any, message: str) -> None:
    assert message in refusal(home / "c", configuration(cluster, user))


def test_all_that_is_wrong_is_told_at_once(home: Path) -> None:
    value = configuration({"server": "https://x", "certificate-authority": "/no"}, {"exec": {}})
    value["users"][0]["user"] = {"token": "a", "password": "b", "client-key": "/k", "as-uid": "7"}
    error = refusal(home / "c", value)
    assert "me has several ways to sign in" in error
    assert "of a user that is not named" in error
    assert (
        "unable to read certificate-authority /no for place due to open /no: no such file" in error
    )


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"kind": "Pod"}, 'it is "Pod" of "v1", not Config of v1'),
        ({"apiVersion": "v2"}, 'it is "Config" of "v2", not Config of v1'),
        ({"users": [7]}, "users has an entry that is not a name and a user"),
        ({"users": [{"name": "a"}, {"name": "a"}]}, 'duplicate name "a" in users'),
        ({"current-context": 7}, "current-context must be text"),
    ],
)
def test_a_file_of_another_form_is_refused(home: Path, value: Any, message: str) -> None:
    assert refusal(home / "c", value) == f"{home}/c is not a client configuration: {message}"


def test_a_token_that_no_header_can_hold_is_refused(home: Path) -> None:
    access = loaded(home / "c", configuration(user={"token": "a\r\nX: y"}))
    with pytest.raises(AccessError, match="characters that a header must not have"):
        authorization(access)


def test_without_files_the_environment_may_name_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBERNETES_MASTER", "http://localhost:8080")
    access = load_access(user_fields={"token": "t"})
    assert access.place.server == "http://localhost:8080"
    assert authorization(access) == "Bearer t"


# In a pod.


@pytest.mark.parametrize("dialect", DIALECTS)
def test_in_a_pod_the_files_of_its_service_account_are_used(
    home: Path, monkeypatch: pytest.MonkeyPatch, dialect: str
) -> None:
    folder = home / DIALECTS[dialect].label("@/serviceaccount")
    folder.mkdir(parents=True)
    for name, text in (("token", "one\n"), ("ca.crt", "CA"), ("namespace", "inside\n")):
        (folder / name).write_text(text)
    monkeypatch.setattr(config_files, "ROOT", home)
    monkeypatch.setenv(f"{dialect.upper()}_SERVICE_HOST", "fd00::1")
    monkeypatch.setenv(f"{dialect.upper()}_SERVICE_PORT", "443")
    access = load_access()
    assert (access.place.server, access.place.ca) == ("https://[fd00::1]:443", b"CA")
    assert access.namespace == "inside"
    (folder / "token").write_text("two")
    assert authorization(access) == "Bearer two"
    assert authorization(load_access(user_fields={"token": "own"})) == "Bearer own"
    (home / "other").write_text("other CA")
    trusting = load_access(cluster_fields={"certificate-authority": str(home / "other")})
    assert trusting.place.ca == b"other CA"
    # A configuration file comes first.
    write(home / ".kube" / "config", configuration())
    assert load_access().place.server == "https://place"


# Against a server.


def test_a_token_file_that_is_renewed_changes_who_we_are(space: Space, home: Path) -> None:
    server: ServerProcess = space.server
    access = loaded(home / "c", configuration(cluster_of(server), {"tokenFile": "token"}))
    (home / "token").write_text("alice-token")
    assert seen_as(access) == "alice"
    (home / "token").write_text("none")
    with pytest.raises(Unauthorized):
        asyncio.run(_raw(access))


async def _raw(access: Access) -> bytes:
    async with Client(access) as client:
        return await client.raw("GET", "/api")


def test_a_certificate_file_that_is_renewed_changes_who_we_are(space: Space, home: Path) -> None:
    old, new = (client_certificate(space.server, name) for name in ("dora", "emil"))
    (home / "crt").write_text(old["clientCertificateData"])
    (home / "key").write_text(old["clientKeyData"])
    user = {"client-certificate": "crt", "client-key": "key"}
    access = loaded(home / "c", configuration(cluster_of(space.server), user))
    assert seen_as(access) == "dora"
    (home / "crt").write_text(new["clientCertificateData"])
    assert seen_as(access) == "dora"  # the key is still the old one
    (home / "key").write_text(new["clientKeyData"])
    assert seen_as(access) == "emil"


def test_the_entry_of_a_user_says_whom_to_act_as(space: Space, home: Path) -> None:
    admin = {"tokenFile": "token", "as": "carol", "as-groups": ["dev"]}
    (home / "token").write_text("admin-token")
    access = loaded(home / "c", configuration(cluster_of(space.server), admin))
    assert seen_as(access) == "carol"
