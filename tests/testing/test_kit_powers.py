"""The powers of tests from Python."""

from __future__ import annotations

import threading
import time
from base64 import b64decode, b64encode
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding

from fairlead.client.conditions import exists, is_gone
from fairlead.client.errors import (
    BadRequest,
    Conflict,
    NotFound,
    TimedOut,
    TooManyRequests,
    Unauthorized,
    Unavailable,
)
from fairlead.testing import Cluster

Object = dict[str, Any]


def _maps(kit: Cluster) -> Any:
    return kit.admin.resource("configmaps")


def test_a_snapshot_is_gone_back_to_as_often_as_one_likes(kit: Cluster, space: str) -> None:
    maps = _maps(kit)
    snapshot = kit.snapshot()
    for _ in range(2):
        maps.create({"metadata": {"name": "a"}}, space)
        assert snapshot.restore()["changed"] >= 1
        with pytest.raises(NotFound):
            maps.get("a", space)
    with pytest.raises(ZeroDivisionError), kit.snapshot():
        _make_and_fail(kit, space)
    with pytest.raises(NotFound):
        maps.get("b", space)


def _make_and_fail(kit: Cluster, space: str) -> None:
    _maps(kit).create({"metadata": {"name": "b"}}, space)
    raise ZeroDivisionError


def test_definitions_come_and_go_with_snapshots(kit: Cluster) -> None:
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "locks.example.org"},
        "spec": {
            "group": "example.org",
            "scope": "Cluster",
            "names": {"plural": "locks", "kind": "Lock"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"type": "object"}},
                }
            ],
        },
    }
    lock = {"apiVersion": "example.org/v1", "kind": "Lock", "metadata": {"name": "a"}}
    for _ in range(2):
        with kit.snapshot():
            kit.apply([definition, lock])
            assert kit.admin.resource("locks").get("a")
        with pytest.raises(NotFound):
            kit.admin.raw("GET", "/apis/example.org/v1/locks")


def test_faults_happen_so_often_and_are_counted(kit: Cluster, space: str) -> None:
    maps = _maps(kit)
    with kit.fault(
        error=409, verbs=["create"], resources=["configmaps"], namespaces=[space], count=1
    ) as fault:
        with pytest.raises(Conflict):
            maps.create({"metadata": {"name": "a"}}, space)
        maps.create({"metadata": {"name": "a"}}, space)
        assert (fault.matched, fault.applied) == (2, 1)
    assert (fault.matched, fault.applied) == (2, 1)
    maps.create({"metadata": {"name": "b"}}, space)


def test_faults_are_for_whom_they_are_meant(kit: Cluster, space: str) -> None:
    ann = kit.as_user("ann", ["system:masters"])
    error = {"code": 429, "message": "slowly", "retryAfterSeconds": 0}
    with kit.fault(error=503, users=["ann"], groups=[""], resources=["secrets"]):
        with pytest.raises(Unavailable):
            ann.client.resource("secrets").list(space)
        assert kit.admin.resource("secrets").list(space)
    kit.fault(error=error, names=["never"])
    with pytest.raises(TooManyRequests, match="slowly"):
        _maps(kit).get("never", space)


def test_a_delay_may_be_a_number_and_nonsense_is_refused(kit: Cluster, space: str) -> None:
    with kit.fault(delay=0.001, resources=["configmaps"]) as fault:
        _maps(kit).list(space)
        assert fault.applied == 1
    with pytest.raises(BadRequest, match="one of error, delay, cut"):
        kit.fault(verbs=["get"])
    with pytest.raises(BadRequest, match="from 0 to 1"):
        kit.fault(error=500, probability=2)


def test_fields_that_no_fault_has_are_refused(kit: Cluster) -> None:
    with pytest.raises(BadRequest, match=r'unknown field "spec\.verb"'):
        kit.fault(error=409, verb=["create"])


def test_one_text_is_not_its_letters(kit: Cluster, space: str) -> None:
    fault = kit.fault(error=409, verbs="create", resources="configmaps", namespaces=space)
    with fault, pytest.raises(Conflict):
        _maps(kit).create({"metadata": {"name": "a"}}, space)


