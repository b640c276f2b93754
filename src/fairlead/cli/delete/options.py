"""Deletion options: the flags of `delete` and of other commands that delete."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fairlead.cli.arguments import ArgumentReader, Options
from fairlead.cli.errors import CommandError, UsageError
from fairlead.cli.invocation import Screen
from fairlead.cli.write_options import seconds_of

_POLICIES = {"background": "Background", "foreground": "Foreground", "orphan": "Orphan"}
_OLD_POLICIES = {"true": "background", "false": "orphan"}
_DEFAULT_GRACE = -1


@dataclass(frozen=True, slots=True)
class Deletion:
    """`grace` is in seconds, None for the default of the object. `timeout` is None for no limit."""

    policy: str
    grace: int | None = None
    forced: bool = False
    waits: bool = True
    timeout: float | None = None

    def options(self, dry_run: bool = False) -> dict[str, Any]:
        """The DeleteOptions of a request."""
        body: dict[str, Any] = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "propagationPolicy": self.policy,
        }
        if self.grace is not None:
            body["gracePeriodSeconds"] = self.grace
        return {**body, "dryRun": ["All"]} if dry_run else body

    @property
    def word(self) -> str:
        return "force deleted" if self.forced else "deleted"


def add_deletion_flags(parser: ArgumentReader, waits: bool, with_force: bool = True) -> None:
    parser.add_choice(
        "--cascade",
        bare="background",
        metavar="=background|foreground|orphan",
        default="background",
        help="what happens to dependents of a deleted object",
    )
    parser.add_argument(
        "--grace-period",
        metavar="SECONDS",
        default=str(_DEFAULT_GRACE),
        help="seconds for pods to end; negative uses each pod's own, 0 needs --force",
    )
    if with_force:
        parser.add_switch("--force", help="delete at once, without waiting for running containers")
    parser.add_switch("--wait", default=waits, help="wait until the objects are deleted")
    parser.add_argument(
        "--timeout", metavar="DURATION", default="0s", help="how long to wait; 0s waits for ever"
    )


def deletion_of(options: Options, screen: Screen, forced: bool = False) -> Deletion:
    """Parse the deletion flags; raises CommandFailed and UsageError."""
    grace = _number(options.grace_period)
    if getattr(options, "now", False):
        if grace != _DEFAULT_GRACE:
            raise CommandError("--now is a grace period of 1 s: leave out --grace-period")
        grace = 1
    if forced and grace > 0:
        raise CommandError("--force needs a grace period of 0: leave out --grace-period")
    if forced:
        grace = 0
    elif grace == 0:
        grace = 1  # only --force may remove an object whose containers may still run
    timeout = seconds_of(options.timeout, "--timeout")
    return Deletion(
        _policy(options.cascade, screen),
        None if grace < 0 else grace,
        forced,
        bool(options.wait),
        timeout if timeout > 0 else None,
    )


def _number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise UsageError(
            f'invalid argument "{text}" for "--grace-period" flag: strconv.ParseInt: parsing'
            f' "{text}": invalid syntax'
        ) from None


def _policy(text: str, screen: Screen) -> str:
    if text in _OLD_POLICIES:
        new = _OLD_POLICIES[text]
        screen.warn(f"warning: --cascade={text} is an old spelling of --cascade={new}")
        text = new
    if text not in _POLICIES:
        raise CommandError(
            f"--cascade={text} is unknown: it takes background, foreground or orphan"
        )
    return _POLICIES[text]
