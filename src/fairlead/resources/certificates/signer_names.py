"""The names of signers: a domain and a path, such as `example.com/serving`."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from fairlead.codec.types.names import dns_label, dns_subdomain
from fairlead.resources.causes import Causes, quote

LONGEST_DOMAIN = 253
LONGEST_NAME = LONGEST_DOMAIN + 1 + 253 + 1 + 63


def check_signer_name(name: str, path: str, causes: Causes) -> None:
    if not name:
        causes.required(path, "signerName must be provided")
        return
    if name.count("/") != 1:
        detail = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        causes.invalid(path, name, detail)
        return
    domain, _, rest = name.partition("/")
    if len(domain) > LONGEST_DOMAIN:
        causes.too_long(path, LONGEST_DOMAIN)
    causes.invalid_each(path, domain, _label_errors(domain, dns_label))
    if "." not in domain:
        detail = "should be a domain with at least two segments separated by dots"
        causes.invalid(path, domain, detail)
    causes.invalid_each(path, rest, _label_errors(rest, dns_subdomain))
    if len(name) > LONGEST_NAME:
        causes.too_long(path, LONGEST_NAME)


def _label_errors(text: str, rule: Callable[[str], list[str]]) -> Iterable[str]:
    """What is wrong with the first bad label; the rest would only say the same."""
    for label in text.split("."):
        wrong = rule(label)
        if wrong:
            return [f"validating label {quote(label)}: {error}" for error in wrong]
    return []
