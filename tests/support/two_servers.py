"""Two servers on one etcd."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from shutil import copy2

from fairlead.process.certificates.authority import ensure_pki, ensure_service_account_key
from support.client import ADMIN_TOKEN, Client
from support.etcd import Etcd
from support.process import MOVABLE_CLOCK, ServerProcess
from support.waiting import eventually

ADDRESSES = ("10.1.0.1", "10.1.0.2")
_LEADING = 'leader_election_master_status{name="kube-controller-manager"} '


class Member:
    """One of the two servers."""

    def __init__(
        self, directory: Path, address: str, etcd: Etcd, prelude: str, flags: Sequence[str] = ()
    ) -> None:
        directory.mkdir()
        self.address = address
        store = ("--storage", "etcd", "--etcd-servers", etcd.url)
        flags = (*store, "--advertise-address", address, *flags)
        self.server = ServerProcess(directory, flags=flags, prelude=prelude)
        self.client: Client

    def start(self) -> None:
        self.server.start()
        self.client = self.client_of(ADMIN_TOKEN)

    def client_of(self, token: str | None) -> Client:
        # The banner shows the advertised address, at which nothing listens.
        port = self.server.address.rpartition(":")[2]
        return self.server.keep(Client(f"https://127.0.0.1:{port}", self.server.ca, token))

    @property
    def leads(self) -> bool:
        return f"{_LEADING}1.0" in self.client.get("/metrics").text


class Fleet:
    """Two servers of one CA on their own etcd. `preludes` run in their processes; `flags` are added
    to the second."""

    def __init__(
        self,
        directory: Path,
        preludes: tuple[str, str] = (MOVABLE_CLOCK, MOVABLE_CLOCK),
        flags: Sequence[str] = (),
    ) -> None:
        self.etcd = Etcd(directory / "etcd").start()
        first_prelude, second_prelude = preludes
        self.members = [
            Member(directory / ADDRESSES[0], ADDRESSES[0], self.etcd, first_prelude),
            Member(directory / ADDRESSES[1], ADDRESSES[1], self.etcd, second_prelude, flags),
        ]
        first, second = (member.server.data for member in self.members)
        ensure_pki(first, ["127.0.0.1"])
        ensure_service_account_key(first)
        (second / "pki").mkdir(mode=0o700, parents=True)
        second.chmod(0o700)
        for name in ("ca.crt", "ca.key", "service-account.key"):
            copy2(first / "pki" / name, second / "pki" / name)
        with ThreadPoolExecutor() as pool:  # both find the store empty
            list(pool.map(Member.start, self.members))

    def leader_and_other(self) -> tuple[Member, Member]:
        first, other = self.members
        eventually(lambda: first.leads or other.leads, "one leads")
        assert not (first.leads and other.leads)
        return (first, other) if first.leads else (other, first)

    def close(self) -> None:
        for member in self.members:
            member.server.kill()
        self.etcd.close()
