"""Evicting a pod: a delete that pod disruption budgets may reject."""

from __future__ import annotations

from dataclasses import replace

from fairlead.admission.chain import Chain
from fairlead.admission.plugin import CREATE
from fairlead.base.errors import (
    Cause,
    ResourceRef,
    StatusError,
    bad_request,
    conflict,
    forbidden,
    invalid,
    not_found,
)
from fairlead.base.waiting import result_of
from fairlead.codec.types.times import now
from fairlead.operations import write_pipeline
from fairlead.operations.api import Api, Object
from fairlead.operations.commits import put, write_over
from fairlead.operations.delete import delete
from fairlead.operations.operation import Operation
from fairlead.operations.options import (
    DeleteOptions,
    WriteOptions,
    check_dry_run,
    check_propagation,
)
from fairlead.resources.causes import absent, new_causes
from fairlead.resources.core.pods.conditions import disruption, with_condition
from fairlead.resources.registry import Resource
from fairlead.resources.rules import selector_is_empty, selector_matches
from fairlead.storage.backend import Conflict
from fairlead.storage.version import Version

PODS, BUDGETS = "core/v1/pods", "policy/v1/poddisruptionbudgets"
MAX_DISRUPTED_PODS = 2000
REFUSED = "Cannot evict pod as it would violate the pod's disruption budget."
SECONDS_TO_WAIT = 10
MAX_TRIES = 20
# Phases in which no disruption budget applies.
_UNPROTECTED = ("Succeeded", "Failed", "Pending")
_NO_ADMISSION = Chain(())
TWO_BUDGETS = (
    "This pod has more than one PodDisruptionBudget, which the eviction subresource does not"
    " support."
)


async def evict(api: Api, operation: Operation, eviction: Object, write: WriteOptions) -> None:
    """Admit an Eviction and delete its pod."""
    write_pipeline.set_namespace(operation, eviction["metadata"])
    options = _delete_options(eviction, write.dry_run)
    context = api.context(operation, options.dry_run)
    attributes = write_pipeline.attributes(
        operation, CREATE, eviction, None, context, options=write
    )
    await result_of(api.admission.admit(attributes))
    if attributes.round:  # mutating admission may have changed it
        options = _delete_options(eviction, write.dry_run)
    if eviction["metadata"].get("name", "") != operation.name:
        raise bad_request("name in URL does not match name in Eviction object")
    await result_of(api.admission.validate(attributes))
    pod = _pod(api, api.resources.named(PODS), operation)
    _check_delete_options(api, eviction)
    await _evict(api, operation, pod, options)


def _check_delete_options(api: Api, eviction: Object) -> None:
    value, causes = eviction.get("deleteOptions") or {}, new_causes(api.gates)
    check_dry_run(value.get("dryRun") or [], causes)
    check_propagation(value, causes)
    if causes:
        raise invalid(ResourceRef(api.dialect.meta_group, "DeleteOptions"), causes)


def _delete_options(eviction: Object, dry_run: bool) -> DeleteOptions:
    """The options of the delete; it is a dry run if the request or the Eviction is."""
    value = eviction.get("deleteOptions") or {}
    dry = value.get("dryRun") or []
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


async def _evict(api: Api, operation: Operation, pod: Object, options: DeleteOptions) -> None:
    """Delete the pod if its budget allows a disruption."""
    budgets = [] if _is_unprotected(pod) else _budgets_of(api, pod)
    if len(budgets) > 1:
        raise StatusError(500, "", TWO_BUDGETS)
    for budget in budgets:
        if not _is_ready(pod) and _allows_unready(budget.object()):
            await _delete_unready(api, operation, pod, budget.name, options)
            return
        await _take_disruption(api, operation, budget, pod["metadata"]["name"], options.dry_run)
    await _delete(api, operation, options)


def _pod(api: Api, pods: Resource, operation: Operation) -> Object:
    version = api.collection(pods).latest(operation.key)
    if version is None:
        raise absent(pods.ref(operation.name))
    return version.object()


def _is_unprotected(pod: Object) -> bool:
    is_deleted = pod["metadata"].get("deletionTimestamp") is not None
    return is_deleted or pod["status"].get("phase") in _UNPROTECTED


def _is_ready(pod: Object) -> bool:
    conditions = pod["status"].get("conditions") or ()
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


def _allows_unready(budget: Object) -> bool:
    """Whether unready pods may always be evicted, or enough pods are healthy without them."""
    if budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget["status"]
    desired: int = status["desiredHealthy"]
    healthy: int = status["currentHealthy"]
    return healthy >= desired > 0


def _budgets_of(api: Api, pod: Object) -> list[Version]:
    collection = api.collection(api.resources.named(BUDGETS))
    namespace = pod["metadata"]["namespace"]
    labels = pod["metadata"].get("labels") or {}
    budgets = []
    for version in collection.current(namespace):
        selector = version.object()["spec"].get("selector")
        if not selector_is_empty(selector) and selector_matches(selector, labels):
            budgets.append(version)
    return budgets


