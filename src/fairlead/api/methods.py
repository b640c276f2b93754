"""Checks which methods and paths a resource supports."""

from __future__ import annotations

from typing import Final

from fairlead.api.patch import check_patch_type
from fairlead.api.request import Request
from fairlead.base import errors
from fairlead.resources.registry import Resource

_NEEDS_NAME: Final[tuple[str, ...]] = ("get", "update", "patch", "delete")


def check_reading(request: Request) -> None:
    if request.method not in ("GET", "HEAD"):
        raise errors.method_not_allowed()


def check_getting(request: Request) -> None:
    """405 for anything but GET: discovery documents do not support HEAD."""
    if request.method != "GET":
        raise errors.method_not_allowed()


def check_method(request: Request, resource: Resource) -> None:
    """405 or 404 if the resource, the shape of the path or the method does not allow the
    request."""
    if resource.main.custom is None:
        _check_method(request, resource)
    else:
        _check_custom_method(request, resource)


def _check_custom_method(request: Request, resource: Resource) -> None:
    """Check the verb only: custom resources support HEAD, and path segments after a subresource are
    ignored. A create with a name in the path is refused: otherwise a right to create a single name
    would be a right to create any."""
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
        raise errors.no_such_path()  # not served across namespaces
    if target.name and resource.parent is None and resource.verbs == ("create",):
        raise errors.no_such_path()  # not stored, so items have no path
    if verb == "proxy" or (target.watch_prefix and target.subresource):
        raise errors.no_such_path()  # legacy path prefixes that only authorization still knows
    if resource.takes_path and request.method == "OPTIONS":
        return  # OPTIONS has no verb
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
