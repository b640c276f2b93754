"""Reads parts of the metadata in a stored body without parsing all of it.

A body is written by `fairlead.storage.version.encode`: compact JSON, the metadata first, its fields
in a fixed order. Bodies of another form are parsed as a whole.
"""

from __future__ import annotations

import re
from typing import Any

import orjson

_OPENING = b'"metadata":'
METADATA_START = len(_OPENING)

_TEXT = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_NUMBER = rb"[0-9]++"
_TEXTS = rb"\{(?:%b:%b,?+)*+\}" % (_TEXT, _TEXT)
_LIST = rb'\[(?:[^]"]++|%b)*+\]' % _TEXT
_FIELDS_BEFORE_LISTS = (
    *((name, _TEXT) for name in (b"name", b"generateName", b"namespace", b"uid")),
    *((b"resourceVersion", _TEXT), (b"generation", _NUMBER), (b"creationTimestamp", _TEXT)),
    *((b"deletionTimestamp", _TEXT), (b"deletionGracePeriodSeconds", _NUMBER)),
    *((b"labels", _TEXTS), (b"annotations", _TEXTS)),
)
_BEFORE_LISTS = rb'"metadata":\{' + b"".join(
    rb'(?:"%b":%b,?+)?+' % field for field in _FIELDS_BEFORE_LISTS
)
# Matches metadata up to its end, or up to the content of managedFields, its last list. The groups
# are ownerReferences and finalizers.
_MANAGED = b'"managedFields":['
_BEGINNING = re.compile(
    _BEFORE_LISTS
    + rb'(?:"ownerReferences":(%b),?)?(?:"finalizers":(%b),?)?' % (_LIST, _LIST)
    + rb"(?:\}|%b)" % re.escape(_MANAGED)
)
_BEHIND_A_TEXT, _BRACE = b",:]}", b"}"[0]
# Around the set of an entry of managedFields, which is always encoded in the same order of fields.
_SET = b',"fieldsType":"FieldsV1","fieldsV1":'
_NEXT, _SUBRESOURCE = b'},{"manager":"', b',"subresource":"'
_HOLE = b"null"
MIN_CUT = 1024  # bytes of managedFields; parsing fewer is faster than cutting them


def metadata_end(body: bytes) -> int:
    """Return the offset where the metadata ends; it begins at METADATA_START."""
    return _ends(body)[1]


def without_managed_fields(body: bytes) -> tuple[bytes, int]:
    """Return a body without managedFields, often half of it, and the end of its metadata."""
    managed, end = _ends(body)
    if managed == end:
        return body, end
    return b"%b}%b" % (body[:managed].removesuffix(b","), body[end:]), end


def without_field_sets(body: bytes) -> tuple[bytes, list[bytes]]:
    """Return a body with null in place of the set of each entry of managedFields, and the sets.
    There are none if managedFields are short. The caller must check that the parsed entries have as
    many nulls: a name in a set may look like the text around it."""
    found = body.find(_MANAGED)
    if found < 0 or body.find(b"]", found) - found < MIN_CUT:
        return body, []
    managed, end = _ends(body)
    if managed == end:
        return body, []
    end -= 2  # before the end of the list and of the metadata
    parts: list[bytes] = []
    sets: list[bytes] = []
    done = 0
    found = body.find(_SET, managed, end)
    while found >= 0:
        start = found + len(_SET)
        found = body.find(_SET, start, end)
        stop = body.rfind(_NEXT, start, found) if found >= 0 else end - 1
        if stop >= 0 and body[stop - 1] != _BRACE:
            stop = body.rfind(_SUBRESOURCE, start, stop)
        if stop < 0:
            return body, []
        parts += (body[done:start], _HOLE)
        sets.append(body[start:stop])
        done = stop
    return b"".join((*parts, body[done:])), sets


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


def _ends(body: bytes) -> tuple[int, int]:
    """Return the offsets of managedFields and of the end of the metadata; both are the end if there
    are no managedFields."""
    beginning = _BEGINNING.match(body)
    if beginning is None:
        end = _end_by_reading(body)
        return end, end
    at = beginning.end()
    if not body.endswith(_MANAGED, 0, at):
        return at, at
    managed, end = at - len(_MANAGED), body.find(b"]", at) + 2
    # The first "]" ends the list unless the list contains lists, or the "]" is inside a string. In
    # a string, the next quote would close it, and no key could follow.
    ends = body.startswith(b',"', end) and body[end + 2] not in _BEHIND_A_TEXT
    if (ends or end + 1 == len(body)) and body[end - 1] == _BRACE and b"[" not in body[at:end]:
        return managed, end
    return managed, _end_by_reading(body)


def _end_by_reading(body: bytes) -> int:
    return METADATA_START + len(orjson.dumps(orjson.loads(b"{" + body)["metadata"]))
