"""The authenticating proxy: it presents a client certificate and names the user in headers."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import unquote_to_bytes

from fairlead.auth.authentication.authorities import Authorities, Untrusted
from fairlead.auth.authentication.chain import Credentials, Rejected
from fairlead.auth.authentication.user import User, with_authenticated_group


class FrontProxy:
    """Reads the headers only after the connection's certificate was verified against the proxy's CA
    and its common name is allowed. An empty list of names allows any."""

    def __init__(
        self,
        authorities: Authorities,
        allowed_names: Sequence[str],
        user_headers: Sequence[str],
        group_headers: Sequence[str] = (),
        extra_prefixes: Sequence[str] = (),
        uid_headers: Sequence[str] = (),
    ) -> None:
        self._authorities = authorities
        self._allowed = frozenset(allowed_names)
        self._user_headers = [name.lower().encode() for name in user_headers]
        self._group_headers = [name.lower().encode() for name in group_headers]
        self._uid_headers = [name.lower().encode() for name in uid_headers]
        self._extra_prefixes = [prefix.lower().encode() for prefix in extra_prefixes]

    @property
    def headers(self) -> tuple[bytes, ...]:
        """The prefixes of its header names."""
        return (
            *self._user_headers,
            *self._uid_headers,
            *self._group_headers,
            *self._extra_prefixes,
        )

    def authenticate(self, request: Credentials) -> User | None:
        peer = request.peer
        if not peer.certificates or peer.problem:
            return None
        try:
            subject = self._authorities.subject(peer.certificates)
        except Untrusted:
            return None  # not the proxy; the certificate may be valid for another purpose
        if self._allowed and subject.common_name not in self._allowed:
            raise Rejected("x509: the proxy's common name is not in the allowed list")
        return self._named_user(request.raw_headers)

    def _named_user(self, headers: list[tuple[bytes, bytes]]) -> User | None:
        name = _first(headers, self._user_headers)
        if not name:
            return None
        uid = _first(headers, self._uid_headers)
        groups = [
            _text(value)
            for header in self._group_headers
            for key, value in headers
            if key == header and value
        ]
        return with_authenticated_group(User(name, uid, tuple(groups), self._extra(headers)))

    def _extra(self, headers: list[tuple[bytes, bytes]]) -> dict[str, tuple[str, ...]]:
        extra: dict[str, tuple[str, ...]] = {}
        for prefix in self._extra_prefixes:
            for key, value in headers:
                if key.startswith(prefix):
                    name = _text(unquote_to_bytes(key[len(prefix) :]))
                    extra[name] = (*extra.get(name, ()), _text(value))
        return extra


def _first(headers: list[tuple[bytes, bytes]], names: list[bytes]) -> str:
    """The first value of the first header that has one."""
    for name in names:
        first = next((value for key, value in headers if key == name), b"")
        if first:
            return _text(first)
    return ""


def _text(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise Rejected("a header of the authenticating proxy is not UTF-8 text") from None
