"""Chooses the representation of a response from the Accept header."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from fairlead.api.dialect_hint import with_hint
from fairlead.base.caches import BoundedCache
from fairlead.base.dialect import Dialect
from fairlead.base.errors import StatusError, not_acceptable
from fairlead.resources.registry import Resource

JSON, YAML = "application/json", "application/yaml"
_ANY, _ANY_TEXT = ("*/*", ""), "application/*"
_TABLE_VERSIONS: Final[tuple[str, ...]] = ("v1", "v1beta1")
_TOKEN: Final = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_PARAMETER: Final = re.compile(rf'\s*;\s*({_TOKEN})\s*=\s*(?:{_TOKEN}|"(?:\\.|[^"\\])*")')
_STREAMS: Final[tuple[str, ...]] = ("", "watch")


@dataclass(frozen=True, slots=True)
class Representation:
    """The form of a response: media type, layout, and conversion to a Table or to metadata only."""

    media_type: str = JSON
    pretty: bool = False
    transform: str = ""  # "", Table, PartialObjectMetadata or PartialObjectMetadataList
    version: str = ""

    @property
    def is_plain(self) -> bool:
        return self is PLAIN_JSON or self == PLAIN_JSON


PLAIN_JSON: Final = Representation()
PRETTY_JSON: Final = Representation(pretty=True)

ITEM, LIST, NOTHING = "PartialObjectMetadata", "PartialObjectMetadataList", ""


@dataclass(frozen=True, slots=True)
class _Clause:
    media_type: str
    parameters: dict[str, str]
    quality: float


_MAX_CLAUSES: Final = 64  # of an Accept header; the rest is ignored


def clauses(accept: str) -> tuple[_Clause, ...]:
    parsed = []
    for part in accept.split(",", _MAX_CLAUSES)[:_MAX_CLAUSES]:
        media_type, *rest = (piece.strip() for piece in part.split(";"))
        parameters = {p.partition("=")[0].strip(): p.partition("=")[2].strip() for p in rest}
        try:
            quality = float(parameters.pop("q", "1"))
        except ValueError:
            quality = 1.0
        if media_type:
            parsed.append(_Clause(media_type, parameters, quality))
    return tuple(sorted(parsed, key=lambda clause: -clause.quality))


def media_types(dialect: Dialect) -> tuple[str, ...]:
    return (JSON, YAML, dialect.protobuf_media_type)


def declared_type(content_type: str) -> str:
    """The lower-case media type of a Content-Type header. A malformed header is returned whole, so
    that it matches no media type."""
    if content_type in ("", JSON):
        return content_type
    named, _, _ = content_type.partition(";")
    place, names = len(named), set[str]()
    while found := _PARAMETER.match(content_type, place):
        place = found.end()
        name = found[1].lower()
        if name in names:
            return content_type
        names.add(name)
    unread = content_type[place:].strip() not in ("", ";")
    return content_type if unread or not named.strip() else named.strip().lower()


def accepts_any(accept: str, offered: Sequence[str]) -> bool:
    """Whether an Accept header matches one of the media types that a path offers."""
    known = ("*/*", *offered)
    return not accept or any(clause.media_type in known for clause in clauses(accept))


def no_representation(offered: Iterable[str]) -> StatusError:
    """The 406 error for a path that offers none of the accepted media types."""
    listed = f"Available representations: {', '.join(offered)}"
    return StatusError(406, "NotAcceptable", f"406: Not Acceptable\n\n{listed}", details={})


def _written(dialect: Dialect, streams: bool) -> tuple[str, ...]:
    known = media_types(dialect)
    if streams:
        known += (f"{JSON};stream=watch", f"{dialect.protobuf_media_type};stream=watch")
    return known


class _Offer(NamedTuple):
    """The forms that a path supports; see the parameters of `negotiate`."""

    partial: str
    streams: bool
    tables: bool
    binary: bool
    routed: bool


_LONGEST_ACCEPT: Final = 512
_known: Final[BoundedCache[tuple[str, str, _Offer], Representation]] = BoundedCache(
    longest=_LONGEST_ACCEPT
)


def _negotiate(dialect: Dialect, accept: str, offer: _Offer) -> Representation:
    key = (dialect.name, accept, offer)
    known = _known.get(key)
    if known is None:
        known = _choose(dialect, accept, offer)
        _known.keep(key, known, len(accept))
    return known


def _choose(dialect: Dialect, accept: str, offer: _Offer) -> Representation:
    found = clauses(accept)
    transforms = bool(offer.partial)
    screened = transforms and offer.routed
    if screened and not accepts_any(accept, media_types(dialect)):
        raise with_hint(dialect, accept, no_representation(_written(dialect, offer.streams)))
    for clause in found:
        any_type = clause.media_type in _ANY or (clause.media_type == _ANY_TEXT and not screened)
        media_type = JSON if any_type else clause.media_type
        if media_type not in media_types(dialect):
            continue
        pretty = clause.parameters.get("pretty", "0") not in ("0", "false", "")
        plain = Representation(media_type, pretty)
        if clause.parameters.get("stream", "") not in _STREAMS:
            continue
        wanted = clause.parameters.get("as", "")
        if not wanted and (clause.parameters.get("g") or clause.parameters.get("v")):
            continue
        if not wanted and not offer.binary and media_type == dialect.protobuf_media_type:
            continue
        if not wanted:
            return PLAIN_JSON if plain == PLAIN_JSON else plain
        version = clause.parameters.get("v", "")
        if not transforms or clause.parameters.get("g") != dialect.meta_group:
            continue
        in_text = media_type in (JSON, YAML)
        if wanted == "Table" and offer.tables and version in _TABLE_VERSIONS and in_text:
            return replace(plain, transform=wanted, version=version)
        if wanted in (ITEM, LIST) and version in _TABLE_VERSIONS:
            return replace(plain, transform=wanted, version=version)
    raise with_hint(dialect, accept, not_acceptable(media_types(dialect)))


def negotiate(
    dialect: Dialect,
    accept: str,
    pretty: str | None,
    user_agent: str,
    partial: str = NOTHING,
    *,
    streams: bool = False,
    tables: bool = True,
    binary: bool = True,
    routed: bool = True,
) -> Representation:
    """The representation of the answer; raises 406 if there is none. `partial` is the metadata-only
    kind that the path supports; with it, `tables` says whether the path supports Tables, too.
    `streams`: the path supports watches. `binary`: objects have a protobuf form. `routed`: media
    types are checked before the handler, as for built-in kinds."""
    representation = PLAIN_JSON
    if accept and accept not in (JSON, "*/*"):
        offer = _Offer(partial, streams, tables, binary, routed)
        representation = _negotiate(dialect, accept, offer)
    if pretty is None and user_agent[:4] not in ("curl", "Wget", "Mozi"):
        return representation
    if pretty is None or pretty not in ("0", "false"):
        return PRETTY_JSON if representation is PLAIN_JSON else replace(representation, pretty=True)
    return representation


def for_errors(dialect: Dialect, accept: str, pretty: str | None, agent: str) -> Representation:
    """The representation of an error: a plain form that the client accepts, else JSON. Tables and
    metadata-only forms do not apply to errors."""
    try:
        return negotiate(dialect, accept, pretty, agent)
    except StatusError:
        return PRETTY_JSON


def check_partial(resource: Resource, shown: Representation, partial: str) -> None:
    """406 if the metadata of an item is requested from a list, or that of a list from an item."""
    if shown.transform not in (ITEM, LIST) or shown.transform == partial:
        return
    kind = f"{resource.body_version.partition('/')[0]}.{resource.kind}"
    if resource.main.custom is not None:
        kind = "unstructured.Unstructured"
    shape = f"is a list (*{kind}List)" if partial == LIST else f"is not a list (*{kind})"
    why = f"you requested {shown.transform}, but the requested object {shape}"
    raise StatusError(406, "NotAcceptable", why)


def check_watch(dialect: Dialect, representation: Representation) -> None:
    """406 for YAML: watches are streams of JSON or protobuf."""
    if representation.media_type == YAML:
        raise StatusError(
            406,
            "NotAcceptable",
            "only the following media types are accepted: application/json;stream=watch,"
            f" {dialect.protobuf_media_type};stream=watch",
        )
