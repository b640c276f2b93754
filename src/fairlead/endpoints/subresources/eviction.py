"""Evicting a pod: a delete that pod disruption budgets may refuse."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from copy import copy

from fairlead.admission.chain import CREATE, Chain
from fairlead.endpoints import writing
from fairlead.endpoints.answers import Answer, value_answer
from fairlead.endpoints.api import Api, Object
from fairlead.endpoints.decoding import aside, body_format, check_kind, decode_object, parse_body
from fairlead.endpoints.delete import delete_one
from fairlead.endpoints.parameters import DeleteOptions, check_dry_run, write_options
from fairlead.endpoints.request import Request
from fairlead.endpoints.subresources.binding import CREATED
from fairlead.errors import (
    Cause,
    ResourceRef,
    StatusError,
    bad_request,
    forbidden,
    invalid,
    not_found,
)
from fairlead.kinds.causes import Causes
from fairlead.kinds.resources import Resource
from fairlead.kinds.rules import selector_is_empty, selector_matches
from fairlead.schema.times import now
from fairlead.storage.entry import Entry
from fairlead.storage.selection import EVERYTHING
from fairlead.storage.store import Conflict

PODS, BUDGETS = "core/v1/pods", "policy/v1/poddisruptionbudgets"
MOST_DISRUPTED_PODS = 2000
REFUSED = "Cannot evict pod as it would violate the pod's disruption budget."
SECONDS_TO_WAIT = 10
MOST_TRIES = 20
# Phases in which an eviction disturbs nobody.
_UNPROTECTED = ("Succeeded", "Failed", "Pending")
TWO_BUDGETS = (
    "This pod has more than one PodDisruptionBudget, which the eviction subresource does not"
    " support."
)


async def create_eviction(api: Api, request: Request) -> Answer:
    resource, target = request.target.resource, request.target
    assert resource is not None
    write = write_options(api.dialect, request, "CreateOptions")
    media_type = body_format(request, api.resources)
    raw = await request.body()
    parsed, repeated = await aside(raw, lambda: parse_body(raw, media_type, resource))
    if parsed.get("apiVersion") == "policy/v1beta1":  # the same type, in the version before
        del parsed["apiVersion"]
    check_kind(api.resources, resource, parsed)
    eviction = decode_object(request, resource, parsed, raw, write.validation, repeated)
    writing.set_namespace(request, resource, eviction["metadata"])
    options = _delete_options(api, eviction.get("deleteOptions") or {}, write.dry_run)
    context = api.context(request, options.dry_run)
    attributes = writing.attributes(api, request, CREATE, eviction, None, context, target.name)
    await api.admission.admit(attributes)
    if eviction["metadata"].get("name", "") != target.name:
        raise bad_request("name in URL does not match name in Eviction object")
    await api.admission.validate(attributes)
    await _evict(api, request, options)
    return value_answer(request, 201, CREATED, api.resources)


def _delete_options(api: Api, value: Object, dry_run: bool) -> DeleteOptions:
    """The options of the delete that the eviction is; it is a dry run if either says so."""
    causes = Causes()
    dry = value.get("dryRun") or []
    check_dry_run(dry, causes)
    if causes:
        raise invalid(ResourceRef(api.dialect.meta_group, "DeleteOptions"), causes)
    conditions = value.get("preconditions") or {}
    propagation = value.get("propagationPolicy") or ""
    orphan = value.get("orphanDependents")
    if orphan is not None:
        propagation = "Orphan" if orphan else "Background"
    return DeleteOptions(
        dry_run or bool(dry),
        value.get("gracePeriodSeconds"),
        propagation,
        conditions.get("uid", ""),
        conditions.get("resourceVersion", ""),
    )


async def _evict(api: Api, request: Request, options: DeleteOptions) -> None:
    """Delete the pod if its budget has room."""
    pods = api.resources.named(PODS)
    pod = _pod(api, pods, request)
    budgets = [] if _is_unprotected(pod) else _budgets_of(api, pod)
    if len(budgets) > 1:
        raise StatusError(500, "", TWO_BUDGETS)
    for budget in budgets:
        if not _is_ready(pod) and _is_met(budget.object()):
            await _delete_unready(api, request, pods, pod, budget.name, options)
            return
        await _take_disruption(api, budget, pod["metadata"]["name"], options.dry_run)
    await _delete(api, request, pods, options)


def _pod(api: Api, pods: Resource, request: Request) -> Object:
    target = request.target
    key = pods.storage_key(target.namespace, target.name)
    entry = api.store.latest(api.collection(pods), key)
    if entry is None:
        raise not_found(pods.ref(target.name))
    return entry.object()


def _is_unprotected(pod: Object) -> bool:
    ending = pod["metadata"].get("deletionTimestamp") is not None
    return ending or pod["status"].get("phase") in _UNPROTECTED


def _is_ready(pod: Object) -> bool:
    conditions = pod["status"].get("conditions") or ()
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


def _is_met(budget: Object) -> bool:
    """Whether enough pods are healthy without one that is not."""
    status = budget["status"]
    desired: int = status["desiredHealthy"]
    healthy: int = status["currentHealthy"]
    return healthy >= desired > 0


def _budgets_of(api: Api, pod: Object) -> list[Entry]:
    collection = api.collection(api.resources.named(BUDGETS))
    namespace = pod["metadata"]["namespace"]
    page = collection.page(namespace, EVERYTHING, api.store.revision, 0, None)
    labels = pod["metadata"].get("labels") or {}
    found = []
    for entry in page.entries:
        selector = entry.object()["spec"].get("selector")
        if not selector_is_empty(selector) and selector_matches(selector, labels):
            found.append(entry)
    return found


async def _delete(api: Api, request: Request, pods: Resource, options: DeleteOptions) -> None:
    """The eviction was admitted as such; the delete that follows is not asked about again."""
    unasked = copy(api)
    unasked.admission = Chain(())
    key = pods.storage_key(request.target.namespace, request.target.name)
    await delete_one(unasked, request, pods, key, options)


async def _delete_unready(
    api: Api,
    request: Request,
    pods: Resource,
    pod: Object,
    budget: str,
    options: DeleteOptions,
) -> None:
    """A pod that is not ready costs its budget nothing, as long as it stays so."""
    pinned = copy(options)
    pinned.revision = options.revision or pod["metadata"]["resourceVersion"]
    try:
        await _delete(api, request, pods, pinned)
    except StatusError as error:
        if error.code == 409 and not options.revision:
            raise _try_later(budget) from None
        raise


def _refused(cause: str, seconds: int) -> StatusError:
    listed = Cause("DisruptionBudget", cause).as_dict()
    details: Object = {"causes": [listed]}
    if seconds:
        details["retryAfterSeconds"] = seconds
    return StatusError(
        429, "TooManyRequests", REFUSED, details=details, retry_after=seconds or None
    )


def _try_later(budget: str) -> StatusError:
    text = f"The disruption budget {budget} is still being processed by the server."
    return _refused(text, SECONDS_TO_WAIT)


async def _take_disruption(api: Api, entry: Entry, pod_name: str, dry_run: bool) -> None:
    """Use up one of the disruptions that a budget allows, or raise what stands against it."""
    resource = api.resources.named(BUDGETS)
    collection = api.collection(resource)
    for _ in range(MOST_TRIES):
        current = api.store.latest(collection, entry.key)
        if current is None:
            raise not_found(resource.ref(entry.name))
        budget = current.object()
        _check_budget(budget)
        _note_disruption(budget, pod_name)
        if dry_run:
            return
        try:
            await api.store.put(collection, current.key, writing.ordered(budget), current.revision)
        except Conflict:
            continue
        return
    raise StatusError(
        504,
        "Timeout",
        f'Timeout: couldn\'t update PodDisruptionBudget "{entry.name}" due to conflicts',
        details={"retryAfterSeconds": SECONDS_TO_WAIT},
        retry_after=SECONDS_TO_WAIT,
    )


def _check_budget(budget: Object) -> None:
    metadata, status = budget["metadata"], budget["status"]
    name = metadata["name"]
    if status.get("observedGeneration", 0) < metadata.get("generation", 0):
        raise _try_later(name)
    ref = ResourceRef("policy", "poddisruptionbudget", name)
    if status["disruptionsAllowed"] < 0:
        raise forbidden(ref, "pdb disruptions allowed is negative")
    if len(status.get("disruptedPods") or ()) > MOST_DISRUPTED_PODS:
        why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        raise forbidden(ref, why)
    if status["disruptionsAllowed"] == 0:
        text = (
            f"The disruption budget {name} needs {status['desiredHealthy']} healthy pods and has"
            f" {status['currentHealthy']} currently"
        )
        raise _refused(text, 0)


def _note_disruption(budget: Object, pod_name: str) -> None:
    status = budget["status"]
    status["disruptionsAllowed"] -= 1
    status["disruptedPods"] = {**(status.get("disruptedPods") or {}), pod_name: now()}
    if status["disruptionsAllowed"] == 0:
        others = [c for c in status.get("conditions") or () if c["type"] != "DisruptionAllowed"]
        exhausted = {
            "type": "DisruptionAllowed",
            "status": "False",
            "observedGeneration": status.get("observedGeneration", 0),
            "lastTransitionTime": now(),
            "reason": "InsufficientPods",
            "message": "",
        }
        status["conditions"] = [*others, exhausted]


HANDLERS: dict[tuple[str, str], Callable[[Api, Request], Awaitable[Answer]]] = {
    ("core/v1/pods/eviction", "create"): create_eviction,
}
