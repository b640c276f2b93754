"""The images of simulated containers, which are never pulled: their names, and when pulls that fail
are tried again."""

from __future__ import annotations

import hashlib

from fairlead.base.caches import memoized

_FIRST_PAUSE, _MAX_PAUSE = 10.0, 300.0
_MISSING_TAGS = ("404", "non-existent")
_TRYING = 2.0  # seconds for which a failed pull is shown as ErrImagePull


def pause_before(attempt: int) -> float:
    """Seconds between an attempt (counted from 0) and the next."""
    return min(_FIRST_PAUSE * float(1 << min(attempt, 10)), _MAX_PAUSE)


def pull_attempt(elapsed: float) -> tuple[bool, float]:
    """Whether the pull back-off, `elapsed` seconds after the first attempt, is in its error phase
    (True) or pause, and the seconds until that changes."""
    attempt, began = 0, 0.0
    while elapsed >= began + pause_before(attempt):
        began += pause_before(attempt)
        attempt += 1
        if pause_before(attempt) == _MAX_PAUSE:  # constant from here on: skip whole periods
            began += (elapsed - began) // _MAX_PAUSE * _MAX_PAUSE
            break
    if elapsed < began + _TRYING:
        return True, began + _TRYING - elapsed
    return False, began + pause_before(attempt) - elapsed


@memoized(1024)
def full_name(image: str) -> str:
    """An image with registry and tag: `nginx` is `docker.io/library/nginx:latest`."""
    first, slash, _ = image.partition("/")
    if not slash:
        image = f"docker.io/library/{image}"
    elif not any(sign in first for sign in ".:") and first != "localhost":
        image = f"docker.io/{image}"
    return image if "@" in image or ":" in image.rpartition("/")[2] else f"{image}:latest"


@memoized(1024)
def missing_image(image: str) -> str:
    """Why an image cannot be pulled; empty if it can. Names say which are missing: those of hosts
    named `invalid`, and those with some tags."""
    name = full_name(image)
    host = name.partition("/")[0].partition(":")[0]
    if "invalid" in host.split("."):
        why = f"failed to do request: dial tcp: lookup {host}: no such host"
    elif name.rpartition(":")[2] in _MISSING_TAGS:
        why = f"{name}: not found"
    else:
        return ""
    return f'failed to pull and unpack image "{name}": failed to resolve reference "{name}": {why}'


@memoized(1024)
def image_id(image: str) -> str:
    """A stable image ID; derived from the name, since there is no content."""
    name = full_name(image)
    if "@" in name:
        return name
    repository = name.rpartition(":")[0]
    return f"{repository}@sha256:{hashlib.sha256(name.encode()).hexdigest()}"
