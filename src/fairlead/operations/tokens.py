"""Token operations: TokenReview, and TokenRequest of a service account."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

from fairlead.admission.plugin import CREATE, Attributes
from fairlead.auth.authentication.chain import Rejected
from fairlead.auth.authentication.service_accounts import (
    ACCOUNTS,
    NODES,
    PODS,
    SECRETS,
    account_claims,
)
from fairlead.auth.authentication.user import User
from fairlead.base import clock
from fairlead.base.errors import ResourceRef, StatusError, bad_request, conflict, invalid
from fairlead.base.waiting import result_of
from fairlead.codec.types.defaults import fill_defaults
from fairlead.codec.types.times import format_time
from fairlead.operations import write_pipeline
from fairlead.operations.api import Api, Object
from fairlead.operations.managed_fields import set_entries, tracked_unstored
from fairlead.operations.operation import Operation
from fairlead.operations.options import WriteOptions
from fairlead.resources.authentication import check_token_request, check_token_review
from fairlead.resources.causes import absent, new_causes


async def review_token(
    api: Api, operation: Operation, value: Object, options: WriteOptions
) -> Object:
    """Authenticate the token; returns the TokenReview with its status."""
    attributes = await _admit(api, operation, value, options)
    spec = value["spec"]
    check_token_review(value, new_causes(api.gates))
    await result_of(api.admission.validate(attributes))
    audiences = tuple(spec.get("audiences") or ())
    # A status sent by the client is kept where there is no value to replace it.
    status: Object = {"user": {}, **(value.get("status") or {})}
    status.pop("authenticated", None)
    try:
        grant = await api.authentication.tokens.review(spec["token"], audiences)
    except Rejected as rejection:
        status["error"] = _reasons_text(rejection.reasons)
    else:
        status["authenticated"], status["user"] = True, user_info(grant.user)
        if grant.audiences:
            status["audiences"] = list(grant.audiences)
    value["status"] = status
    return value


def _reasons_text(reasons: tuple[str, ...]) -> str:
    return reasons[0] if len(reasons) == 1 else f"[{', '.join(reasons)}]"


def user_info(user: User) -> Object:
    """A user in the form of a review's status."""
    result: Object = {"username": user.name}
    if user.uid:
        result["uid"] = user.uid
    if user.groups:
        result["groups"] = list(user.groups)
    if user.extra:
        result["extra"] = {key: list(values) for key, values in user.extra.items()}
    return result


async def request_token(
    api: Api, operation: Operation, value: Object, options: WriteOptions
) -> Object:
    """Issue a token for a service account; returns the TokenRequest with its status."""
    attributes = await _admit(api, operation, value, options)
    ref = _request_ref(api, operation.name)
    metadata, spec = value["metadata"], value["spec"]
    causes = new_causes(api.gates)
    if metadata.get("name") not in (None, "", operation.name):
        detail = "must match the service account name if specified"
        causes.invalid("metadata.name", metadata["name"], detail)
        raise invalid(ref, causes)
    account = api.lookup(ACCOUNTS, operation.namespace, operation.name)
    if account is None:
        raise absent(ResourceRef("", "serviceaccounts", operation.name))
    _check_uid(api, operation, metadata, account)
    issuer = api.authentication.issuer
    spec["audiences"] = list(spec.get("audiences") or issuer.audiences)
    now = clock.now()
    metadata |= {
        "name": operation.name,
        "namespace": operation.namespace,
        "creationTimestamp": format_time(now),
    }
    check_token_request(value, causes)
    if causes:
        raise invalid(_request_ref(api, ""), causes)
    await result_of(api.admission.validate(attributes))
    bound = _bound_objects(api, operation, spec.get("boundObjectRef"))
    _limit_lifetime(operation, spec, issuer.max_seconds)
    lifetime = spec["expirationSeconds"]
    token_id = str(uuid4()) if api.gates["ServiceAccountTokenJTI"] else ""
    token = issuer.bound(account, lifetime, spec["audiences"], token_id=token_id, **bound)
    if token_id:
        note = account_claims(api.dialect).issued_note
        operation.annotations[note] = f"JTI={token_id}"
    end = format_time(now + timedelta(seconds=lifetime))
    value["status"] = {"token": token, "expirationTimestamp": end}
    return value


def _check_uid(api: Api, operation: Operation, metadata: Object, account: Object) -> None:
    """A uid in the request must be that of the account; the answer has it in later releases."""
    if not api.gates["TokenRequestServiceAccountUIDValidation"]:
        return
    uid, current = metadata.get("uid"), account["metadata"]["uid"]
    if uid and uid != current:
        raise conflict(
            _request_ref(api, operation.name),
            f"the UID in the token request ({uid}) does not match the UID of the service account"
            f" ({current})",
        )
    metadata["uid"] = current


def _request_ref(api: Api, name: str) -> ResourceRef:
    return ResourceRef(api.dialect.group_name("authentication.@"), "TokenRequest", name)


def _limit_lifetime(operation: Operation, spec: Object, maximum: int) -> None:
    requested = spec["expirationSeconds"]
    if 0 < maximum < requested:
        operation.warn(
            f"requested expiration of {requested} seconds shortened to {maximum} seconds"
        )
        spec["expirationSeconds"] = maximum


def _bound_objects(api: Api, operation: Operation, ref: Object | None) -> dict[str, Object]:
    """The object that the token is to be bound to, by its kind in lower case; a Pod with its
    Node."""
    if ref is None:
        return {}
    kind, name = ref.get("kind", ""), ref.get("name", "")
    group, _, version = ref.get("apiVersion", "").rpartition("/")
    kinds = {"Pod": PODS, "Secret": SECRETS}
    if api.gates["ServiceAccountTokenNodeBinding"]:
        kinds["Node"] = NODES
    resource = kinds.get(kind) if not group else None
    if resource is None:
        raise bad_request(f"cannot bind token to object of type {group}/{version}, Kind={kind}")
    value = api.lookup(resource, "" if kind == "Node" else operation.namespace, name)
    if value is None:
        raise absent(ResourceRef("", resource.rpartition("/")[2], name))
    if kind == "Pod" and value["spec"].get("serviceAccountName", "") != operation.name:
        raise _other_account(operation.name)
    uid = ref.get("uid", "")
    if uid and uid != value["metadata"]["uid"]:
        raise conflict(
            ResourceRef("", kind, name),
            f"the UID in the bound object reference ({uid}) does not match the UID in record."
            " The object might have been deleted and then recreated",
        )
    bound = {kind.lower(): value}
    node = value["spec"].get("nodeName") if kind == "Pod" else ""
    if node and api.gates["ServiceAccountTokenPodNodeInfo"]:
        bound["node"] = api.lookup(NODES, "", node) or {"metadata": {"name": node}}
    return bound


def _other_account(name: str) -> StatusError:
    return bad_request(
        f'cannot bind token for serviceaccount "{name}" to pod running with different'
        " serviceaccount name."
    )


async def _admit(
    api: Api, operation: Operation, value: Object, options: WriteOptions
) -> Attributes:
    """Fill in defaults and run mutating admission; the caller runs validating admission."""
    resource = operation.resource
    fill_defaults(resource.struct, value)
    write_pipeline.set_namespace(operation, value["metadata"])
    set_entries(value["metadata"], tracked_unstored(api, resource, value, options))
    context = api.context(operation, options.dry_run)
    name = operation.name or value["metadata"].get("name", "")
    attributes = write_pipeline.attributes(operation, CREATE, value, None, context, name, options)
    await result_of(api.admission.admit(attributes))
    return attributes
