"""Converts a routed request to authorization attributes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from fairlead.auth.authentication.user import User
from fairlead.auth.authorization.attributes import Attributes
from fairlead.base.caches import memoized
from fairlead.codec.types.names import path_segment
from fairlead.storage.selection import (
    Requirement,
    Selection,
    SelectorError,
    parse_fields,
    parse_labels,
)

_NAMED_BY_SELECTOR: Final[tuple[str, ...]] = ("list", "watch")
_SELECTING_VERBS: Final[tuple[str, ...]] = ("list", "watch", "deletecollection")


class Target(Protocol):
    """The parsed request, from routing."""

    path: str
    verb: str
    is_resource: bool
    group: str
    version: str
    resource_name: str
    subresource: str
    namespace: str
    name: str
    watch_prefix: bool


def attributes_of(user: User, target: Target, field_selector: str) -> Attributes:
    """`field_selector` is the query parameter of a list or watch."""
    if not target.is_resource:
        return Attributes(user, target.verb, path=target.path, is_resource=False)
    name = target.name
    if field_selector and target.verb in _NAMED_BY_SELECTOR and not (name or target.watch_prefix):
        name = _selected_name(field_selector)
    return Attributes(
        user,
        target.verb,
        target.group,
        target.version,
        target.resource_name,
        target.subresource,
        target.namespace,
        name,
    )


def with_selectors(
    attributes: Attributes, target: Target, field_selector: str, label_selector: str
) -> Attributes:
    """Add the selectors of a request; both are query parameters."""
    if target.watch_prefix or target.verb not in _SELECTING_VERBS or not target.is_resource:
        return attributes
    return with_requirements(attributes, field_selector, label_selector)


def with_requirements(
    attributes: Attributes, field_selector: str, label_selector: str
) -> Attributes:
    """Add selectors. An invalid one is left out: authorization is then asked for more than the
    request can return."""
    fields = _requirements(parse_fields, field_selector) if field_selector else ()
    labels = _requirements(parse_labels, label_selector) if label_selector else ()
    return attributes._replace(fields=fields, labels=labels)


def _requirements(
    parse: Callable[[str], tuple[Requirement, ...]], text: str
) -> tuple[Requirement, ...]:
    try:
        return parse(text)
    except SelectorError:
        return ()


@memoized(longest=512)
def _selected_name(field_selector: str) -> str:
    """The single name that a field selector matches, or an empty string."""
    try:
        name = Selection(fields=parse_fields(field_selector)).name
    except SelectorError:
        return ""
    return name if name and not path_segment(name) else ""
