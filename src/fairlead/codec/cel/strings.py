"""Functions of strings; indexes and lengths count code points."""

from __future__ import annotations

from fairlead.codec.cel.arithmetic import Implementations
from fairlead.codec.cel.errors import CostExceeded, EvaluationError

MAX_RESULT_LENGTH = 4_000_000  # characters that one call may produce
_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    map(chr, range(0x2000, 0x200B))
)
_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_UPPER = {code + 32: code for code in _LOWER}


def _out_of_range(index: int) -> EvaluationError:
    return EvaluationError(f"index out of range: {index}")


def _char_at(text: str, index: int) -> str:
    if not 0 <= index <= len(text):
        raise _out_of_range(index)
    return text[index : index + 1]


def _index_of(text: str, part: str, start: int = 0) -> int:
    """An empty part is found at the start of the search. Any other part needs a start before the
    end of the text, so that a search in an empty text raises."""
    if not part:
        return start
    if not 0 <= start < len(text):
        raise _out_of_range(start)
    return text.find(part, start)


def _last_index_of(text: str, part: str, last: int | None = None) -> int:
    if not part:
        return len(text) if last is None else last
    if last is None:
        last = len(text) - 1
    if not 0 <= last < len(text):
        raise _out_of_range(last)
    return text.rfind(part, 0, last + len(part))


def _join(parts: list[str], separator: str = "") -> str:
    if sum(map(len, parts)) + len(separator) * len(parts) > MAX_RESULT_LENGTH:
        raise CostExceeded
    return separator.join(parts)


def _replace(text: str, old: str, new: str, count: int = -1) -> str:
    if count == 0 or old == new:
        return text
    if len(new) > len(old):
        occurrences = text.count(old) if count < 0 else min(count, text.count(old))
        if len(text) + occurrences * (len(new) - len(old)) > MAX_RESULT_LENGTH:
            raise CostExceeded
    return text.replace(old, new, count)


def _split(text: str, separator: str, count: int = -1) -> list[str]:
    if count == 0:
        return []
    if separator:
        return text.split(separator, count - 1 if count > 0 else -1)
    if count < 0 or count >= len(text):
        return list(text)
    return [*text[: count - 1], text[count - 1 :]]


def _substring(text: str, start: int, end: int | None = None) -> str:
    if end is None:
        if not 0 <= start <= len(text):
            raise _out_of_range(start)
        return text[start:]
    if start > end:
        raise EvaluationError(f"invalid substring range. start: {start}, end: {end}")
    for index in (start, end):
        if not 0 <= index <= len(text):
            raise _out_of_range(index)
    return text[start:end]


STRINGS: Implementations = {
    "contains": {(str, str): str.__contains__},
    "startsWith": {(str, str): str.startswith},
    "endsWith": {(str, str): str.endswith},
    "charAt": {(str, int): _char_at},
    "indexOf": {(str, str): _index_of, (str, str, int): _index_of},
    "lastIndexOf": {(str, str): _last_index_of, (str, str, int): _last_index_of},
    "join": {(list,): _join, (list, str): _join},
    "lowerAscii": {(str,): lambda text: text.translate(_LOWER)},
    "upperAscii": {(str,): lambda text: text.translate(_UPPER)},
    "trim": {(str,): lambda text: text.strip(_SPACE)},
    "replace": {(str, str, str): _replace, (str, str, str, int): _replace},
    "split": {(str, str): _split, (str, str, int): _split},
    "substring": {(str, int): _substring, (str, int, int): _substring},
}
