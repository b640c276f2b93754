"""Reads parts of the metadata in a stored body without parsing all of it.

A body is written by `fairlead.storage.version.encode`: compact JSON, the metadata first, its fields
in a fixed order. Bodies of another form are parsed as a whole.
"""

from __future__ import annotations

import re
from typing import Any, Final

import orjson

_OPENING: Final = b'"metadata":'
METADATA_START: Final = len(_OPENING)

_STRING: Final = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_NUMBER: Final = rb"[0-9]++"
_STRING_MAP: Final = rb"\{(?:%b:%b,?+)*+\}" % (_STRING, _STRING)
_LIST: Final = rb'\[(?:[^]"]++|%b)*+\]' % _STRING
_FIELDS_BEFORE_LISTS = (
    *((name, _STRING) for name in (b"name", b"generateName", b"namespace", b"uid")),
    *((b"resourceVersion", _STRING), (b"generation", _NUMBER), (b"creationTimestamp", _STRING)),
    *((b"deletionTimestamp", _STRING), (b"deletionGracePeriodSeconds", _NUMBER)),
    *((b"labels", _STRING_MAP), (b"annotations", _STRING_MAP)),
)
_BEFORE_LISTS: Final = rb'"metadata":\{' + b"".join(
    rb'(?:"%b":%b,?+)?+' % field for field in _FIELDS_BEFORE_LISTS
)
_GENERATION: Final = re.compile(
    rb'"metadata":\{'
    + b"".join(rb'(?:"%b":%b,?+)?+' % field for field in _FIELDS_BEFORE_LISTS[:5])
    + rb'"generation":(%b)' % _NUMBER
)
# Matches metadata up to its end, or up to the content of managedFields, its last list. The groups
# are ownerReferences and finalizers.
_MANAGED: Final = b'"managedFields":['
_BEGINNING: Final = re.compile(
    _BEFORE_LISTS
    + rb'(?:"ownerReferences":(%b),?)?(?:"finalizers":(%b),?)?' % (_LIST, _LIST)
    + rb"(?:\}|%b)" % re.escape(_MANAGED)
)
_AFTER_STRING, _BRACE = b",:]}", b"}"[0]
# Around the set of an entry of managedFields, which is always encoded in the same order of fields.
_SET: Final = b',"fieldsType":"FieldsV1","fieldsV1":'
_NEXT, _SUBRESOURCE = b'},{"manager":"', b',"subresource":"'
_NEXT_ENTRY: Final = b'},{"'  # not in a set, which has no lists, except at the end of a name
_NULL: Final = b"null"
MIN_CUT_BYTES: Final = 1024  # bytes of managedFields; parsing fewer is faster than cutting them


def generation(body: bytes) -> int:
    """Return metadata.generation, 0 without one."""
    match = _GENERATION.match(body)
    if match is not None:
        return int(match[1])
    number: int = orjson.loads(b"{" + body)["metadata"].get("generation") or 0
    return number


def metadata_end(body: bytes) -> int:
    """Return the offset where the metadata ends; it begins at METADATA_START."""
    return _bounds(body)[1]


def without_managed_fields(body: bytes) -> tuple[bytes, int]:
    """Return a body without managedFields, often half of it, and the end of its metadata."""
    managed, end = _bounds(body)
    if managed == end:
        return body, end
    return b"%b}%b" % (body[:managed].removesuffix(b","), body[end:]), end


def without_field_sets(body: bytes) -> tuple[bytes, list[bytes]]:
    """Return a body with null in place of the set of each entry of managedFields, and the sets.
    Returns the body itself and no sets if managedFields are short. The caller must check that each
    entry of the parsed metadata has a null: the managedFields may be those of a template, and a
    name in a set may look like the text between two sets."""
    start = body.find(_MANAGED) + len(_MANAGED)
    end = _end_after(body, start) - 2  # before the end of the list and of the metadata
    if start < len(_MANAGED) or end - start < MIN_CUT_BYTES:
        return body, []
    parts: list[bytes] = []
    sets: list[bytes] = []
    copied = 0
    position = body.find(_SET, start, end)
    while position >= 0:
        start = position + len(_SET)
        position = body.find(_SET, start, end)
        stop = body.rfind(_NEXT, start, position) if position >= 0 else end - 1
        if stop >= 0 and body[stop - 1] != _BRACE:
            stop = body.rfind(_SUBRESOURCE, start, stop)
        if stop < 0 or body.find(_NEXT_ENTRY, start, stop) >= 0:  # an entry without a set
            return body, []
        parts += (body[copied:start], _NULL)
        sets.append(body[start:stop])
        copied = stop
    return b"".join((*parts, body[copied:])), sets


def owner_references(body: bytes) -> list[dict[str, Any]]:
    return _list(body, "ownerReferences", 1)


def finalizers(body: bytes) -> list[str]:
    return _list(body, "finalizers", 2)


def _list(body: bytes, name: str, group: int) -> list[Any]:
    """Return a list of the metadata, which is a group of _BEGINNING; empty without one."""
    beginning = _BEGINNING.match(body)
    if beginning is None:
        return orjson.loads(b"{" + body)["metadata"].get(name) or []
    encoded: bytes | None = beginning[group]
    return orjson.loads(encoded) if encoded is not None else []


def _bounds(body: bytes) -> tuple[int, int]:
    """Return the offsets of managedFields and of the end of the metadata; both are the end if there
    are no managedFields."""
    beginning = _BEGINNING.match(body)
    if beginning is None:
        end = _end_by_parsing(body)
        return end, end
    end_of_match = beginning.end()
    if not body.endswith(_MANAGED, 0, end_of_match):
        return end_of_match, end_of_match
    end = _end_after(body, end_of_match)
    return end_of_match - len(_MANAGED), end if end > 0 else _end_by_parsing(body)


def _end_after(body: bytes, start: int) -> int:
    """Return the end of the metadata, whose last field is managedFields. `start` is the offset of
    the first entry. Returns 0 if the end can only be found by parsing."""
    end = body.find(b"]", start) + 2
    # The first "]" ends managedFields unless an entry contains a list or a string with "]". After
    # the end comes a key. After a "]" in a string, the next quote ends the string, and what follows
    # is no key.
    ends = body.startswith(b',"', end) and body[end + 2] not in _AFTER_STRING
    if (ends or end + 1 == len(body)) and body[end - 1] == _BRACE and b"[" not in body[start:end]:
        return end
    return 0


def _end_by_parsing(body: bytes) -> int:
    return METADATA_START + len(orjson.dumps(orjson.loads(b"{" + body)["metadata"]))
