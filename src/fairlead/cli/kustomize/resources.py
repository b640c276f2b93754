"""The objects of a build, with what the build remembers of each: earlier identities, prefixes and
suffixes of its name, and how generators may change it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from fairlead.cli.kustomize import files
from fairlead.cli.kustomize.errors import KustomizeError
from fairlead.cli.kustomize.identity import Identity, Kind, kind_of
from fairlead.storage import selection

Object = dict[str, Any]
MAX_OBJECTS = 50_000


class Built:
    """An object of the build."""

    def __init__(self, value: Object) -> None:
        self.value = value
        self.previous: list[tuple[str, str, str]] = []  # namespace, name, kind
        self.prefixes: list[str] = []
        self.suffixes: list[str] = []
        self.behaviour = ""  # of a generator: merge, replace or anything else for create
        self.blanks = files.take_blanks(value)
        self.is_generated = False
        self.is_hashed = False  # whether its name gets a hash of its content
        self.variables: list[str] = []

    @property
    def metadata(self) -> Object:
        metadata = self.value.get("metadata")
        if not isinstance(metadata, dict):
            metadata = self.value["metadata"] = {}
        return metadata

    @property
    def name(self) -> str:
        return str(self.metadata.get("name") or "")

    @property
    def namespace(self) -> str:
        return str(self.metadata.get("namespace") or "")

    @property
    def kind(self) -> Kind:
        return kind_of(self.value)

    @property
    def identity(self) -> Identity:
        return Identity(self.kind, self.name, self.namespace)

    def earlier(self) -> list[Identity]:
        """The identities that the object had before, the oldest first."""
        group, version, _ = self.kind
        return [
            Identity(Kind(group, version, kind), name, namespace)
            for namespace, name, kind in self.previous
        ]

    def identities(self) -> list[Identity]:
        return [*self.earlier(), self.identity]

    @property
    def original(self) -> Identity:
        return self.identities()[0]

    def remember(self) -> None:
        """Keep the present identity, before it changes."""
        now = self.identity
        self.previous.append((now.space, now.name, now.kind.kind))

    def is_annotated(self) -> bool:
        """Whether the reference would hold notes of its own in the annotations of this object,
        which therefore exist for patches."""
        return bool(self.previous or self.prefixes or self.suffixes or self.is_generated)

    def take_metadata(self, old: Built) -> None:
        """Take name, namespace, labels, annotations and history of the object that this one
        replaces."""
        for field in ("labels", "annotations"):
            merged = {**text_map(old.metadata.get(field)), **text_map(self.metadata.get(field))}
            self.metadata.pop(field, None)
            if merged:
                self.metadata[field] = dict(sorted(merged.items()))
        self.metadata["name"] = old.name
        self.metadata.pop("namespace", None)
        if old.namespace:
            self.metadata["namespace"] = old.namespace
        self.is_hashed = self.is_hashed and old.is_hashed
        self.previous = list(old.previous)
        self.prefixes, self.suffixes = list(old.prefixes), list(old.suffixes)
        self.behaviour, self.is_generated = old.behaviour, old.is_generated
        self.variables = list(old.variables)


def text_map(value: Any) -> dict[str, str]:
    """A map of texts, with other scalars as the text that YAML has for them."""
    if not isinstance(value, dict):
        return {}
    return {str(key): as_text(item) for key, item in value.items()}


def as_text(value: Any) -> str:
    """A scalar as text."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


