"""ConfigMap, Secret, ServiceAccount and Namespace: one row a rule."""

from __future__ import annotations

from base64 import b64encode
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from support.group_rules import Found, Kind, Object, forbidden, invalid, required, too_long

from fairlead.base.dialect import CLUSTER, KUBERNETES
from fairlead.base.release import V1_36

MEBIBYTE = 1024 * 1024
FROZEN = "field is immutable when `immutable` is set"
KEY_RULE = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',"
    "  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)


def encoded(text: str) -> str:
    return b64encode(text.encode()).decode()


CONFIG_MAPS: list[tuple[Object, Found]] = [
    ({"data": {"a/b": ""}}, [invalid("data[a/b]", '"a/b"', KEY_RULE)]),
    (
        {"data": {"../x": ""}},
        [
            invalid("data[../x]", '"../x"', KEY_RULE),
            invalid("data[../x]", '"../x"', "must not start with '..'"),
        ],
    ),
    ({"data": {".": ""}}, [invalid("data[.]", '"."', "must not be '.'")]),
    ({"data": {"..x": ""}}, [invalid("data[..x]", '"..x"', "must not start with '..'")]),
    ({"binaryData": {"..": ""}}, [invalid("binaryData[..]", '".."', "must not be '..'")]),
    (
        {"data": {"k": ""}, "binaryData": {"k": ""}},
        [invalid("data[k]", '"k"', "duplicate of key present in binaryData")],
    ),
    ({"data": {"k": "x" * MEBIBYTE}}, []),
    ({"data": {"k": "x" * MEBIBYTE, "l": "x"}}, [too_long("[]", MEBIBYTE)]),
]


@pytest.mark.parametrize(("value", "expected"), CONFIG_MAPS)
def test_config_map(value: Object, expected: Found) -> None:
    assert Kind("core/v1/configmaps").wrong(value) == expected


def test_an_immutable_config_map_changes_nothing_but_metadata() -> None:
    kind = Kind("core/v1/configmaps")
    old = kind.existing({"data": {"k": "v"}, "immutable": True})
    _, errors = kind.update(old, {"data": {"k": "w"}, "binaryData": {"b": "AA=="}})
    assert errors == [
        forbidden("immutable", FROZEN),
        forbidden("data", FROZEN),
        forbidden("binaryData", FROZEN),
    ]
    labelled = {"metadata": {"labels": {"a": "b"}}, "data": {"k": "v"}, "immutable": True}
    assert kind.update(old, labelled)[1] == []


ACCOUNT = "metadata.annotations[kubernetes.io/service-account.name]"
REDACTED = '"<secret contents redacted>"'
SECRETS: list[tuple[str, dict[str, str], Found]] = [
    ("Opaque", {}, []),
    ("example.com/own", {}, []),
    ("Opaque", {"a b": ""}, [invalid("data[a b]", '"a b"', KEY_RULE)]),
    ("Opaque", {"k": "x" * (MEBIBYTE + 1)}, [too_long("data", MEBIBYTE)]),
    ("kubernetes.io/service-account-token", {}, [required(ACCOUNT)]),
    ("kubernetes.io/dockercfg", {}, [required("data[.dockercfg]")]),
    ("kubernetes.io/dockercfg", {".dockercfg": "{}"}, []),
    ("kubernetes.io/dockercfg", {".dockercfg": "null"}, []),
    (
        "kubernetes.io/dockercfg",
        {".dockercfg": "nope"},
        [
            invalid(
                "data[.dockercfg]",
                REDACTED,
                "invalid character 'o' in literal null (expecting 'u')",
            )
        ],
    ),
    (
        "kubernetes.io/dockerconfigjson",
        {".dockerconfigjson": "[]"},
        [
            invalid(
                "data[.dockerconfigjson]",
                REDACTED,
                "json: cannot unmarshal array into Go value of type map[string]interface {}",
            )
        ],
    ),
    (
        "kubernetes.io/basic-auth",
        {"other": ""},
        [required("data[username]"), required("data[password]")],
    ),
    ("kubernetes.io/basic-auth", {"password": ""}, []),
    ("kubernetes.io/ssh-auth", {"ssh-privatekey": ""}, [required("data[ssh-privatekey]")]),
    ("kubernetes.io/tls", {}, [required("data[tls.crt]"), required("data[tls.key]")]),
    ("kubernetes.io/tls", {"tls.crt": "", "tls.key": ""}, []),
]