def test_a_paused_controller_does_nothing_until_it_goes_on(kit: Cluster, space: str) -> None:
    deployment = {
        "metadata": {"name": "web"},
        "spec": {
            "selector": {"matchLabels": {"a": "b"}},
            "template": {
                "metadata": {"labels": {"a": "b"}},
                "spec": {"containers": [{"name": "c", "image": "example.org/c"}]},
            },
        },
    }
    with kit.pause("deployment", "job"):
        kit.admin.resource("deployments").create(deployment, space)
        kit.wait_idle()
        assert kit.admin.resource("replicasets").list(space)["items"] == []
        kit.resume("job")
        assert [controller["name"] for controller in kit.controllers() if controller["paused"]] == [
            "deployment"
        ]
    kit.wait_idle()
    assert len(kit.admin.resource("pods").list(space)["items"]) == 1
    with pytest.raises(NotFound):
        kit.pause("no-such-controller")


def test_requests_are_recorded_between_two_moments(kit: Cluster, space: str) -> None:
    maps = _maps(kit)
    maps.create({"metadata": {"name": "a"}}, space)
    with kit.record() as record:
        maps.patch("a", {"data": {"k": "v"}}, space)
        assert record.count(namespace=space) == 1
    maps.patch("a", {"data": {"k": "w"}}, space)
    (patched,) = record.requests(verb="patch", namespace=space)
    assert patched["body"] == {"data": {"k": "v"}}
    assert (patched["name"], patched["user"], patched["code"]) == ("a", "admin", 200)
    assert len(kit.requests(verb="patch", namespace=space, code=200)) == 2
    kit.forget_requests()
    assert kit.requests() == []


def test_requests_are_not_chosen_by_fields_that_none_has(kit: Cluster) -> None:
    with kit.record() as record, pytest.raises(BadRequest, match=r"not supported: spec\.verbs"):
        record.count(verbs="patch")


def test_it_says_who_is_not_idle(kit: Cluster, space: str) -> None:
    kit.wait_idle()
    with kit.admission(_too_slow, resources=["secrets"], timeoutSeconds=5):
        secrets = kit.admin.resource("secrets")
        asking = threading.Thread(target=lambda: secrets.create({"metadata": {"name": "x"}}, space))
        asking.start()
        kit.admin.resource("namespaces").get("default")
        with pytest.raises(TimedOut, match="requests: 1 requests"):
            kit.wait_idle(timeout=0.2)
        asking.join()
    kit.wait_idle()


def _too_slow(value: Object) -> bool:
    time.sleep(0.6)
    return True


def test_the_clock_goes_forward_and_takes_all_ways_to_say_how_far(kit: Cluster) -> None:
    began = kit.now()
    assert kit.advance(1.5) - began >= timedelta(seconds=1.5)
    assert kit.advance("10s") - began >= timedelta(seconds=11.5)
    assert kit.advance(timedelta(days=100)) - began >= timedelta(days=100)
    goal = (kit.now() + timedelta(hours=1)).astimezone(timezone(timedelta(hours=5)))
    assert kit.set_clock(goal) >= goal
    with pytest.raises(BadRequest, match="forward only"):
        kit.set_clock(datetime(2020, 1, 1, tzinfo=UTC))
    assert kit.now() > datetime.now(UTC) + timedelta(days=100)


def test_the_clock_can_be_put_back(kit: Cluster, space: str) -> None:
    kit.advance(timedelta(days=400))
    kit.wait_idle()
    assert abs(kit.reset_clock() - datetime.now(UTC)) < timedelta(hours=1)
    assert not kit.clock_was_moved
    # Everything goes on: pods run, and credentials that are made now are good.
    robot = kit.service_account("robot", space, role="edit")
    kit.admin.resource("pods").create(
        {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}, space
    )
    pods = robot.client.resource("pods")
    pods.wait("p", lambda pod: pod is not None and pod["status"]["phase"] == "Running", space)
    # Nodes go on to renew their leases.
    nodes = kit.admin.resource("nodes")
    kit.advance("1m")
    kit.wait_idle()
    assert _readiness(nodes.get("simulated-0")) == "True"


def test_tokens_and_certificates_expire_by_the_clock(kit: Cluster, space: str) -> None:
    robot = kit.service_account("robot", space, role="view", lifetime=timedelta(hours=1))
    ann = kit.as_user("ann", ["system:masters"], lifetime="2h")
    for client in (robot.client, ann.client):
        assert client.resource("configmaps").list(space)
    kit.advance("61m")
    with pytest.raises(Unauthorized):
        robot.client.resource("configmaps").list(space)
    assert ann.client.resource("configmaps").list(space)
    kit.advance("60m")
    with pytest.raises(Unauthorized):
        ann.client.resource("configmaps").list(space)
    # Whoever comes later goes by the clock too, and the server and its admin always stay.
    assert kit.as_user("ben", ["system:masters"]).client.resource("configmaps").list(space)
    kit.advance(timedelta(days=20 * 365))
    kit.wait_idle()
    assert kit.as_user("cid", ["system:masters"]).client.resource("configmaps").list(space)
    assert kit.admin.resource("configmaps").list(space)


