"""The webhook plugins alone: audit annotations, and configurations that later rules refuse."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable
from typing import Any

import pytest
from support.admission import NAMESPACE, USER, World, refused, run_step

from fairlead.admission.chain import Chain
from fairlead.admission.plugin import UPDATE, Attributes
from fairlead.admission.webhooks.configurations import Configurations
from fairlead.admission.webhooks.documents import Patch
from fairlead.admission.webhooks.plugins import (
    Dependencies,
    MutatingAdmissionWebhook,
    ValidatingAdmissionWebhook,
)
from fairlead.admission.webhooks.reviews import Reviews
from fairlead.base.dialect import CLUSTER, KUBERNETES, Dialect
from fairlead.resources.registry import Resource
from fairlead.storage.version import Change, Version, body_of, encode
from fairlead.wire.outgoing.response import CallError

Object = dict[str, Any]
CONFIG_MAPS = "core/v1/configmaps"
Answering = Callable[[Object], Object]


def _allow(request: Object) -> Object:
    return {"allowed": True}


def _setting(value: str) -> Answering:
    operations = [{"op": "add", "path": "/data", "value": {"k": value}}]
    patch = b64encode(json.dumps(operations).encode()).decode()
    return lambda request: {"allowed": True, "patchType": "JSONPatch", "patch": patch}


def _failing(request: Object) -> Object:
    raise CallError("it is asleep")


class _Webhook:
    """Answers without a connection."""

    def __init__(self, answer: Answering) -> None:
        self._answer = answer
        self.calls = 0

    async def post(self, body: bytes, timeout: float, deadline: float) -> bytes:
        self.calls += 1
        review = json.loads(body)
        response = {"uid": review["request"]["uid"], **self._answer(review["request"])}
        head = {name: review[name] for name in ("kind", "apiVersion")}
        return json.dumps({**head, "response": response}).encode()


class _Converter:
    """One version, nothing to fill in."""

    async def shown(self, attributes: Attributes, value: Object, resource: Resource) -> Object:
        return {"kind": resource.kind, "apiVersion": resource.api_version, **value}

    async def patch(
        self, attributes: Attributes, patch: Patch, resource: Resource, size: int
    ) -> None:
        assert attributes.value is not None
        document = patch(await self.shown(attributes, attributes.value, resource))
        attributes.value.clear()
        attributes.value.update(
            {n: document[n] for n in document if n not in ("kind", "apiVersion")}
        )


async def _always(match: Any, attributes: Attributes, documents: Any) -> bool:
    return True


class Admission:
    """A chain of the two plugins and the webhooks of one configuration each."""

    def __init__(self, dialect: Dialect = KUBERNETES) -> None:
        self.world = World(dialect)
        self._calls: list[_Webhook] = []
        chain = Chain([])
        self._configurations = {
            kind: Configurations(
                self.world.resources, self._make, lambda: chain.forget(), lambda: True
            )
            for kind in (MutatingAdmissionWebhook, ValidatingAdmissionWebhook)
        }
        reviews = Reviews(self.world.resources)
        mutating, validating = (
            Dependencies(configuration, reviews, _Converter(), self.world.namespace, _always)
            for configuration in self._configurations.values()
        )
        plugins = [
            MutatingAdmissionWebhook(dialect, mutating),
            ValidatingAdmissionWebhook(dialect, validating),
        ]
        self.chain = chain = Chain(plugins)
        self._answers: dict[str, Answering] = {}
        self.webhooks: dict[str, _Webhook] = {}

    def _make(self, client_config: Object) -> Any:
        name = client_config["url"]
        created = self.webhooks[name] = _Webhook(self._answers[name])
        return created

    def configure(self, kind: Any, *webhooks: Object) -> None:
        value = {"metadata": {"name": "c", "uid": "u"}, "webhooks": list(webhooks)}
        stored = Version("c", 1, "", body_of(encode(value), 1))
        self._configurations[kind].changed(Change("x", "c", 1, "", None, stored))

    def webhook(self, name: str, answer: Answering = _allow, **fields: Any) -> Object:
        self._answers[name] = answer
        rule = {
            "operations": ["UPDATE"],
            "apiGroups": [""],
            "apiVersions": ["v1"],
            "resources": ["configmaps"],
        }
        return {
            "name": name,
            "clientConfig": {"url": name},
            "rules": [rule],
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            **fields,
        }

    def update(self, *, dry_run: bool = False) -> Attributes:
        value: Object = {"metadata": {"name": "a", "namespace": NAMESPACE}}
        context = self.world.context(dry_run=dry_run)
        resource = self.world.resources.named(CONFIG_MAPS)
        attributes = Attributes(UPDATE, resource, NAMESPACE, "a", value, {**value}, USER, context)

        run_step(self.chain.admit, attributes)
        run_step(self.chain.validate, attributes)
        return attributes


@pytest.mark.parametrize(
    ("dialect", "domain"), [(KUBERNETES, "k8s.io"), (CLUSTER, "cluster.io")], ids=["k", "c"]
)
def test_every_question_and_every_patch_is_told(dialect: Dialect, domain: str) -> None:
    admission = Admission(dialect)
    admission.configure(
        MutatingAdmissionWebhook,
        admission.webhook("skipped.w", objectSelector={"matchLabels": {"no": "such"}}),
        admission.webhook("first.w", reinvocationPolicy="IfNeeded"),
        admission.webhook("second.w", _setting("v")),
    )
    reported = admission.update().context.annotations
    mutation, patch = f"mutation.webhook.admission.{domain}/", f"patch.webhook.admission.{domain}/"
    operations = [{"op": "add", "path": "/data", "value": {"k": "v"}}]
    assert {key: json.loads(text) for key, text in reported.items()} == {
        f"{mutation}round_0_index_1": {
            "configuration": "c",
            "webhook": "first.w",
            "mutated": False,
        },
        f"{mutation}round_0_index_2": {
            "configuration": "c",
            "webhook": "second.w",
            "mutated": True,
        },
        f"{patch}round_0_index_2": {
            "configuration": "c",
            "webhook": "second.w",
            "patch": operations,
            "patchType": "JSONPatch",
        },
        f"{mutation}round_1_index_1": {
            "configuration": "c",
            "webhook": "first.w",
            "mutated": False,
        },
    }


def test_the_chain_validates_once_where_the_second_round_changes_the_object() -> None:
    admission = Admission()
    values = iter("abcd")
    admission.configure(
        MutatingAdmissionWebhook,
        admission.webhook(
            "first.w",
            lambda request: _setting(next(values))(request),
            reinvocationPolicy="IfNeeded",
        ),
        admission.webhook("second.w", lambda request: _setting(next(values))(request)),
    )
    admission.configure(ValidatingAdmissionWebhook, admission.webhook("last.w"))
    assert admission.update().value == {
        "metadata": {"name": "a", "namespace": NAMESPACE},
        "data": {"k": "c"},
    }
    calls = {name: webhook.calls for name, webhook in admission.webhooks.items()}
    assert calls == {"first.w": 2, "second.w": 1, "last.w": 1}


def test_a_failure_that_is_ignored_is_told() -> None:
    admission = Admission()
    for kind in (MutatingAdmissionWebhook, ValidatingAdmissionWebhook):
        admission.configure(kind, admission.webhook("broken.w", _failing, failurePolicy="Ignore"))
    reported = admission.update().context.annotations
    assert reported.pop("mutation.webhook.admission.k8s.io/round_0_index_0")
    assert reported == {
        "failed-open.mutation.webhook.admission.k8s.io/round_0_index_0": "broken.w",
        "failed-open.validating.webhook.admission.k8s.io/round_0_index_0": "broken.w",
    }


def test_what_a_webhook_tells_the_audit_log_is_under_its_name() -> None:
    admission = Admission()
    notes = {"why": "because", "bad key": "x", "a/b": "y"}
    answer = {"allowed": True, "auditAnnotations": notes}
    admission.configure(
        ValidatingAdmissionWebhook, admission.webhook("telling.w", lambda request: answer)
    )
    assert admission.update().context.annotations == {"telling.w/why": "because"}


@pytest.mark.parametrize("effects", ["Some", "Unknown"])
@pytest.mark.parametrize("policy", ["Fail", "Ignore"])
def test_an_unsafe_webhook_fails_a_dry_run_unasked(effects: str, policy: str) -> None:
    admission = Admission()
    webhook = admission.webhook("unsafe.w", sideEffects=effects, failurePolicy=policy)
    admission.configure(ValidatingAdmissionWebhook, webhook)
    with refused('admission webhook "unsafe.w" does not support dry run', 400):
        admission.update(dry_run=True)
    assert admission.webhooks["unsafe.w"].calls == 0
    admission.update()
    assert admission.webhooks["unsafe.w"].calls == 1


def test_a_webhook_that_does_not_say_what_it_does_fails_a_dry_run() -> None:
    admission = Admission()
    admission.configure(MutatingAdmissionWebhook, admission.webhook("silent.w", sideEffects=None))
    why = 'failed calling webhook "silent.w": Webhook SideEffects is nil'
    with refused(f"Internal error occurred: {why}", 500):
        admission.update(dry_run=True)


def test_a_webhook_of_unknown_versions_follows_its_policy() -> None:
    admission = Admission()
    old: Any = {"admissionReviewVersions": ["v1alpha1"]}
    admission.configure(ValidatingAdmissionWebhook, admission.webhook("old.w", **old))
    why = (
        "could not create admission objects: webhook does not accept known AdmissionReview"
        " versions (v1, v1beta1)"
    )
    with refused(f'Internal error occurred: failed calling webhook "old.w": {why}', 500):
        admission.update()
    ignoring = admission.webhook("old.w", failurePolicy="Ignore", **old)
    admission.configure(ValidatingAdmissionWebhook, ignoring)
    admission.update()
    assert admission.webhooks["old.w"].calls == 0


def test_a_plugin_costs_nothing_where_no_rule_names_the_resource() -> None:
    admission = Admission()
    admission.configure(ValidatingAdmissionWebhook, admission.webhook("w.w"))
    concerned = [plugin.concerns for plugin in admission.chain.plugins]
    assert [CONFIG_MAPS in (item or ()) for item in concerned] == [False, True]
    assert [key in (concerned[1] or ()) for key in ("core/v1/secrets", "*", "no/v1/such")] == [
        False,
        False,
        False,
    ]


def test_a_write_that_was_settled_is_not_asked_about_again() -> None:
    admission = Admission()
    admission.configure(ValidatingAdmissionWebhook, admission.webhook("w.w"))
    attributes = admission.update()
    attributes.is_settled = True
    run_step(admission.chain.validate, attributes)
    assert admission.webhooks["w.w"].calls == 1
