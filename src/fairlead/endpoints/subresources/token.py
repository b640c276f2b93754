"""Tokens through the API: reviewing any, and requesting those of a service account."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

from fairlead.admission.chain import CREATE, Attributes
from fairlead.authentication.chain import Rejected
from fairlead.authentication.service_accounts import ACCOUNTS, PODS, SECRETS
from fairlead.authentication.user import User
from fairlead.endpoints import writing
from fairlead.endpoints.answers import Answer
from fairlead.endpoints.api import Api, Object
from fairlead.endpoints.decoding import body_format, read_object
from fairlead.endpoints.parameters import write_options
from fairlead.endpoints.representing import object_answer
from fairlead.endpoints.request import Request
from fairlead.endpoints.tracking import set_entries, tracked
from fairlead.errors import ResourceRef, StatusError, bad_request, conflict, invalid, not_found
from fairlead.kinds.authentication.reviews import check_token_request, check_token_review
from fairlead.kinds.causes import Causes
from fairlead.schema.defaults import fill_defaults
from fairlead.schema.times import format_time


async def create_token_review(api: Api, request: Request) -> Answer:
    value, attributes = await _admitted(api, request)
    spec = value["spec"]
    check_token_review(value, Causes())
    await api.admission.validate(attributes)
    audiences = tuple(spec.get("audiences") or ())
    try:
        grant = await api.authentication.tokens.review(spec["token"], audiences)
    except Rejected as rejection:
        value["status"] = {"user": {}, "error": _joined(rejection.reasons)}
    else:
        status: Object = {"authenticated": True, "user": _user_info(grant.user)}
        if grant.audiences:
            status["audiences"] = list(grant.audiences)
        value["status"] = status
    return _answer(api, request, value)


def _joined(reasons: tuple[str, ...]) -> str:
    return reasons[0] if len(reasons) == 1 else f"[{', '.join(reasons)}]"


def _user_info(user: User) -> Object:
    found: Object = {"username": user.name}
    if user.uid:
        found["uid"] = user.uid
    if user.groups:
        found["groups"] = list(user.groups)
    if user.extra:
        found["extra"] = {key: list(values) for key, values in user.extra.items()}
    return found


async def create_token_request(api: Api, request: Request) -> Answer:
    target = request.target
    value, attributes = await _admitted(api, request)
    ref = _request_ref(api, target.name)
    metadata, spec = value["metadata"], value["spec"]
    causes = Causes()
    if metadata.get("name") not in (None, "", target.name):
        detail = "must match the service account name if specified"
        causes.invalid("metadata.name", metadata["name"], detail)
        raise invalid(ref, causes)
    account = api.lookup(ACCOUNTS, target.namespace, target.name)
    if account is None:
        raise not_found(ResourceRef("", "serviceaccounts", target.name))
    issuer = api.authentication.issuer
    spec["audiences"] = list(spec.get("audiences") or issuer.audiences)
    now = datetime.now(UTC)
    metadata |= {
        "name": target.name,
        "namespace": target.namespace,
        "creationTimestamp": format_time(now),
    }
    check_token_request(value, causes)
    if causes:
        raise invalid(_request_ref(api, ""), causes)
    await api.admission.validate(attributes)
    pod, secret = _bound_object(api, request, spec.get("boundObjectRef"))
    _limit_lifetime(request, spec, issuer.max_seconds)
    lifetime = spec["expirationSeconds"]
    token = issuer.bound(account, lifetime, spec["audiences"], pod, secret)
    end = format_time(now + timedelta(seconds=lifetime))
    value["status"] = {"token": token, "expirationTimestamp": end}
    return _answer(api, request, value)


def _request_ref(api: Api, name: str) -> ResourceRef:
    return ResourceRef(api.dialect.group_name("authentication.@"), "TokenRequest", name)


def _limit_lifetime(request: Request, spec: Object, most: int) -> None:
    wanted = spec["expirationSeconds"]
    if 0 < most < wanted:
        request.warn(f"requested expiration of {wanted} seconds shortened to {most} seconds")
        spec["expirationSeconds"] = most


def _bound_object(
    api: Api, request: Request, ref: Object | None
) -> tuple[Object | None, Object | None]:
    """The Pod or the Secret that a token shall be bound to."""
    if ref is None:
        return None, None
    target = request.target
    kind, name = ref.get("kind", ""), ref.get("name", "")
    group, _, version = ref.get("apiVersion", "").rpartition("/")
    resource = {"Pod": PODS, "Secret": SECRETS}.get(kind) if not group else None
    if resource is None:
        raise bad_request(f"cannot bind token to object of type {group}/{version}, Kind={kind}")
    value = api.lookup(resource, target.namespace, name)
    if value is None:
        raise not_found(ResourceRef("", resource.rpartition("/")[2], name))
    if kind == "Pod" and value["spec"].get("serviceAccountName", "") != target.name:
        raise _other_account(target.name)
    uid = ref.get("uid", "")
    if uid and uid != value["metadata"]["uid"]:
        raise conflict(
            ResourceRef("", kind, name),
            f"the UID in the bound object reference ({uid}) does not match the UID in record."
            " The object might have been deleted and then recreated",
        )
    return (value, None) if kind == "Pod" else (None, value)


def _other_account(name: str) -> StatusError:
    return bad_request(
        f'cannot bind token for serviceaccount "{name}" to pod running with different'
        " serviceaccount name."
    )


async def _admitted(api: Api, request: Request) -> tuple[Object, Attributes]:
    """The object of a request with its defaults, past the admission that may change it."""
    resource = request.target.resource
    assert resource is not None
    options = write_options(api.dialect, request, "CreateOptions")
    media_type = body_format(request, api.resources)
    raw = await request.body()
    value = await read_object(request, api.resources, resource, raw, media_type, options.validation)
    fill_defaults(resource.struct, value)
    writing.set_namespace(request, resource, value["metadata"])
    set_entries(value["metadata"], tracked(api, resource, None, value, options))
    context = api.context(request, options.dry_run)
    attributes = writing.attributes(api, request, CREATE, value, None, context, request.target.name)
    await api.admission.admit(attributes)
    return value, attributes


def _answer(api: Api, request: Request, value: Object) -> Answer:
    resource = request.target.resource
    assert resource is not None
    api_version = api.resources.api_version_of(resource.body_version)
    shown = {"kind": resource.kind, "apiVersion": api_version, **value}
    return object_answer(api.resources, request, resource, shown, 201)


HANDLERS: dict[tuple[str, str], Callable[[Api, Request], Awaitable[Answer]]] = {
    ("authentication/v1/tokenreviews", "create"): create_token_review,
    ("core/v1/serviceaccounts/token", "create"): create_token_request,
}