def test_certificates_are_signed_for_the_time_of_the_clock(kit: Cluster) -> None:
    kit.advance(timedelta(days=400))
    ask = {
        "metadata": {"name": "dora"},
        "spec": {
            "request": b64encode(_signing_request("dora")).decode(),
            "signerName": "kubernetes.io/kube-apiserver-client",
            "usages": ["client auth"],
        },
    }
    requests = kit.admin.resource("certificatesigningrequests")
    request = requests.create(ask)
    approved = {"type": "Approved", "status": "True", "reason": "Test"}
    requests.replace({**request, "status": {"conditions": [approved]}}, subresource="approval")
    signed = requests.wait("dora", _is_signed, timeout=30)
    certificate = x509.load_pem_x509_certificate(b64decode((signed or {})["status"]["certificate"]))
    assert certificate.not_valid_before_utc < kit.now() < certificate.not_valid_after_utc


def _signing_request(name: str) -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    builder = x509.CertificateSigningRequestBuilder().subject_name(subject)
    return builder.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM)


def _is_signed(value: Object | None) -> bool:
    return bool(((value or {}).get("status") or {}).get("certificate"))


def test_cron_jobs_run_by_the_clock(kit: Cluster, space: str) -> None:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "c"}]}}
    kit.admin.resource("cronjobs").create(
        {
            "metadata": {"name": "hourly"},
            "spec": {"schedule": "0 * * * *", "jobTemplate": {"spec": {"template": template}}},
        },
        space,
    )
    kit.wait_idle()
    jobs = kit.admin.resource("jobs")
    assert jobs.list(space)["items"] == []
    moment = kit.advance("1h")
    kit.wait_idle()
    (job,) = jobs.list(space)["items"]
    assert abs(datetime.fromisoformat(job["metadata"]["creationTimestamp"]) - moment) < timedelta(
        minutes=1
    )


def test_finished_jobs_go_after_their_time_to_live(kit: Cluster, space: str) -> None:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "c"}]}}
    jobs = kit.admin.resource("jobs")
    jobs.create(
        {
            "metadata": {"name": "once"},
            "spec": {"ttlSecondsAfterFinished": 3600, "parallelism": 0, "template": template},
        },
        space,
    )
    kit.wait_idle()
    end = kit.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    conditions = [
        {"type": name, "status": "True", "lastTransitionTime": end}
        for name in ("SuccessCriteriaMet", "Complete")
    ]
    patch = {"status": {"conditions": conditions, "completionTime": end}}
    jobs.patch("once", patch, space, subresource="status")
    kit.advance("30m")
    kit.wait_idle()
    assert jobs.get("once", space)
    kit.advance("31m")
    jobs.wait("once", is_gone, space, timeout=30)


def test_events_have_the_time_of_the_clock_and_expire_by_it(kit: Cluster, space: str) -> None:
    events = kit.admin.resource("events")
    involved = {"kind": "ConfigMap", "namespace": space, "name": "a"}
    event = events.create({"metadata": {"name": "e"}, "involvedObject": involved}, space)
    kit.advance("30m")
    later = events.create({"metadata": {"name": "f"}, "involvedObject": involved}, space)
    created = [
        datetime.fromisoformat(item["metadata"]["creationTimestamp"]) for item in (event, later)
    ]
    assert created[1] - created[0] >= timedelta(minutes=29)
    kit.advance("31m")
    events.wait("e", is_gone, space, timeout=30)
    assert events.wait("f", exists, space, timeout=30)


def test_a_node_that_does_not_renew_its_lease_is_missed_by_the_clock(kit: Cluster) -> None:
    nodes = kit.admin.resource("nodes")
    node = nodes.create({"metadata": {"name": "silent"}})
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "ready"}
    ready["lastHeartbeatTime"] = kit.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    nodes.patch("silent", {"status": {"conditions": [ready]}}, subresource="status")
    kit.wait_idle()
    assert _readiness(nodes.get("silent")) == "True"
    kit.advance(120)
    nodes.wait("silent", lambda value: _readiness(value) == "Unknown", timeout=30)
    assert node["metadata"]["uid"] == nodes.get("silent")["metadata"]["uid"]


def _readiness(node: Object | None) -> str:
    result = ((node or {}).get("status") or {}).get("conditions") or ()
    return next((str(item["status"]) for item in result if item["type"] == "Ready"), "")
