"""ImagePolicyWebhook."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.admission import NAMESPACE, PODS, World, both_dialects, pod, refused
from support.answering import Answering

from fairlead.admission.configuration import FLAG
from fairlead.admission.plugins import image_policy
from fairlead.admission.plugins.image_policy import ImagePolicyWebhook, Settings
from fairlead.base.dialect import CLUSTER, KUBERNETES, Dialect
from fairlead.codec.configuration_files import ConfigurationError, Section
from fairlead.wire.outgoing.client_config import ClientConfig
from fairlead.wire.outgoing.json_calls import JsonPoster

Object = dict[str, Any]


@pytest.fixture
def webhook() -> Iterator[Answering]:
    running = Answering()
    yield running
    running.close()


class _OneLoop(JsonPoster):
    """World runs each write on a new event loop, and connections belong to a loop: use one loop."""

    async def post_with_retries(self, *arguments: Any) -> Object:
        try:
            return await super().post_with_retries(*arguments)
        finally:
            await self.close()


def _plugin(
    webhook: Answering, dialect: Dialect = KUBERNETES, **settings: Any
) -> ImagePolicyWebhook:
    poster = _OneLoop(ClientConfig(f"http://127.0.0.1:{webhook.port}/review"))
    return ImagePolicyWebhook(dialect, poster, Settings(**{"retry_pause": 0.0, **settings}))


def _says(webhook: Answering, dialect: Dialect = KUBERNETES, **status: Any) -> None:
    review = {
        "apiVersion": f"imagepolicy.{dialect.group_domain}/v1alpha1",
        "kind": "ImageReview",
        "status": status,
    }
    webhook.answers.append((200, json.dumps(review).encode()))


@both_dialects
def test_the_webhook_sees_images_and_matching_annotations(
    webhook: Answering, dialect: Dialect
) -> None:
    group = dialect.group_domain
    _says(webhook, dialect, allowed=True)
    matching = {f"x.image-policy.{group}/ticket": "1"}
    stored = pod(initContainers=[{"name": "i", "image": "first"}])
    stored["metadata"] = {"annotations": {"other": "2", **matching}}
    World(dialect).create(_plugin(webhook, dialect), PODS, stored)
    [(_, review)] = webhook.seen
    assert (review["apiVersion"], review["kind"]) == (
        f"imagepolicy.{group}/v1alpha1",
        "ImageReview",
    )
    assert review["spec"] == {
        "containers": [{"image": "i"}, {"image": "first"}],
        "annotations": matching,
        "namespace": NAMESPACE,
    }


@both_dialects
@pytest.mark.parametrize(
    ("status", "why"),
    [
        (
            {"allowed": False, "reason": "not signed"},
            "image policy webhook backend denied one or more images: not signed",
        ),
        ({"allowed": False}, "one or more images rejected by webhook backend"),
        ({"allowed": "yes", "reason": 1}, "one or more images rejected by webhook backend"),
        ({}, "one or more images rejected by webhook backend"),
    ],
)
def test_what_is_not_allowed_is_refused(
    webhook: Answering, dialect: Dialect, status: Object, why: str
) -> None:
    _says(webhook, dialect, **status)
    with refused(f'pods "a" is forbidden: {why}'):
        World(dialect).create(_plugin(webhook, dialect), PODS, pod())


def test_ephemeral_containers_are_reviewed_and_other_parts_are_not(webhook: Answering) -> None:
    _says(webhook, allowed=False)
    world, plugin = World(), _plugin(webhook)
    debugged = pod(ephemeralContainers=[{"name": "e", "image": "debugger"}])
    world.update(plugin, f"{PODS}/status", pod(), debugged)
    with refused('pods "a" is forbidden: one or more images rejected by webhook backend'):
        world.update(plugin, f"{PODS}/ephemeralcontainers", pod(), debugged)
    assert webhook.seen[0][1]["spec"]["containers"] == [{"image": "debugger"}]


def test_answers_are_kept_for_their_time(
    webhook: Answering, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr(image_policy, "time", lambda: now)
    world, plugin = World(), _plugin(webhook, allow_ttl=60.0, deny_ttl=10.0)
    bad = pod(containers=[{"name": "c", "image": "bad"}])
    _says(webhook, allowed=True)
    _says(webhook, allowed=False, reason="bad")

    def all_asked() -> int:
        world.create(plugin, PODS, pod())
        with refused(
            'pods "a" is forbidden: image policy webhook backend denied one or more images: bad'
        ):
            world.create(plugin, PODS, bad)
        return len(webhook.seen)

    assert [all_asked(), all_asked()] == [2, 2]
    now += 11
    _says(webhook, allowed=False, reason="bad")
    assert all_asked() == 3
    now += 50
    _says(webhook, allowed=True)
    _says(webhook, allowed=False, reason="bad")
    assert all_asked() == 5


def test_nothing_is_kept_if_that_is_switched_off(webhook: Answering) -> None:
    world, plugin = World(), _plugin(webhook, allow_ttl=0.0)
    for _ in range(2):
        _says(webhook, allowed=True)
        world.create(plugin, PODS, pod())
    assert len(webhook.seen) == 2


def test_a_failure_that_may_pass_is_tried_again(webhook: Answering) -> None:
    webhook.answers += [(500, b""), (503, b""), (429, b"")]
    _says(webhook, allowed=True)
    World().create(_plugin(webhook), PODS, pod())
    assert len(webhook.seen) == 4


BROKEN = [(500, b"")] * 5, [(400, b"no")], [(200, b"{")], [(200, b"{}")], [(200, b"[]")]


@pytest.mark.parametrize("answers", BROKEN, ids=["down", "bad", "cut", "empty", "list"])
def test_without_an_answer_a_pod_is_refused(webhook: Answering, answers: list[Any]) -> None:
    webhook.answers += answers
    with pytest.raises(Exception, match='pods "a" is forbidden: '):
        World().create(_plugin(webhook), PODS, pod())
    assert not webhook.answers


@both_dialects
@pytest.mark.parametrize("answers", BROKEN, ids=["down", "bad", "cut", "empty", "list"])
def test_without_an_answer_a_pod_is_marked_if_that_is_the_default(
    webhook: Answering, answers: list[Any], dialect: Dialect
) -> None:
    webhook.answers += answers
    world = World(dialect)
    stored = pod()
    stored["metadata"] = {"labels": {"a": "b"}, "finalizers": ["x.io/y"]}
    value = world.create(_plugin(webhook, dialect, default_allow=True), PODS, stored)
    failed_open = f"alpha.image-policy.{dialect.group_domain}/failed-open"
    assert value["metadata"]["annotations"] == {failed_open: "true"}
    assert list(value["metadata"])[-2:] == ["annotations", "finalizers"]


def test_what_the_webhook_wants_audited_goes_to_the_audit_log(webhook: Answering) -> None:
    world = World()
    contexts = []
    make = world.context

    def remembered(**options: Any) -> Any:
        contexts.append(make(**options))
        return contexts[-1]

    world.context = remembered  # type: ignore[method-assign]  # to see what it returns
    plugin = _plugin(webhook, default_allow=True)
    _says(webhook, allowed=True, auditAnnotations={"seen": "yes", "odd": 1})
    world.create(plugin, PODS, pod())
    prefix = "imagepolicywebhook.image-policy.k8s.io"
    assert contexts[-1].annotations == {f"{prefix}/seen": "yes"}
    webhook.answers.append((404, b""))
    world.create(plugin, PODS, pod(containers=[{"name": "c", "image": "new"}]))
    assert contexts[-1].annotations == {f"{prefix}/failed-open": "true"}


def _client_file(directory: Path, server: str = "http://127.0.0.1:1") -> str:
    config = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c"}}],
        "clusters": [{"name": "c", "cluster": {"server": server}}],
    }
    (directory / "client").write_text(yaml.safe_dump(config))
    return "client"


def _configured(
    directory: Path, dialect: Dialect = KUBERNETES, group: bool = True, **policy: Any
) -> ImagePolicyWebhook:
    whole = {"imagePolicy": {"kubeConfigFile": _client_file(directory), **policy}}
    section = Section(whole, directory / "f", FLAG)
    return image_policy.configured(dialect, section, group_enabled=group)


def test_times_are_seconds_and_milliseconds(tmp_path: Path) -> None:
    def settings(**policy: Any) -> Settings:
        created = _configured(tmp_path, **policy)
        asyncio.run(created.close())
        return created._settings

    assert settings() == Settings(300.0, 30.0, 0.5, default_allow=False)
    assert settings(allowTTL=50, denyTTL=1800, retryBackoff=250, defaultAllow=True) == Settings(
        50.0, 1800.0, 0.25, default_allow=True
    )
    assert settings(allowTTL=-1, denyTTL=-1, retryBackoff=-1)[:3] == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ({"allowTTL": 1801}, "allowTTL: 1801 is neither -1 nor between 1 and 1800"),
        ({"denyTTL": -2}, "denyTTL: -2 is neither -1 nor between 1 and 1800"),
        ({"retryBackoff": 300_001}, "retryBackoff: 300001 is neither -1 nor between 1 and 300000"),
        ({"kubeConfigFile": "missing"}, "kubeConfigFile: cannot read .*/missing: No such file"),
        ({"kubeConfigFile": ""}, "kubeConfigFile: must name the client configuration"),
    ],
)
def test_a_policy_is_checked_at_start(tmp_path: Path, policy: Object, message: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"/f: imagePolicy\.{message}"):
        _configured(tmp_path, **policy)


def test_the_group_must_be_switched_on_in_one_dialect(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigurationError, match=r"needs --runtime-config=imagepolicy\.cluster\.io/v1alpha1=true$"
    ):
        _configured(tmp_path, CLUSTER, group=False)
    assert _configured(tmp_path, CLUSTER, group=True)
    assert _configured(tmp_path, KUBERNETES, group=False)