async def _delete(api: Api, operation: Operation, options: DeleteOptions) -> None:
    """Delete without admission: the eviction was admitted already."""
    pods = api.resources.named(PODS)
    if api.gates["PodDisruptionConditions"] and not options.dry_run:
        options = await _mark(api, pods, operation, options)
    pod = operation.part("delete", pods, operation.namespace, operation.name)
    await delete(api, pod, options, admission=_NO_ADMISSION)


async def _mark(
    api: Api, pods: Resource, operation: Operation, options: DeleteOptions
) -> DeleteOptions:
    """Add the condition DisruptionTarget to the pod. Returns the options of the delete; a
    precondition on the version of the pod then names the version that this writes."""
    collection = api.collection(pods)

    async def write(current: Version) -> Version:
        pod = current.object()
        _check_preconditions(pod["metadata"], options)
        marked = with_condition(pod, disruption("EvictionByEvictionAPI", "Eviction API: evicting"))
        if marked is pod:
            return current
        stored = write_pipeline.ordered(marked)
        return await put(api, operation, collection, current.key, stored, current)

    version = await write_over(api, collection, operation.key, pods.ref(operation.name), write)
    if not options.revision:
        return options
    return replace(options, revision=version.object()["metadata"]["resourceVersion"])


def _check_preconditions(metadata: Object, options: DeleteOptions) -> None:
    ref = ResourceRef("", "Pod", metadata["name"])
    if options.uid and options.uid != metadata["uid"]:
        text = (
            f"the UID in the precondition ({options.uid}) does not match the UID in record"
            f" ({metadata['uid']}). The object might have been deleted and then recreated"
        )
        raise conflict(ref, text)
    if options.revision and options.revision != metadata["resourceVersion"]:
        text = (
            f"the ResourceVersion in the precondition ({options.revision}) does not match the"
            f" ResourceVersion in record ({metadata['resourceVersion']}). The object might have"
            " been modified"
        )
        raise conflict(ref, text)


async def _delete_unready(
    api: Api, operation: Operation, pod: Object, budget: str, options: DeleteOptions
) -> None:
    """Delete an unready pod without using its budget, on the precondition that the pod is
    unchanged."""
    pinned = replace(options, revision=options.revision or pod["metadata"]["resourceVersion"])
    try:
        await _delete(api, operation, pinned)
    except StatusError as error:
        if error.code == 409 and not options.revision:
            raise _try_later(budget) from None
        raise


def _refusal(text: str, seconds: int) -> StatusError:
    cause = Cause("DisruptionBudget", text).as_dict()
    details: Object = {"causes": [cause]}
    if seconds:
        details["retryAfterSeconds"] = seconds
    return StatusError(
        429, "TooManyRequests", REFUSED, details=details, retry_after=seconds or None
    )


def _try_later(budget: str) -> StatusError:
    text = f"The disruption budget {budget} is still being processed by the server."
    return _refusal(text, SECONDS_TO_WAIT)


async def _take_disruption(
    api: Api, operation: Operation, version: Version, pod_name: str, dry_run: bool
) -> None:
    """Decrement the allowed disruptions of a budget; raises if there are none. Retries on
    Conflict."""
    resource = api.resources.named(BUDGETS)
    collection = api.collection(resource)
    for _ in range(MAX_TRIES):
        current = collection.latest(version.key)
        if current is None:
            raise not_found(resource.ref(version.name))
        budget = current.object()
        _check_budget(budget)
        _note_disruption(budget, pod_name)
        if dry_run:
            return
        try:
            stored = write_pipeline.ordered(budget)
            await put(api, operation, collection, current.key, stored, current)
        except Conflict:
            continue
        return
    raise StatusError(
        504,
        "Timeout",
        f'Timeout: couldn\'t update PodDisruptionBudget "{version.name}" due to conflicts',
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
    if len(status.get("disruptedPods") or ()) > MAX_DISRUPTED_PODS:
        message = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        raise forbidden(ref, message)
    if status["disruptionsAllowed"] == 0:
        text = (
            f"The disruption budget {name} needs {status['desiredHealthy']} healthy pods and has"
            f" {status['currentHealthy']} currently"
        )
        raise _refusal(text, 0)


def _note_disruption(budget: Object, pod_name: str) -> None:
    status = budget["status"]
    status["disruptionsAllowed"] -= 1
    status["disruptedPods"] = {**(status.get("disruptedPods") or {}), pod_name: now()}
    if status["disruptionsAllowed"] == 0:
        conditions = [c for c in status.get("conditions") or () if c["type"] != "DisruptionAllowed"]
        exhausted = {
            "type": "DisruptionAllowed",
            "status": "False",
            "observedGeneration": status.get("observedGeneration", 0),
            "lastTransitionTime": now(),
            "reason": "InsufficientPods",
            "message": "",
        }
        status["conditions"] = [*conditions, exhausted]
