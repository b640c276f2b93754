"""Checks that servers on one store have the same CA: clients would trust only some of them
otherwise."""

from __future__ import annotations

from pathlib import Path

from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from cryptography.x509 import load_pem_x509_certificates

from fairlead.base.dialect import Dialect
from fairlead.controllers.root_ca import CONFIG_MAPS, RootCaPublisher
from fairlead.operations.client import Client


class ForeignAuthority(Exception):
    """The store belongs to servers of another CA; the message is for the user."""


def authority_keys(pem: bytes) -> set[bytes]:
    """Return the public keys of the certificates in a bundle, which survive the renewal of a CA;
    raises ValueError if there are none."""
    return {
        certificate.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        for certificate in load_pem_x509_certificates(pem)
    }


def keys_in(file: Path) -> set[bytes]:
    """Return the public keys of a bundle file; also raises OSError."""
    return authority_keys(file.read_bytes())


async def share_authority(objects: Client, dialect: Dialect, ca: Path) -> None:
    """Publish the CA in a config map, or compare it with the published one; raises
    ForeignAuthority."""
    namespace, name = dialect.system_namespace, dialect.ca_config_map
    if objects.find(CONFIG_MAPS, namespace, name) is None:
        await RootCaPublisher(objects, dialect, ca).sync(namespace)
    published = objects.find(CONFIG_MAPS, namespace, name) or {}
    try:
        published_keys = authority_keys((published.get("data") or {}).get("ca.crt", "").encode())
    except ValueError:
        return  # unusable for clients; the publisher repairs it
    if published_keys.isdisjoint(keys_in(ca)):
        raise ForeignAuthority(
            f"the store belongs to servers of another CA: config map {namespace}/{name} does not"
            f" have {ca}. Copy pki/ca.crt, pki/ca.key and pki/service-account.key from the data"
            " directory of one of them to this one, or name the CA that clients shall trust"
            " with --root-ca-file"
        )
