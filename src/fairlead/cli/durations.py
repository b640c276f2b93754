"""Durations in client flags: `5s`, `1m30s`, or a bare number of seconds."""

from __future__ import annotations

import argparse
import re


def seconds(text: str) -> float:
    """Argparse `type` of duration flags."""
    from fairlead.codec.types.times import DurationError, parse_duration

    bare = re.fullmatch(r"-?[0-9]+", text)
    try:
        return parse_duration(f"{text}s" if bare else text)
    except DurationError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
