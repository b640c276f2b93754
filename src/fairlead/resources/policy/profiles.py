"""Checks the annotations in which a PodSecurityPolicy names AppArmor and seccomp profiles."""

from __future__ import annotations

from fairlead.resources.causes import Causes, quote
from fairlead.resources.context import Context

APPARMOR = "apparmor.security.beta.@"
SECCOMP = "seccomp.security.alpha.@"
LOCAL = "localhost/"
ANY_PROFILE = "*"


def check_profile_annotations(
    annotations: dict[str, str], causes: Causes, context: Context
) -> None:
    def given(name: str) -> tuple[str, str]:
        key = context.dialect.label(name)
        return f"metadata.annotations[{key}]", annotations.get(key, "")

    path, profile = given(f"{APPARMOR}/defaultProfileName")
    if profile and not _is_apparmor(profile):
        causes.invalid(path, profile, f"invalid AppArmor profile name: {quote(profile)}")
    path, profiles = given(f"{APPARMOR}/allowedProfileNames")
    for profile in profiles.split(","):
        if not _is_apparmor(profile):
            causes.invalid(path, profiles, f"invalid AppArmor profile name: {quote(profile)}")
    path, profile = given(f"{SECCOMP}/defaultProfileName")
    if profile:
        _check_seccomp(profile, path, causes)
    path, profiles = given(f"{SECCOMP}/allowedProfileNames")
    for profile in profiles.split(",") if profiles else ():
        if profile != ANY_PROFILE:
            _check_seccomp(profile, path, causes)


def _is_apparmor(profile: str) -> bool:
    return profile in ("", "runtime/default", "unconfined") or profile.startswith(LOCAL)


def _check_seccomp(profile: str, path: str, causes: Causes) -> None:
    if profile in ("runtime/default", "docker/default", "unconfined"):
        return
    if not profile.startswith(LOCAL):
        causes.invalid(path, profile, "must be a valid seccomp profile")
        return
    file = profile.removeprefix(LOCAL)
    if file.startswith("/"):
        causes.invalid(path, file, "must be a relative path")
    if ".." in file.split("/"):
        causes.invalid(path, file, "must not contain '..'")
