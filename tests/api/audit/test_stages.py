"""Audit: the stages of a request."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from support.audited import Audited, config_maps, create, stages
from support.waiting import eventually

BOTH = ["RequestReceived", "ResponseComplete"]


def test_a_watch_is_told_when_it_starts_and_when_it_ends(audited: Audited) -> None:
    with audited.client.watch(config_maps("plain"), timeoutSeconds=60) as watch:
        audit_id = watch.headers["Audit-Id"]
        create(audited.client, "plain", "watched")
        watch.until("watched")
        assert stages(audited.of_id(audit_id)) == ["RequestReceived", "ResponseStarted"]
    last = audited.wait_for(audit_id, "ResponseComplete")
    assert last["verb"] == "watch"
    assert last["responseStatus"] == {"metadata": {}, "code": 200}
    assert stages(audited.of_id(audit_id)) == ["RequestReceived", "ResponseStarted", BOTH[1]]


def test_a_refused_watch_is_told_at_all_stages(audited: Audited) -> None:
    alice = audited.server.client("alice-token")
    answer = alice.get(config_maps("plain"), watch="true")
    assert stages(audited.of(answer)) == ["RequestReceived", "ResponseStarted", BOTH[1]]
    assert audited.last(answer)["responseStatus"]["code"] == 403


def test_who_cannot_be_authenticated_has_no_name(audited: Audited) -> None:
    answer = audited.server.client("wrong-token").get(config_maps("plain"))
    assert answer.status == 401
    assert stages(audited.of(answer)) == ["ResponseStarted", "ResponseComplete"]
    last = audited.last(answer)
    assert last["user"] == {}
    assert last["responseStatus"]["code"] == 401
    assert last["responseStatus"]["message"] == "Authentication failed, attempted: bearer"


def test_a_request_without_sense_is_told_before_its_user_is_known(audited: Audited) -> None:
    answer = audited.client.get(config_maps("plain"), timeout="soon")
    assert answer.status == 400
    assert stages(audited.of(answer)) == ["ResponseStarted", "ResponseComplete"]
    assert "timeout" in audited.last(answer)["responseStatus"]["message"]


def test_nothing_is_told_at_level_none(audited: Audited) -> None:
    assert audited.of(create(audited.client, "quiet", "a")) == []
    assert audited.of(audited.client.get("/livez/ping")) == []
    assert stages(audited.of(audited.client.get("/readyz"))) == BOTH


def test_an_omitted_stage_is_not_told(audited: Audited) -> None:
    assert stages(audited.of(create(audited.client, "late", "a"))) == ["ResponseComplete"]


def test_a_page_that_is_not_there_is_told(audited: Audited) -> None:
    answer = audited.client.get("/nowhere")
    assert audited.last(answer)["responseStatus"] == {"metadata": {}, "code": 404}


def test_that_a_read_came_is_told_while_it_waits(audited: Audited) -> None:
    path = config_maps("plain") + "?resourceVersion=4000000000"

    def told() -> list[str]:
        return stages([event for event in audited.events() if event["requestURI"] == path])

    with ThreadPoolExecutor() as pool:
        answer = pool.submit(audited.server.client().get, path)
        eventually(lambda: told() == BOTH[:1], "it is told")
    assert answer.result().status == 504
    assert told() == BOTH
