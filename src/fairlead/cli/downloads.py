"""Reads a file from a URL. A lazy module: the HTTP client of the standard library is large."""

from __future__ import annotations

from http.client import HTTPException
from urllib.error import HTTPError
from urllib.request import urlopen

_SECONDS = 30
_LARGEST_ANSWER = 64 * 1024 * 1024


class DownloadError(Exception):
    """The URL cannot be read."""


def download(url: str) -> str:
    """Raises DownloadError."""
    try:
        with urlopen(url, timeout=_SECONDS) as answer:
            content: bytes = answer.read(_LARGEST_ANSWER + 1)
    except HTTPError as error:
        raise DownloadError(f'"{url}" cannot be read: {error.code} {error.reason}') from None
    except (OSError, HTTPException, ValueError) as error:
        why = getattr(error, "reason", None) or error  # the error that urlopen wraps
        why = getattr(why, "verify_message", None) or getattr(why, "strerror", None) or why
        raise DownloadError(f'unable to read URL "{url}": {why}') from None
    if len(content) > _LARGEST_ANSWER:
        raise DownloadError(f'unable to read URL "{url}": it is too long')
    return content.decode(errors="replace")
