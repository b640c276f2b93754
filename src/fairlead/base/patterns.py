"""Regular expressions from clients, matched in linear time by RE2."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import re2  # type: ignore[import-untyped]

from fairlead.base.caches import memoized

_OPTIONS = re2.Options()
_OPTIONS.log_errors = False

# The reference's messages for errors of RE2.
_MESSAGES = {
    "missing ]": "missing closing ]",
    "missing )": "missing closing )",
    "no argument for repetition operator": "missing argument to repetition operator",
    "bad repetition operator": "invalid nested repetition operator",
    "trailing \\": "trailing backslash at end of expression",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid repetition size": "invalid repeat count",
    "invalid named capture group": "invalid named capture",
    "pattern too large - compile failed": "expression too large",
}
_MAX_SHOWN_LENGTH = 1000
# RE2 compiles optional parts in quadratic time, and holds the interpreter lock meanwhile.
_MAX_OPTIONAL_PARTS = 2000
_TOKEN = re.compile(
    r"\\[\s\S]"  # an escaped character
    r"|\[\^?\]?(?:\\[\s\S]|\[:\^?\w+:\]|[^\]\\])*\]"  # a class of characters
    r"|\(\?(?:P?<\w*>|[a-zA-Z-]*[:)]?)"  # the beginning of a group with flags or a name
    r"|\{(\d{1,9})(,?)(\d{0,9})\}"
    r"|[\s\S]"
)


class PatternError(ValueError):
    """A text that is not a valid regular expression; the message says why."""


@memoized(1024)
def compiled(pattern: str) -> Any:
    """Compile a pattern; raises PatternError."""
    may_be_large = "{" in pattern or len(pattern) > _MAX_OPTIONAL_PARTS
    if may_be_large and _optional_parts(pattern) > _MAX_OPTIONAL_PARTS:
        raise PatternError(_explain("pattern too large - compile failed"))
    try:
        return re2.compile(pattern, _OPTIONS)
    except (re2.error, UnicodeError) as error:
        raise PatternError(_explain(error.args[0])) from None


def compiled_within(pattern: str, most_bytes: int) -> Any:
    """Compile a pattern with its own memory limit, without caching it; raises PatternError."""
    options = re2.Options()
    options.log_errors, options.max_mem = False, most_bytes
    if _optional_parts(pattern) > _MAX_OPTIONAL_PARTS:
        raise PatternError(_explain("pattern too large - compile failed"))
    try:
        return re2.compile(pattern, options)
    except (re2.error, UnicodeError) as error:
        raise PatternError(_explain(error.args[0])) from None


def matcher(pattern: str) -> Callable[[str], bool]:
    """Return a function that searches a text for the pattern. An invalid pattern matches nothing.
    Compiled on first use."""
    search: Callable[[str], bool] | None = None

    def matches(text: str) -> bool:
        nonlocal search
        if search is None:
            search = searcher(pattern)
        return search(text)

    return matches


@memoized(1024)
def searcher(pattern: str) -> Callable[[str], bool]:
    """Like `matcher`, compiled at once. A set of one pattern matches at a sixth of the cost,
    because it does not compute the position. It may run out of memory, which looks like no match;
    then the plain search decides."""
    try:
        search = compiled(pattern).search
    except PatternError:
        return lambda _: False
    quick = re2.Set.SearchSet(_OPTIONS)
    try:
        quick.Add(pattern)
        quick.Compile()
    except re2.error:  # too large for a set
        return lambda text: search(text) is not None
    match = quick.Match
    return lambda text: match(text) is not None or search(text) is not None


def _optional_parts(pattern: str) -> int:
    """How many parts of a pattern may be absent, after counted repetitions are written out."""
    groups, last = [0], 0  # the parts of all open groups; those of the last atom
    for token in _TOKEN.finditer(pattern):
        text = token[0]
        if text[0] == "(" and not text.endswith(")"):
            groups.append(0)
            last = 0
        elif text == ")" and len(groups) > 1:
            last = groups.pop()
            groups[-1] += last
        elif text in ("?", "*"):
            groups[-1] += 1
            last += 1
        elif token[1]:
            least = int(token[1])
            most = int(token[3] or least + (token[2] == ","))
            added = last * (most - 1) + most - least
            groups[-1] += added
            last += added
        elif text != "+":
            last = 0
    return sum(groups)


def _explain(error: object) -> str:
    text = error.decode("utf-8", "replace") if isinstance(error, bytes) else str(error)
    message, _, where = text.partition(": ")
    return f"error parsing regexp: {_MESSAGES.get(message, message)}: `{where[:_MAX_SHOWN_LENGTH]}`"
