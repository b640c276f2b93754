"""Remembering that a configuration changed nothing.

Controllers apply the same configuration again and again. What changed nothing in one version of an
object changes nothing in it the next time either, so that the answer is that version.
"""

from __future__ import annotations

from collections import OrderedDict

from fairlead.storage.version import Version

MOST_KEPT = 2048
MOST_BYTES = 64 * 1024

# Everything that an apply depends on but the object: resource, key, manager, force, how strictly
# fields are checked, and the body.
Question = tuple[str, str, str, bool, str, bytes]


class KnownApplies:
    """The newest no-op applies and the version of the object that each was tried on."""

    def __init__(self) -> None:
        self._revisions: OrderedDict[Question, int] = OrderedDict()

    def changes_nothing(self, question: Question, entry: Version) -> bool:
        return self._revisions.get(question) == entry.revision

    def remember(self, question: Question, entry: Version) -> None:
        if len(question[-1]) > MOST_BYTES:
            return
        self._revisions[question] = entry.revision
        self._revisions.move_to_end(question)
        if len(self._revisions) > MOST_KEPT:
            self._revisions.popitem(last=False)
