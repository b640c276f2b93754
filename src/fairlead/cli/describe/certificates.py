"""Layout of certificate signing requests."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterable
from datetime import timedelta

from cryptography import x509
from cryptography.x509 import CertificateSigningRequest, GeneralName, Name, load_pem_x509_csr

from fairlead.cli.describe.layout import Layout, Subject
from fairlead.cli.describe.page import Page
from fairlead.cli.describe.parts.metadata import one_line
from fairlead.cli.describe.parts.values import in_full
from fairlead.cli.errors import CommandFailed
from fairlead.codec.types.times import duration_text

# Attributes of a subject: title and OID.
_ONE_LINE = (("Common Name", "2.5.4.3"), ("Serial Number", "2.5.4.5"))
_LISTED = (
    ("Organization", "2.5.4.10"),
    ("Organizational Unit", "2.5.4.11"),
    ("Country", "2.5.4.6"),
    ("Locality", "2.5.4.7"),
    ("Province", "2.5.4.8"),
    ("StreetAddress", "2.5.4.9"),
    ("PostalCode", "2.5.4.17"),
)
_UNREADABLE = "error: its request is no signing request in PEM"


def _draw(page: Page, request: Subject) -> None:
    """Raises CommandFailed if the request cannot be parsed."""
    parsed = _parsed(request.text("spec.request"))
    page.pairs(
        ("Name", request.name),
        ("Labels", one_line(request.labels)),
        ("Annotations", one_line(request.annotations)),
        ("CreationTimestamp", in_full(request.at("metadata.creationTimestamp"))),
        ("Requesting User", request.text("spec.username")),
    )
    page.pairs_if(("Signer", request.text("spec.signerName")))
    if request.has("spec.expirationSeconds"):
        seconds = timedelta(seconds=request.number("spec.expirationSeconds"))
        page.pair("Requested Duration", duration_text(seconds))
    page.pair("Status", _status(request))
    _draw_subject(page, parsed.subject)
    _draw_other_names(page, _other_names(parsed))


def _parsed(encoded: str) -> CertificateSigningRequest:
    try:
        return load_pem_x509_csr(b64decode(encoded))
    except ValueError:
        raise CommandFailed(_UNREADABLE) from None


def _status(request: Subject) -> str:
    conditions = {condition.text("type") for condition in request.items("status.conditions")}
    words = [next((word for word in ("Denied", "Approved") if word in conditions), "Pending")]
    if "Failed" in conditions:
        words.append("Failed")
    if request.text("status.certificate"):
        words.append("Issued")
    return ",".join(words)


def _draw_subject(page: Page, name: Name) -> None:
    parts: dict[str, list[str]] = {}
    for attribute in name:
        parts.setdefault(attribute.oid.dotted_string, []).append(str(attribute.value))
    page.write("Subject:")
    for title, identifier in _ONE_LINE:
        page.row("", f"{title}:", parts.get(identifier, [""])[-1], level=0)
    for title, identifier in _LISTED:
        _draw_list(page, title, parts.get(identifier, ()))


def _draw_list(page: Page, title: str, values: Iterable[str]) -> None:
    first = f"{title}:"
    for value in values:
        page.row("", first, value, level=0)
        first = ""


def _other_names(request: CertificateSigningRequest) -> dict[str, list[str]]:
    """Subject alternative names by title."""
    titles: dict[type[GeneralName], str] = {
        x509.DNSName: "DNS Names",
        x509.RFC822Name: "Email Addresses",
        x509.UniformResourceIdentifier: "URIs",
        x509.IPAddress: "IP Addresses",
    }
    by_title: dict[str, list[str]] = {title: [] for title in titles.values()}
    try:
        names = request.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return by_title
    except (ValueError, x509.DuplicateExtension, x509.UnsupportedGeneralNameType):
        raise CommandFailed(_UNREADABLE) from None
    for name in names:
        if type(name) in titles:
            by_title[titles[type(name)]].append(str(name.value))
    return by_title


def _draw_other_names(page: Page, names: dict[str, list[str]]) -> None:
    if any(names.values()):
        page.write("Subject Alternative Names:")
    for title, values in names.items():
        _draw_list(page, title, values)


SIGNING_REQUEST = Layout(_draw)
