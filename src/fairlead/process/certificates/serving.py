"""The certificates that a server presents, its own or those of the command line, and the client CAs
that it asks for."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from cryptography.x509 import load_pem_x509_certificates
from OpenSSL import SSL

from fairlead.auth.authentication.authorities import Authorities
from fairlead.base.dialect import Dialect
from fairlead.process.assembly import StartError
from fairlead.process.certificates.authority import (
    DEFAULT_LIFETIMES,
    TESTING_LIFETIMES,
    Lifetimes,
    Pair,
    Pki,
    check_pair,
    ensure_pki,
    write_admin_config,
)
from fairlead.process.certificates.renewal import Renewal
from fairlead.process.data_directory import FileError
from fairlead.wire.incoming.tls import server_context


class ServingCertificates:
    """Issues, checks and renews the certificates. All methods raise StartError."""

    def __init__(self, options: argparse.Namespace, dialect: Dialect) -> None:
        self._options = options
        self._dialect = dialect

    def pki(self) -> Pki:
        """Return the certificates of the data directory; issues missing ones."""
        try:
            pair = self._configured_pair()
            if pair is not None:  # checked first: later errors about its key are less clear
                check_pair(pair.certificate, pair.key)
            proxy = self._configured_proxy()
            pki = ensure_pki(self._options.data_dir, self._hosts(), lifetimes=self._lifetimes())
            return pki if proxy is None else pki.with_proxy(proxy)
        except FileError as error:
            raise StartError(str(error)) from None

    def trust(self, pki: Pki, authorities: Sequence[Authorities]) -> ClientTrust:
        """Return the TLS context provider for the presented certificate."""
        pair = self._configured_pair() or pki.serving
        try:
            check_pair(pair.certificate, pair.key)
            return ClientTrust(pair.certificate, pair.key, authorities)
        except FileError as error:
            raise StartError(str(error)) from None
        except SSL.Error as error:
            why = "; ".join(parts[-1] for parts in error.args[0]) if error.args else "unreadable"
            raise StartError(f"cannot load {pair.certificate} and {pair.key}: {why}") from None

    def renewal(self, pki: Pki, trust: ClientTrust, url: str, *, keeps_files: bool) -> Renewal:
        """Write the kubeconfig of the admin, now and whenever its certificate is renewed."""
        directory = self._options.data_dir
        config = directory / "admin.kubeconfig"

        def write_config() -> None:
            if keeps_files:
                write_admin_config(config, url, pki, "fairlead")

        def load_new_files() -> None:
            trust.refresh()
            write_config()

        try:
            write_config()
        except FileError as error:
            raise StartError(str(error)) from None
        return Renewal(
            directory,
            self._hosts(),
            pki,
            configured=self._configured_pair(),
            changed=load_new_files,
            renews=keeps_files,
            lifetimes=self._lifetimes(),
        )

    def _lifetimes(self) -> Lifetimes:
        return TESTING_LIFETIMES if self._options.testing else DEFAULT_LIFETIMES

    def _configured_pair(self) -> Pair | None:
        """Return the serving certificate of the command line."""
        options = self._options
        if bool(options.tls_cert_file) != bool(options.tls_private_key_file):
            raise StartError("--tls-cert-file and --tls-private-key-file go together")
        if not options.tls_cert_file:
            return None
        return Pair(options.tls_cert_file, options.tls_private_key_file)

    def _configured_proxy(self) -> Pair | None:
        """Return the command line's client certificate towards extension servers; raises
        FileError."""
        options = self._options
        if not options.proxy_client_cert_file:
            return None
        pair = Pair(options.proxy_client_cert_file, options.proxy_client_key_file)
        check_pair(pair.certificate, pair.key)
        return pair

    def _hosts(self) -> list[str]:
        own = self._dialect.own_service
        names = [own, f"{own}.default", f"{own}.default.svc", f"{own}.default.svc.cluster.local"]
        hosts = ["localhost", "127.0.0.1", "::1", *names]
        for host in (self._options.bind_address, self._options.advertise_address):
            if host and host not in ("0.0.0.0", "::") and host not in hosts:
                hosts.append(host)
        return hosts


# The TLS context that requests client certificates.


class ClientTrust:
    """Provides the TLS context of each handshake: the serving certificate and the current client
    CAs."""

    def __init__(self, certificate: Path, key: Path, authorities: Sequence[Authorities]) -> None:
        self._certificate = certificate
        self._key = key
        self._authorities = tuple(authorities)
        self.refresh()

    def refresh(self) -> None:
        """Reload the serving certificate for later handshakes. Raises SSL.Error."""
        certificates = [
            certificate
            for authorities in self._authorities
            for certificate in load_pem_x509_certificates(authorities.pem.encode())
        ]
        self._generations = self._current_generations()
        self._context = server_context(self._certificate, self._key, dict.fromkeys(certificates))

    def context(self) -> SSL.Context:
        if self._generations != self._current_generations():
            self.refresh()
        return self._context

    def _current_generations(self) -> tuple[int, ...]:
        return tuple(authorities.generation for authorities in self._authorities)
