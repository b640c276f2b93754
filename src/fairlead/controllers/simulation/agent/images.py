"""Images that are never pulled: their full names, and attempts that fail."""

from __future__ import annotations

import hashlib

from fairlead.base.caches import remembered

_FIRST_PAUSE, _LONGEST_PAUSE = 10.0, 300.0
_TRYING = 2.0  # seconds that a failed attempt is shown as such


def pause_before(attempt: int) -> float:
    """The seconds between an attempt (the first is 0) and the next one."""
    return min(_FIRST_PAUSE * float(1 << min(attempt, 10)), _LONGEST_PAUSE)


def pull_attempt(elapsed: float) -> tuple[bool, float]:
    """Whether, so many seconds after the first attempt, one has just failed (and no pause goes on
    yet), and after how many seconds that changes."""
    attempt, began = 0, 0.0
    while elapsed >= began + pause_before(attempt):
        began += pause_before(attempt)
        attempt += 1
        if pause_before(attempt) == _LONGEST_PAUSE:  # from here on they are all alike
            began += (elapsed - began) // _LONGEST_PAUSE * _LONGEST_PAUSE
            break
    if elapsed < began + _TRYING:
        return True, began + _TRYING - elapsed
    return False, began + pause_before(attempt) - elapsed


@remembered(1024)
def full_name(image: str) -> str:
    """An image with its registry and tag: `nginx` is `docker.io/library/nginx:latest`."""
    first, slash, _ = image.partition("/")
    if not slash:
        image = f"docker.io/library/{image}"
    elif not any(sign in first for sign in ".:") and first != "localhost":
        image = f"docker.io/{image}"
    return image if "@" in image or ":" in image.rpartition("/")[2] else f"{image}:latest"


@remembered(1024)
def image_id(image: str) -> str:
    """What an image is told apart by: by its content, if there were one."""
    name = full_name(image)
    if "@" in name:
        return name
    repository = name.rpartition(":")[0]
    return f"{repository}@sha256:{hashlib.sha256(name.encode()).hexdigest()}"
