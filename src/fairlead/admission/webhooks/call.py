"""Calling one webhook, and handling its denial or failure."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from time import perf_counter

from fairlead.admission.metrics import (
    WEBHOOK_FAIL_OPEN,
    WEBHOOK_REJECTIONS,
    WEBHOOK_REQUESTS,
    WEBHOOKS,
)
from fairlead.admission.plugin import Attributes
from fairlead.admission.webhooks.documents import Documents
from fairlead.admission.webhooks.hooks import Hook
from fairlead.admission.webhooks.match import Match
from fairlead.admission.webhooks.reviews import Answer, InvalidAnswer, Reviews, UnreadableAnswer
from fairlead.base import budget
from fairlead.base.errors import StatusError, bad_request, internal
from fairlead.base.logs import Logger, Tally
from fairlead.base.tracing import Value, step
from fairlead.codec.types.model import Object
from fairlead.codec.types.names import qualified_name
from fairlead.codec.types.times import new_uid
from fairlead.resources.context import Context
from fairlead.wire.outgoing.response import CallError
from fairlead.wire.outgoing.webhooks import UnusableBundle

logger = Logger("fairlead")

MUTATING, VALIDATING = "admit", "validating"  # type label in metrics
_SPANS = {MUTATING: "Call mutating webhook", VALIDATING: "Call validating webhook"}
_MAX_COUNTED_CODE = 600
_MAX_CODE = 999  # HTTP status codes have three digits
_MAX_WARNING_LENGTH = 4096  # characters; longer warnings are cut
# The error_type label of a rejection in metrics.
_CALL, _SERVER, _DENIAL = "calling_webhook_error", "apiserver_internal_error", "no_error"

# Processes a response; returns whether it changed the object.
Use = Callable[[Answer], Awaitable[bool]]


class CallFailed(Exception):
    """The call failed or the response is unusable. `code` is for metrics."""

    def __init__(self, reason: str, code: int = 400) -> None:
        super().__init__(reason)
        self.code = code


class _Denied(Exception):
    """The webhook denied the write; `error` goes to the client, `code` is the webhook's status
    code."""

    def __init__(self, error: StatusError, code: int) -> None:
        super().__init__(str(error))
        self.error = error
        self.code = code


class WebhookCaller:
    """Calls the webhooks of one type and records metrics."""

    def __init__(self, kind: str, reviews: Reviews) -> None:
        self._kind = kind
        self._reviews = reviews
        self._failures = Tally(logger, logging.WARNING, f"calls to {kind} webhooks fail")

    async def call(
        self, match: Match, attributes: Attributes, documents: Documents, use: Use, note: str
    ) -> bool:
        """Call a webhook. Returns whether the response changed the object; raises StatusError if
        the write is rejected. `note` is the audit annotation for a failure that is ignored."""
        hook, begun = match.hook, perf_counter()
        try:
            with step(_SPANS[self._kind]) as span:
                if span is not None:
                    span.note(_span_attributes(match, attributes))
                answer = await self._answer(match, attributes, documents)
            changed = await use(answer)
        except CallFailed as error:
            rejected = not hook.ignores_failure
            self._count(match, attributes, begun, error.code, _CALL if rejected else "")
            self._fail(hook, error, attributes.context, note)
            return False
        except _Denied as error:
            self._count(match, attributes, begun, error.code, _DENIAL)
            raise error.error from None
        except StatusError:
            self._count(match, attributes, begun, 0, _SERVER)
            raise
        self._count(match, attributes, begun, 200, "")
        return changed

    async def _answer(self, match: Match, attributes: Attributes, documents: Documents) -> Answer:
        hook, uid = match.hook, new_uid()
        if attributes.context.dry_run and not hook.is_safe:
            if hook.effects is None:
                raise CallFailed("Webhook SideEffects is nil")
            raise bad_request(f'admission webhook "{hook.name}" does not support dry run')
        if not hook.version:
            raise CallFailed(
                "could not create admission objects: webhook does not accept known AdmissionReview"
                " versions (v1, v1beta1)"
            )
        question = await self._reviews.question(match, attributes, documents, uid)
        may_patch = self._kind == MUTATING
        try:
            deadline = attributes.context.deadline
            content = await hook.webhook.post(question, hook.timeout, deadline)
            answer = await budget.run(
                len(content), self._reviews.answer, content, hook.version, uid, may_patch=may_patch
            )
        except UnusableBundle as error:
            raise CallFailed(f"could not get REST client: {error}") from None
        except CallError as error:
            raise CallFailed(f"failed to call webhook: {error}", error.code or 400) from None
        except UnreadableAnswer as error:
            raise CallFailed(f"failed to call webhook: {error}") from None
        except InvalidAnswer as error:
            raise CallFailed(f"received invalid webhook response: {error}", 503) from None
        if answer.annotations:
            audit_annotations = await budget.run(
                len(content), _annotations, hook.name, answer.annotations
            )
            for key, text in audit_annotations.items():
                attributes.context.annotations.setdefault(key, text)
        for text in answer.warnings:
            attributes.context.warn(text[:_MAX_WARNING_LENGTH])
        if not answer.allowed:
            raise _denied(hook.name, answer.status or {})
        return answer

    def _fail(self, hook: Hook, error: CallFailed, context: Context, note: str) -> None:
        reason = f'failed calling webhook "{hook.name}": {error}'
        if not hook.ignores_failure:
            self._failures.add("the write is refused", reason)
            raise internal(reason)
        self._failures.add("the write goes on", reason)
        WEBHOOK_FAIL_OPEN.add(of=(hook.name, self._kind))
        annotate(context, note, hook.name)

    def _count(
        self, match: Match, attributes: Attributes, begun: float, code: int, error_type: str
    ) -> None:
        """`error_type` is the reason for a rejection, empty if the write continues."""
        name, operation = match.hook.name, attributes.operation
        rejected = "true" if error_type else "false"
        WEBHOOKS.observe(perf_counter() - begun, (name, self._kind, operation, rejected))
        counted = str(min(code, _MAX_COUNTED_CODE))
        WEBHOOK_REQUESTS.add(of=(name, self._kind, operation, counted, rejected))
        if error_type:
            WEBHOOK_REJECTIONS.add(of=(name, self._kind, operation, error_type, counted))


def annotate(context: Context, key: str, text: str) -> None:
    """Add an audit annotation; an existing value is kept."""
    if "/" in key and not qualified_name(key):
        context.annotations.setdefault(key, text)


def _span_attributes(match: Match, attributes: Attributes) -> dict[str, Value]:
    return {
        "configuration": match.hook.configuration,
        "webhook": match.hook.name,
        "resource": attributes.resource.key,
        "operation": attributes.operation,
    }


def _annotations(hook_name: str, annotations: Mapping[str, str]) -> dict[str, str]:
    """The audit annotations of a webhook that have well-formed keys."""
    named = ((f"{hook_name}/{key}", text) for key, text in annotations.items())
    return {key: text for key, text in named if not qualified_name(key)}


def _denied(name: str, status: Object) -> _Denied:
    """Convert the status in a webhook's denial to the client's error."""
    message = f'admission webhook "{name}" denied the request'
    reason: str = status.get("reason", "")
    explanation = status.get("message") or reason
    code: int = max(status.get("code", 0), 400)
    details: Object | None = status.get("details")
    error = StatusError(
        code if code <= _MAX_CODE else 500,
        reason,
        f"{message}: {explanation}" if explanation else f"{message} without explanation",
        details=details,
        retry_after=(details or {}).get("retryAfterSeconds") or None,
    )
    return _Denied(error, code)
