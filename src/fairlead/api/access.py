"""Admission to the API where it has to wait: authentication, impersonation, authorization."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING

from fairlead.api.metrics import ACCESS
from fairlead.api.request import Request
from fairlead.auth.authentication.impersonation import Impersonation, RawHeaders, impersonate
from fairlead.auth.authentication.user import User
from fairlead.auth.authorization.attributes import Attributes, Refused, refusal
from fairlead.base.errors import StatusError, unauthorized

if TYPE_CHECKING:
    from fairlead.api.chain import Handler, PageAuthenticator


async def admit(handler: Handler, request: Request, user: User | Awaitable[User]) -> None:
    """The part of `Handler.admit` that may wait."""
    await _identify(handler, request, user)
    authorizing = handler.authorize(request)
    if authorizing is not None:
        await authorizing


async def admit_to_page(handler: Handler, request: Request, rule: PageAuthenticator) -> None:
    """Admit a request to pages with an authentication of their own, which need no
    authorization."""
    user: User | Awaitable[User] | None = await rule(request)
    if user is None:
        user = handler.api.authentication.authenticator.authenticate(request)
    await _identify(handler, request, user)
    request.charge_owner()


async def _identify(handler: Handler, request: Request, user: User | Awaitable[User]) -> None:
    """Set the user of a request, after impersonation."""
    try:
        request.user = user if isinstance(user, User) else await user
    except StatusError:
        ACCESS.not_authenticated(has_credentials=bool(request.header(b"authorization")))
        raise
    ACCESS.authenticated(request.user.name)
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


async def authorize(handler: Handler, request: Request, attributes: Attributes) -> None:
    """Authorize a request by a decision that is not cached."""
    handler.decide(request, attributes, await handler.api.authorizer.authorize(attributes))


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
    if handler.constrained is not None:
        attributes = handler.attributes(request)
        request.user, constraint = await handler.constrained.impersonate(headers, attributes)
        if request.user is not caller:
            request.impersonator = caller
        if constraint and request.audited is not None:
            request.audited.constraint = constraint
        return

    async def check(*question: str) -> None:
        verb, group, resource, subresource, namespace, name = question
        attributes = Attributes(caller, verb, group, "", resource, subresource, namespace, name)
        decision = await handler.api.authorizer.authorize(attributes)
        if not decision.allowed:
            raise refusal(attributes, decision)

    request.user = await impersonate(handler.api.dialect, headers, caller, check)
    if request.user is not caller:
        request.impersonator = caller
