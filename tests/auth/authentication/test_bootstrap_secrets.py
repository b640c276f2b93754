"""Bootstrap tokens: every rule of their Secret."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest
from support.authentication import run

from fairlead.auth.authentication.bearer import Grant
from fairlead.auth.authentication.bootstrap_tokens import BootstrapTokens
from fairlead.base.dialect import CLUSTER, KUBERNETES

TOKEN = "abcdef.0123456789abcdef"
GOOD = {
    "token-id": "abcdef",
    "token-secret": "0123456789abcdef",
    "usage-bootstrap-authentication": "true",
}


def check(
    token: str = TOKEN,
    *,
    kind: str = "bootstrap.kubernetes.io/token",
    deleted: bool = False,
    wanted: tuple[str, ...] = ("api",),
    **data: str | None,
) -> Grant | None:
    merged = {**GOOD, **{name.replace("_", "-"): value for name, value in data.items()}}
    secret: dict[str, Any] = {
        "metadata": {"deletionTimestamp": "2099-01-01T00:00:00Z"} if deleted else {},
        "type": kind,
        "data": {
            name: b64encode(value.encode()).decode()
            for name, value in merged.items()
            if value is not None
        },
    }

    def lookup(key: str, namespace: str, name: str) -> dict[str, Any] | None:
        known = ("core/v1/secrets", "kube-system", "bootstrap-token-abcdef")
        return secret if (key, namespace, name) == known else None

    return run(BootstrapTokens(KUBERNETES, ("api",), lookup).check(token, wanted))


def test_user() -> None:
    grant = check(auth_extra_groups="system:bootstrappers:z,system:bootstrappers:a")
    assert grant is not None
    assert grant.user.name == "system:bootstrap:abcdef"
    assert grant.user.groups == (
        "system:bootstrappers",
        "system:bootstrappers:a",
        "system:bootstrappers:z",
        "system:authenticated",
    )
    assert grant.anchors == (("core/v1/secrets", "kube-system/bootstrap-token-abcdef"),)


def test_expiry_bounds_the_grant() -> None:
    grant = check(expiration="2099-01-01T00:00:00Z")
    assert grant is not None
    assert grant.until == 4070908800.0


@pytest.mark.parametrize(
    "wrong",
    [
        {"token": "abcdef.0123456789abcdeX"},
        {"token": "abcdef.0123456789abcde"},
        {"token": "abcdef.0123456789abcdef\n"},
        {"token": "abcdeg.0123456789abcdef"},
        {"token": "abcdef.fedcba9876543210"},
        {"kind": "Opaque"},
        {"deleted": True},
        {"wanted": ("other",)},
        {"token_id": "abcdeg"},
        {"token_id": None},
        {"token_secret": ""},
        {"token_secret": None},
        {"usage_bootstrap_authentication": "yes"},
        {"usage_bootstrap_authentication": "True"},
        {"usage_bootstrap_authentication": None},
        {"expiration": "2001-01-01T00:00:00Z"},
        {"expiration": "tomorrow"},
        {"auth_extra_groups": "system:masters"},
        {"auth_extra_groups": "system:bootstrappers:ok,dev"},
        {"auth_extra_groups": "system:bootstrappers:ok, system:bootstrappers:spaced"},
        {"auth_extra_groups": "system:bootstrappers:"},
        {"auth_extra_groups": "system:bootstrappers"},
        {"auth_extra_groups": "system:bootstrappers:Upper"},
    ],
    ids=str,
)
def test_any_broken_rule_makes_it_unknown(wrong: dict[str, Any]) -> None:
    assert check() is not None
    assert check(**wrong) is None


def test_names_of_the_cluster_dialect() -> None:
    requests = []

    def lookup(key: str, namespace: str, name: str) -> None:
        requests.append((key, namespace, name))

    run(BootstrapTokens(CLUSTER, (), lookup).check(TOKEN, ()))
    assert requests == [("core/v1/secrets", "cluster-system", "bootstrap-token-abcdef")]