@pytest.mark.parametrize(("kind", "data", "expected"), SECRETS)
def test_secret_type(kind: str, data: dict[str, str], expected: Found) -> None:
    value = {"type": kind, "data": {key: encoded(text) for key, text in data.items()}}
    assert Kind("core/v1/secrets").wrong(value) == expected


def test_secret_types_are_named_in_the_dialect() -> None:
    kind = Kind("core/v1/secrets", CLUSTER)
    assert kind.wrong({"type": "cluster.io/ssh-auth"}) == [required("data[ssh-privatekey]")]
    assert kind.wrong({"type": "kubernetes.io/ssh-auth"}) == []


def test_text_of_a_secret_becomes_data() -> None:
    value = Kind("core/v1/secrets").existing(
        {"data": {"a": encoded("1"), "b": encoded("2")}, "stringData": {"b": "3", "c": "4"}}
    )
    assert value["data"] == {"a": encoded("1"), "b": encoded("3"), "c": encoded("4")}
    assert "stringData" not in value
    assert value["type"] == "Opaque"


def test_a_secret_keeps_its_type_and_frozen_data() -> None:
    kind = Kind("core/v1/secrets")
    old = kind.existing({"type": "x", "data": {"k": ""}, "immutable": True})
    assert kind.update(old, {"data": {"k": "YQ=="}})[1] == [
        invalid("type", '"Opaque"', "field is immutable"),
        forbidden("immutable", FROZEN),
        forbidden("data", FROZEN),
    ]


def test_a_key_pair_that_is_none_is_not_warned_of() -> None:
    kind = Kind("core/v1/secrets")
    value = kind.existing({"type": "kubernetes.io/tls", "data": {"tls.crt": "", "tls.key": ""}})
    kind.behaviour.warnings(value, None, kind.context)
    assert kind.context.warnings == []


def test_a_service_account_keeps_names_of_secrets_only() -> None:
    kind = Kind("core/v1/serviceaccounts")
    value = kind.existing({"secrets": [{"name": "s", "namespace": "x", "uid": "1"}]})
    assert value["secrets"] == [{"name": "s"}]
    assert kind.update(value, {"secrets": [{"name": "t", "kind": "Secret"}]})[0]["secrets"] == [
        {"name": "t"}
    ]


def test_a_namespace_is_labelled_finalized_and_active() -> None:
    value = Kind("core/v1/namespaces").existing(
        {"metadata": {"name": "x", "labels": {"kubernetes.io/metadata.name": "y"}}}
    )
    assert value["metadata"]["labels"] == {"kubernetes.io/metadata.name": "x"}
    assert value["spec"] == {"finalizers": ["kubernetes"]}
    assert value["status"] == {"phase": "Active"}


NOT_QUALIFIED = "name is neither a standard finalizer name nor is it fully qualified"
FINALIZERS: list[tuple[list[str], Found]] = [
    (["kubernetes", "example.com/x", "orphan"], []),
    (["odd"], [invalid("spec.finalizers[0]", '"odd"', NOT_QUALIFIED)]),
    (["a/x", "odd"], [invalid("spec.finalizers[1]", '"odd"', NOT_QUALIFIED)]),
]


