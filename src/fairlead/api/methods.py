"""Which methods and paths a resource takes."""

from __future__ import annotations

from fairlead.api.patch import check_patch_type
from fairlead.api.request import Request
from fairlead.base import errors
from fairlead.resources.registry import Resource

_NEEDS_NAME = ("get", "update", "patch", "delete")


def check_reading(request: Request) -> None:
    if request.method not in ("GET", "HEAD"):
        raise errors.method_not_allowed()


def check_getting(request: Request) -> None:
    """What the API tells of itself has no head alone."""
    if request.method != "GET":
        raise errors.method_not_allowed()


def check_method(request: Request, resource: Resource) -> None:
    """405 for what the resource, the path shape or the method do not allow."""
    if resource.main.custom is None:
        _check_method(request, resource)
    else:
        _check_custom_method(request, resource)


def _check_custom_method(request: Request, resource: Resource) -> None:
    """Paths of custom resources are served by verbs alone: HEAD reads, and what stands behind a
    subresource is not looked at. But nothing is made below a name: a right to create what has one
    name would be a right to create anything."""
    target = request.target
    verb = target.verb
    is_misnamed = verb == "create" and bool(target.name)
    if verb not in resource.verbs or is_misnamed:
        raise errors.verb_not_supported(resource.main.ref(), verb)
    if verb in ("update", "patch") and not target.name:
        if verb == "patch":
            check_patch_type(request, resource)
        raise errors.bad_request("name must be provided")


def _check_method(request: Request, resource: Resource) -> None:
    target = request.target
    verb = target.verb
    if target.rest and not resource.takes_path:
        raise errors.no_such_path()
    if resource.namespaced and not target.namespace and "list" not in resource.verbs:
        raise errors.no_such_path()  # nothing of it is served across namespaces
    if target.name and resource.parent is None and resource.verbs == ("create",):
        raise errors.no_such_path()  # nothing of it is kept, so nothing has a path
    if verb == "proxy" or (target.watch_prefix and target.subresource):
        raise errors.no_such_path()  # rights of former times
    if resource.takes_path and request.method == "OPTIONS":
        return  # which has no verb
    unread: tuple[str, ...] = () if resource.takes_path else ("HEAD", "OPTIONS")
    if request.method in unread or (target.watch_prefix and request.method != "GET"):
        raise errors.method_not_allowed()
    if verb not in resource.verbs:
        if verb == "watch" and "list" in resource.verbs:
            raise errors.verb_not_supported(resource.ref(), verb)
        raise errors.method_not_allowed()
    if (verb in _NEEDS_NAME and not target.name) or (
        verb == "create" and bool(target.name) != bool(resource.parent)
    ):
        raise errors.method_not_allowed()
    if (
        verb in ("create", "deletecollection")
        and not target.name
        and resource.namespaced
        and not target.namespace
    ):
        raise errors.method_not_allowed()
