"""Tolerations: which of two tolerates more, and how two lists become one."""

from __future__ import annotations

from fairlead.admission.plugins.base import Object


def merged(first: list[Object], second: list[Object]) -> list[Object]:
    """Both lists in their order, without what another one covers."""
    every = first + second
    kept: list[Object] = []
    for index, toleration in enumerate(every):
        if any(covers(other, toleration) for other in kept):
            continue
        later = every[index + 1 :]
        if any(other != toleration and covers(other, toleration) for other in later):
            continue
        kept.append(toleration)
    return kept


def covers(wide: Object, narrow: Object) -> bool:
    """Whether whatever `narrow` tolerates, `wide` tolerates too."""
    if wide == narrow:
        return True
    key, operator = wide.get("key", ""), wide.get("operator", "")
    if narrow.get("key", "") != key and not (key == "" and operator == "Exists"):
        return False
    effect = wide.get("effect", "")
    if effect not in ("", narrow.get("effect", "")):
        return False
    if effect == "NoExecute" and not _lasts_as_long(wide, narrow):
        return False
    if operator == "Exists":
        return True
    same_value = narrow.get("value", "") == wide.get("value", "")
    return operator in ("", "Equal") and narrow.get("operator", "") == "Equal" and same_value


def _lasts_as_long(wide: Object, narrow: Object) -> bool:
    seconds, needed = wide.get("tolerationSeconds"), narrow.get("tolerationSeconds")
    return seconds is None or (needed is not None and needed <= seconds)
