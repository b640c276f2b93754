"""TLS records, by OpenSSL's functions and by the methods of the library."""

from __future__ import annotations

import ssl
from contextlib import suppress
from pathlib import Path

import pytest
from OpenSSL import SSL

from fairlead.process.certificates.authority import ensure_pki
from fairlead.wire.incoming.batches import MAX_RECORD
from fairlead.wire.incoming.tls_records import RecordLayers, Records


class Talk:
    """A connection in memory between the sealing under test and the standard library's client."""

    def __init__(self, directory: Path, *, by_methods: bool) -> None:
        serving = ensure_pki(directory, ["localhost"]).serving
        context = SSL.Context(SSL.TLS_SERVER_METHOD)
        context.use_certificate_file(str(serving.certificate))
        context.use_privatekey_file(str(serving.key))
        self.server = SSL.Connection(context, None)
        self.server.set_accept_state()
        self.records: Records = RecordLayers(by_methods=by_methods).of(self.server)
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
        self.client = trusting.wrap_bio(self._incoming, self._outgoing)
        for _ in range(3):
            self._greet()

    def _greet(self) -> None:
        with suppress(ssl.SSLWantReadError):
            self.client.do_handshake()
        if self._outgoing.pending:
            self.records.put(self._outgoing.read())
        with suppress(SSL.WantReadError):
            self.server.do_handshake()
        while data := self.records.pending_output():
            self._incoming.write(data)

    def send(self, data: bytes) -> None:
        """The client sends."""
        self.client.write(data)
        self.records.put(self._outgoing.read())

    def hang_up(self) -> None:
        with suppress(ssl.SSLWantReadError):
            self.client.unwrap()
        self.records.put(self._outgoing.read())

    def hear(self, sealed: bytes) -> bytes:
        """Return the plaintext of a record at the client."""
        self._incoming.write(sealed)
        return self.client.read(2 * MAX_RECORD)


@pytest.fixture(params=[False, True], ids=["functions", "methods"])
def talk(request: pytest.FixtureRequest, tmp_path: Path) -> Talk:
    return Talk(tmp_path, by_methods=request.param)


@pytest.mark.parametrize("size", [1, 600, MAX_RECORD])
def test_a_sealed_record_is_what_was_given(talk: Talk, size: int) -> None:
    data = bytes(range(256)) * 64
    assert talk.hear(talk.records.encrypt(data[:size])) == data[:size]
    assert talk.hear(talk.records.encrypt(memoryview(data)[:size])) == data[:size]


@pytest.mark.parametrize("size", [MAX_RECORD + 1, 4 * MAX_RECORD, 5 * MAX_RECORD - 8])
def test_what_is_longer_than_a_record_is_sealed_in_several(talk: Talk, size: int) -> None:
    data = bytes(range(256)) * 320
    heard = talk.hear(bytes(talk.records.encrypt_all(memoryview(data)[:size])))
    while len(heard) < size:
        heard += talk.hear(b"")
    assert heard == data[:size]
    assert talk.hear(talk.records.encrypt(b"and on")) == b"and on"


def test_tls_records_are_opened_one_by_one(talk: Talk) -> None:
    talk.send(b"one")
    talk.send(b"two")
    assert [talk.records.read(), talk.records.read()] == [b"one", b"two"]


def test_what_came_with_the_end_of_the_handshake_is_not_lost(talk: Talk) -> None:
    talk.send(b"one" * 5000)
    talk.send(b"two")
    talk.records.free_buffers()
    assert [talk.records.read(), talk.records.read()] == [b"one" * 5000, b"two"]
    assert talk.hear(talk.records.encrypt(b"three")) == b"three"


def test_tls_part_of_a_record_is_nothing_to_read_yet(talk: Talk) -> None:
    with pytest.raises(SSL.WantReadError):
        talk.records.read()


def test_tls_record_of_noise_is_an_error(talk: Talk) -> None:
    talk.records.put(b"\x17\x03\x03\x00\x20" + b"x" * 32)
    with pytest.raises(SSL.Error):
        talk.records.read()
    assert talk.records.pending_output()  # the alert


def test_tls_close_notify_is_an_error(talk: Talk) -> None:
    talk.hang_up()
    with pytest.raises(SSL.ZeroReturnError):
        talk.records.read()


def test_tls_records_need_no_buffers_between_uses(talk: Talk) -> None:
    for _ in range(2):
        talk.records.free_buffers()
        talk.records.free_buffers()
        assert talk.records.pending_output() == b""
        with pytest.raises(SSL.WantReadError):
            talk.records.read()
        assert talk.hear(talk.records.encrypt(b"one")) == b"one"
        talk.records.free_buffers()
        assert talk.hear(bytes(talk.records.encrypt_all(b"two"))) == b"two"
        talk.records.free_buffers()
        talk.send(b"three")
        assert talk.records.read() == b"three"


@pytest.mark.parametrize("has_buffers", [True, False])
def test_tls_close_sends_a_close_notify(talk: Talk, has_buffers: bool) -> None:
    if not has_buffers:
        talk.records.free_buffers()
    assert talk.hear(talk.records.close()) == b""  # it would want more if this were not the end
