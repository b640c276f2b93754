"""Reads of history are audited and pass flow control like other reads."""

from __future__ import annotations

from support.audited import Audited
from support.namespaces import Collection


def test_the_audit_log_tells_of_a_read_of_the_object(audited: Audited) -> None:
    maps = Collection(audited.client, "/api/v1/namespaces/bodies/configmaps")
    stored = maps.create("past", data={"x": "1"})
    then = stored["metadata"]["resourceVersion"]
    answer = audited.client.get(f"/history{maps.item('past')}", resourceVersion=then)
    event = audited.last(answer)
    assert event["verb"] == "get"
    assert event["requestURI"].startswith("/history/api/v1/")
    assert {"resource": "configmaps", "name": "past"}.items() <= event["objectRef"].items()
    assert event["responseObject"]["data"] == {"x": "1"}
    versions = audited.last(audited.client.get(f"/history{maps.item('past')}"))
    assert versions["objectRef"]["resource"] == "configmaps"
    assert audited.last(audited.client.get(f"/history{maps.path}"))["verb"] == "list"


def test_the_audit_log_tells_who_asked_about_everything_and_who_was_refused(
    audited: Audited,
) -> None:
    event = audited.last(audited.client.get("/history"))
    assert (event["verb"], event["requestURI"]) == ("get", "/history")
    alice = audited.server.client("alice-token")
    refused = audited.last(alice.get("/history/api/v1/namespaces/plain/secrets/a"))
    assert refused["annotations"]["authorization.k8s.io/decision"] == "forbid"
    assert refused["responseStatus"]["code"] == 403


def test_the_past_takes_its_turn_with_the_other_requests(audited: Audited) -> None:
    maps = Collection(audited.client, "/api/v1/namespaces/plain/configmaps")
    answer = maps.get("kube-root-ca.crt")
    past = audited.client.get(f"/history{maps.path}")
    for name in ("X-Kubernetes-Pf-Flowschema-Uid", "X-Kubernetes-Pf-Prioritylevel-Uid"):
        assert past.headers[name] == answer.headers[name]
