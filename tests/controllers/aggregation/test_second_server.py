"""A second Fairlead behind the first, which serves a group that the first does not have."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.client import Client
from support.extension import HERE, HOST, Registered, bundle
from support.process import ServerProcess
from support.waiting import eventually

from fairlead.process.certificates.authority import ensure_pki

GROUP = "behind.example.com"
DEFINITION = {
    "metadata": {"name": f"things.{GROUP}"},
    "spec": {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {
            "plural": "things",
            "singular": "thing",
            "kind": "Thing",
            "listKind": "ThingList",
        },
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "x-{word}-preserve-unknown-fields": True,
                    }
                },
            }
        ],
    },
}


class Pair:
    """The first server and the one behind it, in one dialect."""

    def __init__(self, factory: pytest.TempPathFactory, dialect: str) -> None:
        self.front = ServerProcess(factory.mktemp("first"), dialect, HERE)
        self._pki = ensure_pki(factory.mktemp("pki"), [HOST, "127.0.0.1"])
        flags = (
            *("--tls-cert-file", str(self._pki.serving.certificate)),
            *("--tls-private-key-file", str(self._pki.serving.key)),
            *("--requestheader-client-ca-file", str(self.front.data / "pki/front-proxy-ca.crt")),
            *("--requestheader-username-headers", "X-Remote-User"),
            *("--requestheader-group-headers", "X-Remote-Group"),
            *("--requestheader-extra-headers-prefix", "X-Remote-Extra-"),
            *("--requestheader-allowed-names", "front-proxy-client"),
        )
        self.back = ServerProcess(factory.mktemp("second"), dialect, flags)

    def start(self) -> None:
        self.front.start()
        self.back.start()
        self.client = self.front.client()
        self.own = self.back.keep(Client(self.back.address, self._pki.ca.certificate))
        dialect = self.back.dialect
        definition = _filled(DEFINITION, dialect.name)
        base = f"/apis/apiextensions.{dialect.group_domain}/v1"
        answer = self.own.post(f"{base}/customresourcedefinitions", definition)
        assert answer.status == 201, answer.text
        eventually(lambda: self.own.get(f"/apis/{GROUP}/v1").status == 200, "it is served")
        authority = bundle(self._pki.ca.certificate.read_bytes())
        self.group = Registered(self.front, self.port, GROUP, caBundle=authority)

    @property
    def port(self) -> int:
        return int(self.back.address.rsplit(":", 1)[1])

    def stop(self) -> None:
        self.front.stop()
        self.back.stop()


def _filled(value: object, word: str) -> object:
    if isinstance(value, dict):
        return {key.replace("{word}", word): _filled(item, word) for key, item in value.items()}
    return [_filled(item, word) for item in value] if isinstance(value, list) else value


@pytest.fixture(scope="module", params=["kubernetes", "cluster"])
def pair(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Pair]:
    pair = Pair(tmp_path_factory, request.param)
    try:
        pair.start()
        yield pair
    finally:
        pair.stop()


THINGS = f"/apis/{GROUP}/v1/namespaces/default/things"


def thing(name: str, **spec: object) -> dict[str, object]:
    return {"apiVersion": f"{GROUP}/v1", "kind": "Thing", "metadata": {"name": name}, "spec": spec}


def test_objects_are_written_and_read_through_the_first_server(pair: Pair) -> None:
    client = pair.client
    assert client.post(THINGS, thing("a", x=1)).status == 201
    assert client.post(THINGS, thing("a")).status == 409
    assert client.get(f"{THINGS}/a").body["spec"] == {"x": 1}
    patched = client.patch(f"{THINGS}/a", {"spec": {"x": 2}})
    assert patched.body["spec"] == {"x": 2}
    assert "a" in client.get(THINGS).names
    assert "a" in client.get(f"/apis/{GROUP}/v1/things").names
    assert client.get(THINGS, limit=1).status == 200
    assert client.delete(f"{THINGS}/a").status == 200
    assert client.get(f"{THINGS}/a").status == 404
    assert client.get(f"{THINGS}/a").message == f'things.{GROUP} "a" not found'


def test_a_watch_goes_through_the_first_server(pair: Pair) -> None:
    since = pair.client.get(THINGS).version
    with pair.client.watch(THINGS, resourceVersion=since) as watch:
        pair.client.post(THINGS, thing("w"))
        assert watch.next().brief == ("ADDED", "w")
        pair.own.delete(f"{THINGS}/w")
        assert watch.next().brief == ("DELETED", "w")


def test_the_second_server_knows_who_asks(pair: Pair) -> None:
    headers = {"Impersonate-User": "bob", "Impersonate-Group": "system:masters"}
    answer = pair.client.request("POST", THINGS, thing("b"), headers=headers)
    assert answer.status == 201
    headers = {"Impersonate-User": "bob"}
    refused = pair.client.request("GET", THINGS, None, headers=headers)
    assert refused.status == 403
    assert 'User "bob" cannot list' in refused.message


def test_refusal_of_the_second_server_is_passed_on_unchanged(pair: Pair) -> None:
    """The first one lets alice pass, the second one does not."""
    name = f"r-{pair.front.dialect.name}"
    rules = [{"apiGroups": [GROUP], "resources": ["*"], "verbs": ["*"]}]
    base = f"/apis/rbac.authorization.{pair.front.dialect.group_domain}/v1"
    role = {"metadata": {"name": name}, "rules": rules}
    assert pair.client.post(f"{base}/clusterroles", role).status == 201
    binding = {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": base.split("/")[2], "kind": "ClusterRole", "name": name},
        "subjects": [{"apiGroup": base.split("/")[2], "kind": "User", "name": "alice"}],
    }
    assert pair.client.post(f"{base}/clusterrolebindings", binding).status == 201
    answer = pair.front.client("alice-token").get(THINGS)
    assert answer.status == 403
    assert f'cannot list resource "things" in API group "{GROUP}"' in answer.message


def test_second_server_is_available_again_after_its_restart(pair: Pair) -> None:
    port = pair.port
    assert pair.client.post(THINGS, thing("stays")).status == 201
    pair.back.kill()
    answer = pair.client.get(f"{THINGS}/stays")
    assert answer.status == 503
    assert pair.client.get("/api/v1/namespaces/default").status == 200
    pair.back.flags = (*pair.back.flags, "--secure-port", str(port))
    pair.back.start()

    def is_back() -> bool:
        pair.group.tell_available("True")
        return pair.client.get(f"{THINGS}/stays").status == 200

    eventually(is_back, "the second server is reached again")
    assert pair.client.delete(f"{THINGS}/stays").status == 200