@pytest.mark.parametrize(("finalizers", "expected"), FINALIZERS)
def test_finalizing_a_namespace(finalizers: list[str], expected: Found) -> None:
    kind = Kind("core/v1/namespaces")
    old = kind.existing({"metadata": {"name": "x"}})
    sent: dict[str, Any] = {
        "metadata": {"name": "x"},
        "spec": {"finalizers": finalizers},
        "status": {"phase": "Terminating"},
    }
    value, wrong = kind.update(old, sent, "finalize")
    assert wrong == expected
    assert value["spec"] == {"finalizers": finalizers}
    assert value["status"] == old["status"]
    assert kind.update(old, sent)[0]["spec"] == old["spec"]


def test_the_phase_of_a_namespace_follows_its_deletion() -> None:
    kind = Kind("core/v1/namespaces")
    old = kind.existing({"metadata": {"name": "x"}})
    ending = {"metadata": {"name": "x"}, "status": {"phase": "Terminating"}}
    assert kind.update(old, ending, "status")[1] == [
        invalid(
            "status.Phase", '"Terminating"', "may only be 'Active' if `deletionTimestamp` is empty"
        )
    ]
    old["metadata"]["deletionTimestamp"] = "2020-01-01T00:00:00Z"
    active = {
        "metadata": {"name": "x", "deletionTimestamp": "2020-01-01T00:00:00Z"},
        "status": {"phase": "Active"},
    }
    assert kind.update(old, active, "status")[1] == [
        invalid(
            "status.Phase",
            '"Active"',
            "may only be 'Terminating' if `deletionTimestamp` is not empty",
        )
    ]


# TLS secrets of release 1.36


def _pem(kind: str, content: bytes = b"x") -> str:
    return f"-----BEGIN {kind}-----\n{b64encode(content).decode()}\n-----END {kind}-----\n"


def _issued(key: Any) -> tuple[str, str]:
    """A certificate of a key, and the key."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a")])
    start, day = datetime(2024, 1, 1, tzinfo=UTC), timedelta(days=1)
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, start, start + day)
    certificate = builder.sign(key, SHA256()).public_bytes(Encoding.DER)
    secret = key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
    return _pem("CERTIFICATE", certificate), _pem("PRIVATE KEY", secret)


CERTIFICATE, KEY = _issued(generate_private_key(SECP256R1()))
_, OTHER_KEY = _issued(generate_private_key(SECP256R1()))
ED_KEY = Ed25519PrivateKey.generate()
OTHER_KIND = _pem(
    "PRIVATE KEY", ED_KEY.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
)
NO_PEM = "failed to find any PEM data in certificate input"


@pytest.mark.parametrize(
    ("certificate", "key", "warning"),
    [
        (f"text\n{CERTIFICATE}{CERTIFICATE}", KEY, ""),
        ("x", KEY, NO_PEM),
        (
            _pem("A").replace("END", "END B"),
            KEY,
            NO_PEM,
        ),
        (f"x{CERTIFICATE}", KEY, NO_PEM),
        (KEY, KEY, "PEM inputs may have been switched"),
        (_pem("A") + _pem("B C"), KEY, "blocks of the following types: [A B C]"),
        (CERTIFICATE, "", "tls: failed to find any PEM data in key input"),
        (CERTIFICATE, CERTIFICATE, "tls: found a certificate rather than a key"),
        (CERTIFICATE, _pem("A"), "blocks of the following types: [A]"),
        (_pem("CERTIFICATE"), KEY, "x509: malformed certificate"),
        (CERTIFICATE, _pem("EC PRIVATE KEY"), "tls: failed to parse private key"),
        (CERTIFICATE, OTHER_KEY, "tls: private key does not match public key"),
        (CERTIFICATE, OTHER_KIND, "tls: private key type does not match public key type"),
    ],
)
def test_a_key_that_does_not_belong_to_its_certificate(
    certificate: str, key: str, warning: str
) -> None:
    kind = Kind("core/v1/secrets", KUBERNETES, V1_36)
    data = {"tls.crt": encoded(certificate), "tls.key": encoded(key)}
    value = kind.existing({"type": "kubernetes.io/tls", "data": data})
    kind.behaviour.warnings(value, None, kind.context)
    assert [warning in text for text in kind.context.warnings] == ([True] if warning else [])
