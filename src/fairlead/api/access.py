"""Who sends a request, and whether they may: authentication, impersonation, authorization."""

from __future__ import annotations

from fairlead.api.chain import Handler, is_long_running, tenant_of
from fairlead.api.parameters import timeout_of
from fairlead.api.request import Request
from fairlead.auth.authentication.impersonation import Impersonation, RawHeaders, impersonate
from fairlead.auth.authorization.attributes import Attributes, Refused, refusal
from fairlead.auth.authorization.requests import attributes_of
from fairlead.base.errors import StatusError, unauthorized


async def admit(handler: Handler, request: Request) -> None:
    """Authenticate, impersonate and authorize a request; raises StatusError."""
    if request.query and not is_long_running(request.target):
        timeout_of(request)
    rule, user = None, None
    if not request.target.is_resource:
        rule = handler.own_rules.get(request.path[1:].partition("/")[0])
        if rule is not None:
            user = await rule(request)
    request.user = user or await handler.api.authentication.authenticator.authenticate(request)
    impersonation = request.impersonation
    if impersonation is not None:
        request.user = impersonation.impersonator
    if handler.auditor is not None:
        storing = handler.auditor.received(request)
        if storing is not None:
            await storing
    if impersonation is not None:
        await _act_as(handler, request, impersonation)
    elif request.impersonates:
        await _impersonate(handler, request, request.raw_headers)
    request.exchange.set_owner(tenant_of(request.impersonator or request.user))
    if rule is not None:
        return
    if handler.classify is not None:
        handler.classify(request)
    await _authorize(handler, request)


async def _act_as(handler: Handler, request: Request, impersonation: Impersonation) -> None:
    """Impersonate for a credential that was issued under impersonation. The credential holds as
    long as its creator may impersonate that user."""
    if request.impersonates:
        raise StatusError(
            403, "Forbidden", "an impersonated session cannot impersonate another user"
        )
    try:
        await _impersonate(handler, request, impersonation.headers)
    except Refused:
        raise unauthorized() from None


async def _impersonate(handler: Handler, request: Request, headers: RawHeaders) -> None:
    """Replace the user by the one in the impersonation headers, if the authorizer allows it."""
    caller = request.user

    async def check(*question: str) -> None:
        verb, group, resource, subresource, namespace, name = question
        attributes = Attributes(caller, verb, group, "", resource, subresource, namespace, name)
        decision = await handler.api.authorizer.authorize(attributes)
        if not decision.allowed:
            raise refusal(attributes, decision)

    request.user = await impersonate(handler.api.dialect, headers, caller, check)
    if request.user is not caller:
        request.impersonator = caller


async def _authorize(handler: Handler, request: Request) -> None:
    if request.target.past and handler.past is not None and handler.past.judges(request):
        return
    selector = request.parameter("fieldSelector") if request.query else ""
    attributes = attributes_of(request.user, request.target, selector)
    authorizer = handler.api.authorizer
    decision = authorizer.decide_cached(attributes)
    if decision is None:
        decision = await authorizer.authorize(attributes)
    if request.audited is not None:
        request.audited.decided(decision)
    if not decision.allowed:
        raise refusal(attributes, decision)
