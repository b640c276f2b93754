"""Validation of object metadata, the same for every kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from fairlead.base.dialect import Dialect
from fairlead.base.release import Reworded
from fairlead.codec.types.names import (
    dns_label,
    is_label_value,
    is_qualified_name,
    label_value,
    path_segment,
    qualified_name,
)
from fairlead.codec.types.times import parse_time
from fairlead.resources.causes import Causes, GoValue, go_composite, go_pointer, quote
from fairlead.resources.go_values import go_time

MAX_ANNOTATION_BYTES: Final = 256 * 1024
MAX_MANAGER_BYTES: Final = 128
MAX_GRACE: Final = 10**10  # seconds; larger values overflow the calendar
_MAX_SUBRESOURCE_BYTES: Final = 256
STANDARD_FINALIZERS: Final[tuple[str, ...]] = ("foregroundDeletion", "orphan", "kubernetes")
UNQUALIFIED: Final = "name is neither a standard finalizer name nor is it fully qualified"
# An error about owner references shows all of them up to this number.
_MAX_OWNERS_SHOWN: Final = 32

# Returns the syntax errors of a name.
NameRule = Callable[[str], list[str]]


def deletion_end(metadata: dict[str, Any], dialect: Dialect) -> float:
    """When the grace period of an object that is being deleted ends, in seconds since the epoch."""
    moment = parse_time(metadata["deletionTimestamp"]).timestamp()
    if not dialect.deletion_starts_now:
        return moment
    return moment + min(metadata.get("deletionGracePeriodSeconds") or 0, MAX_GRACE)


def check_metadata(
    metadata: dict[str, Any],
    namespaced: bool,
    name_rule: NameRule,
    causes: Causes,
    path: str = "metadata",
    *,
    qualified: bool = True,
) -> None:
    """Check the metadata of a new object. `qualified`: non-standard finalizers need a domain.
    Generic rules and the rules of the kind both call this: of metadata that passed the stricter
    ones, only the names are checked again."""
    check_names(metadata, name_rule, causes, path)
    if causes.sound is metadata and not qualified:
        return
    before = len(causes)
    namespace: str = metadata.get("namespace", "")
    if namespaced and not namespace:
        causes.required(f"{path}.namespace")
    elif not namespaced and namespace:
        causes.forbidden(f"{path}.namespace", "not allowed on this type")
    generation: int = metadata.get("generation", 0)
    if generation < 0:
        causes.invalid(f"{path}.generation", generation, "must be greater than or equal to 0")
    _check_contents(metadata, causes, path)
    if finalizers := metadata.get("finalizers"):
        check_finalizers(finalizers, f"{path}.finalizers", causes)
        if qualified:
            check_qualified(finalizers, f"{path}.finalizers", causes)
    _check_managers(metadata, causes, path)
    if len(causes) == before:
        causes.sound = metadata


_SOME_NAME: Final = "unnamed"


def check_embedded_metadata(metadata: dict[str, Any], path: str, causes: Causes) -> None:
    """Check the metadata of an embedded object, which need not have a name."""
    namespace: str = metadata.get("namespace", "")
    named = {**metadata, "name": metadata.get("name") or _SOME_NAME}
    if namespace:
        causes.invalid_each(f"{path}.namespace", namespace, dns_label(namespace))
    check_metadata(named, bool(namespace), path_segment, causes, path, qualified=False)
    for index, entry in enumerate(metadata.get("managedFields") or ()):
        operation: str = entry.get("operation", "")
        if operation not in ("Apply", "Update"):
            place = f"{path}.managedFields[{index}].operation"
            causes.invalid(place, operation, "must be `Apply` or `Update`")


# The garbage collector looks at every owner reference whenever the object is written.
_MAX_REFERENCES: Final = 2_000

_CONTENTS: Final[tuple[str, ...]] = ("labels", "annotations", "ownerReferences")


def _check_contents(metadata: dict[str, Any], causes: Causes, path: str) -> None:
    """Check labels, annotations and owner references."""
    if labels := metadata.get("labels"):
        check_labels(labels, f"{path}.labels", causes)
    if annotations := metadata.get("annotations"):
        check_annotations(annotations, f"{path}.annotations", causes)
    if references := metadata.get("ownerReferences"):
        check_owner_references(references, f"{path}.ownerReferences", causes)


def check_names(
    metadata: dict[str, Any], name_rule: NameRule, causes: Causes, path: str = "metadata"
) -> None:
    generate: str = metadata.get("generateName", "")
    if generate:
        stem = generate.rstrip("-") if name_rule is not path_segment else generate
        causes.invalid_each(f"{path}.generateName", generate, name_rule(stem or generate))
    name: str = metadata.get("name", "")
    if not name:
        causes.required(f"{path}.name", "name or generateName is required")
    elif errors := name_rule(name):
        causes.invalid_each(f"{path}.name", name, errors)


def check_labels(labels: dict[str, str] | None, path: str, causes: Causes) -> None:
    if not labels:
        return
    for key, value in labels.items():
        if not is_qualified_name(key):
            causes.invalid_each(path, key, qualified_name(key))
        if not is_label_value(value):
            causes.invalid_each(path, value, label_value(value))


def check_annotations(annotations: dict[str, str] | None, path: str, causes: Causes) -> None:
    if not annotations:
        return
    length = 0
    for key, value in annotations.items():
        if not is_qualified_name(key.lower()):
            causes.invalid_each(path, key, qualified_name(key.lower()))
        length += len(key) + len(value)
    # A character has at most four bytes.
    if length > MAX_ANNOTATION_BYTES // 4 and _bytes_of(annotations) > MAX_ANNOTATION_BYTES:
        causes.too_long(path, MAX_ANNOTATION_BYTES)


def _bytes_of(annotations: dict[str, str]) -> int:
    return sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items())


def check_owner_references(
    references: list[dict[str, Any]] | None, path: str, causes: Causes
) -> None:
    if references and len(references) > _MAX_REFERENCES:
        causes.too_many(path, len(references), _MAX_REFERENCES)
        return
    controller: dict[str, Any] = {}
    for reference in references or ():
        _check_owner_reference(reference, path, causes)
        if not reference.get("controller"):
            continue
        if controller:
            causes.invalid(
                path, _owners_text(references or [], reference), _two_owners(controller, reference)
            )
        else:
            controller = reference


def _two_owners(first: dict[str, Any], second: dict[str, Any]) -> Reworded:
    found = 'Only one reference can have Controller set to true. Found "true" in references for'
    names, kinds = (first["name"], second["name"]), (first["kind"], second["kind"])
    return Reworded(
        f"{found} {names[0]} and {names[1]}",
        f"{found} {kinds[0]}/{names[0]} and {kinds[1]}/{names[1]}",
    )


_EMPTY: Final = {
    name: Reworded(f"{name} must not be empty", "must not be empty")
    for name in ("kind", "name", "uid")
}


def _check_owner_reference(reference: dict[str, Any], path: str, causes: Causes) -> None:
    api_version = reference["apiVersion"]
    group, _, version = api_version.rpartition("/")
    if not version or "/" in group:
        causes.invalid(f"{path}.apiVersion", api_version, "version must not be empty")
    for name in _EMPTY:
        if not reference[name]:
            causes.invalid(f"{path}.{name}", "", _EMPTY[name])
    if (group, version, reference["kind"]) == ("", "v1", "Event"):
        causes.invalid(
            path,
            _owner_text(reference),
            "/v1, Kind=Event is disallowed from being an owner",
        )


def _owners_text(references: list[dict[str, Any]], owner: dict[str, Any]) -> GoValue:
    """All references, or only the wrong one if there are many: an error for each that shows all
    would make the response too large."""
    if len(references) > _MAX_OWNERS_SHOWN:
        return _owner_text(owner)
    return go_composite("[]v1.OwnerReference", map(_owner_text, references))


def _owner_text(reference: dict[str, Any]) -> GoValue:
    parts = {
        "APIVersion": quote(reference["apiVersion"]),
        "Kind": quote(reference["kind"]),
        "Name": quote(reference["name"]),
        "UID": quote(reference["uid"]),
        "Controller": go_pointer("bool", reference.get("controller")),
        "BlockOwnerDeletion": go_pointer("bool", reference.get("blockOwnerDeletion")),
    }
    return go_composite("v1.OwnerReference", parts)


def check_finalizers(finalizers: list[str] | None, path: str, causes: Causes) -> None:
    for finalizer in finalizers or ():
        causes.invalid_each(path, finalizer, qualified_name(finalizer))
    if finalizers and {"foregroundDeletion", "orphan"} <= set(finalizers):
        detail = "finalizer orphan and foregroundDeletion cannot be both set"
        causes.invalid(path, GoValue(go_strings(finalizers)), detail)


def check_qualified(finalizers: list[str] | None, path: str, causes: Causes) -> None:
    for index, name in enumerate(finalizers or ()):
        if "/" not in name and name not in STANDARD_FINALIZERS:
            causes.invalid(f"{path}[{index}]", name, UNQUALIFIED)


def _check_managers(metadata: dict[str, Any], causes: Causes, path: str) -> None:
    """Check `managedFields`: a client may send them."""
    entries: list[dict[str, Any]] = metadata.get("managedFields") or []
    for index, entry in enumerate(entries):
        manager: str = entry.get("manager", "")
        if not _is_usual_manager(manager):
            check_manager(manager, f"{path}.managedFields[{index}].manager", causes)
        subresource: str = entry.get("subresource", "")
        if len(subresource) * 4 > _MAX_SUBRESOURCE_BYTES < len(subresource.encode()):
            causes.too_long(f"{path}.managedFields[{index}].subresource", _MAX_SUBRESOURCE_BYTES)


def _is_usual_manager(manager: str) -> bool:
    return len(manager) * 4 <= MAX_MANAGER_BYTES and manager.isprintable()


def check_manager(manager: str, path: str, causes: Causes) -> None:
    if len(manager.encode()) > MAX_MANAGER_BYTES:
        causes.too_long(path, MAX_MANAGER_BYTES)
    if manager.isprintable():
        return
    for position, letter in enumerate(manager):
        if not letter.isprintable():
            detail = f"invalid character U+{ord(letter):04X} (at position {position})"
            causes.invalid(path, manager, detail)


def go_strings(values: Iterable[str]) -> str:
    return "[]string{" + ", ".join(quote(value) for value in values) + "}"


# Fields that a client cannot change.
_IMMUTABLE: Final[tuple[str, ...]] = (
    "name",
    "namespace",
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)


def check_metadata_update(
    metadata: dict[str, Any],
    old: dict[str, Any],
    causes: Causes,
    *,
    qualified: bool = True,
) -> None:
    if old.get("deletionTimestamp") is not None:
        _check_new_finalizers(metadata, old, causes)
    generation: int = metadata.get("generation", 0)
    old_generation: int = old.get("generation", 0)
    if generation < old_generation:
        causes.invalid("metadata.generation", generation, "must not be decremented")
    for name in _IMMUTABLE:
        _check_immutable(name, metadata.get(name), old.get(name), causes)
    if causes.sound is not metadata:
        for name in _CONTENTS:
            if _differ(metadata.get(name), old.get(name)):
                _check_contents(metadata, causes, "metadata")
                break
        # By identity: a comparison would cost more than the check.
        if metadata.get("managedFields") is not old.get("managedFields"):
            _check_managers(metadata, causes, "metadata")
    if qualified and (finalizers := metadata.get("finalizers")):
        check_qualified(finalizers, "metadata.finalizers", causes)


def _differ(value: Any, old: Any) -> bool:
    return value is not old and value != old


def _check_immutable(name: str, value: Any, old: Any, causes: Causes) -> None:
    if _differ(value, old):
        causes.invalid(f"metadata.{name}", _format_field(name, value), "field is immutable")


def _format_field(name: str, value: Any) -> Any:
    if name.endswith("Timestamp"):
        return go_time(value)
    return value if value is not None else ""


def _check_new_finalizers(metadata: dict[str, Any], old: dict[str, Any], causes: Causes) -> None:
    """An object that is being deleted must not get new finalizers."""
    old_finalizers = set(old.get("finalizers") or ())
    added = sorted(
        {name for name in metadata.get("finalizers") or () if name not in old_finalizers}
    )
    if added:
        causes.forbidden(
            "metadata.finalizers",
            "no new finalizers can be added if the object is being deleted, found new finalizers "
            + go_strings(added),
        )
