"""Durations on the command line of clients: `5s`, `1m30s`, and a bare number of seconds."""

from __future__ import annotations

import argparse
import re


def seconds(text: str) -> float:
    """For the `type` of a flag."""
    from fairlead.codec.types.times import DurationError, parse_duration

    bare = re.fullmatch(r"-?[0-9]+", text)
    try:
        return parse_duration(f"{text}s" if bare else text)
    except DurationError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