class BuiltSet:
    """The objects of a build in their order. No two have the same identity."""

    def __init__(self, items: Iterable[Built] = ()) -> None:
        self.items = list(items)

    def __iter__(self) -> Iterator[Built]:
        return iter(self.items)

    def append(self, item: Built) -> None:
        """Raises KustomizeError if there is an object of the same identity."""
        if self.matching_now(item.identity):
            raise KustomizeError(f"{item.identity} is there twice")
        if len(self.items) >= MAX_OBJECTS:
            raise KustomizeError(f"more than {MAX_OBJECTS} objects")
        self.items.append(item)

    def extend(self, items: Iterable[Built]) -> None:
        for item in items:
            self.append(item)

    def matching_now(self, wanted: Identity) -> list[Built]:
        return [item for item in self.items if wanted.matches(item.identity)]

    def matching(self, holds: Callable[[Identity], bool]) -> list[Built]:
        """The objects for which this holds now or held earlier."""
        return [item for item in self.items if any(map(holds, item.identities()))]

    def only(self, wanted: Identity) -> Built:
        """The object that has or had this identity; raises KustomizeError."""
        found = self.matching(wanted.matches)
        if len(found) != 1:
            problem = "nothing is" if not found else "several objects are"
            raise KustomizeError(f"a patch is for {wanted}, but {problem} called that")
        return found[0]

    def absorb(self, generated: Built) -> None:
        """Add a generated object, or merge it into the one of that identity; raises
        KustomizeError."""
        wanted = generated.identity
        found = self.matching(wanted.matches)
        if not found:
            if generated.behaviour in ("merge", "replace"):
                raise KustomizeError(
                    f"{wanted} cannot be generated with behavior {generated.behaviour}: it does"
                    " not exist"
                )
            self.append(generated)
            return
        if len(found) > 1:
            raise KustomizeError(f"several objects are called {wanted}")
        behaviour = generated.behaviour
        if behaviour not in ("merge", "replace"):
            raise KustomizeError(
                f"{wanted} exists: its generator needs the behavior merge or replace"
            )
        old = found[0]
        generated.take_metadata(old)
        if behaviour == "merge":
            for field in ("data", "binaryData"):
                merged = {**text_map(old.value.get(field)), **text_map(generated.value.get(field))}
                if merged:
                    generated.value[field] = merged
        self.items[self.items.index(old)] = generated

    def select(self, selector: Selector) -> list[Built]:
        return [item for item in self.items if selector.matches(item)]


class Selector:
    """A selector of patches and replacements: regular expressions that match whole names, and
    label selectors."""

    def __init__(self, fields: Object, where: str) -> None:
        group, version = str(fields.get("group") or ""), str(fields.get("version") or "")
        self.kind = tuple(
            _expression(text, where) for text in (group, version, str(fields.get("kind") or ""))
        )
        self.name = _expression(str(fields.get("name") or ""), where)
        self.namespace = _expression(str(fields.get("namespace") or ""), where)
        self.labels = _requirements(fields.get("labelSelector"), where)
        self.annotations = _requirements(fields.get("annotationSelector"), where)
        self.names_object = any(fields.get(key) for key in _OBJECT_FIELDS)
        self.names_marks = bool(fields.get("labelSelector") or fields.get("annotationSelector"))

    def matches(self, item: Built) -> bool:
        """Whether the object is selected, by its present name and namespace or its first."""
        now, first = item.identity, item.original
        return (
            any(_fits(self.namespace, space) for space in (first.space, now.space))
            and any(_fits(self.name, name) for name in (first.name, now.name))
            and self.fits_kind(item.value, now.kind.kind)
            and self.fits_marks(item)
        )

    def fits_kind(self, value: Object, kind: str) -> bool:
        group, slash, version = str(value.get("apiVersion") or "").partition("/")
        if not slash:
            group, version = "", group
        return all(map(_fits, self.kind, (group, version, kind)))

    def fits_identity(self, item: Built, identity: Identity) -> bool:
        return (
            self.fits_kind(item.value, identity.kind.kind)
            and _fits(self.name, identity.name)
            and _fits(self.namespace, identity.namespace)
        )

    def fits_marks(self, item: Built) -> bool:
        labels = text_map(item.metadata.get("labels"))
        annotations = text_map(item.metadata.get("annotations"))
        return all(rule.matches(labels) for rule in self.labels) and all(
            rule.matches(annotations) for rule in self.annotations
        )


_OBJECT_FIELDS = ("group", "version", "kind", "name", "namespace")


def _fits(expression: re.Pattern[str] | None, text: str) -> bool:
    return expression is None or expression.fullmatch(text) is not None


def _expression(text: str, where: str) -> re.Pattern[str] | None:
    if not text:
        return None
    try:
        return re.compile(text)
    except re.error as error:
        raise KustomizeError(f"{where}: {text!r} is no regular expression: {error}") from None


def _requirements(text: Any, where: str) -> tuple[Any, ...]:
    if not text:
        return ()
    try:
        return tuple(selection.parse_labels(str(text)))
    except selection.SelectorError as error:
        raise KustomizeError(f"{where}: {error}") from None
