"""The pytest plugin: every inner run is a separate process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support.waiting import eventually

pytest_plugins = ["pytester"]

FLAGS = ("-p", "fairlead.testing.plugin", "-p", "no:cacheprovider")


@pytest.fixture(autouse=True)
def _nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """An installation has the plugin as an entry point, and nothing can be there twice."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


SUITE = """
import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from fairlead.client.errors import ApiError, Forbidden, NotFound
from fairlead.client.sync import SyncClient
from fairlead.testing import Cluster, Denied

seen = {}


def test_a_namespace_is_fresh(cluster, namespace):
    maps = cluster.admin.resource("configmaps")
    assert [m for m in maps.list(namespace)["items"] if m["metadata"]["name"] == "a"] == []
    maps.create({"metadata": {"name": "a"}}, namespace)
    seen["namespace"] = namespace
    seen["url"] = cluster.url


def test_and_another_one_is_another_one_of_the_same_server(cluster, namespace):
    assert namespace != seen["namespace"]
    assert cluster.url == seen["url"]
    left = cluster.admin.resource("namespaces").wait(
        seen["namespace"], lambda value: value is None or "deletionTimestamp" in value["metadata"]
    )
    assert left is None or left["metadata"]["deletionTimestamp"]


def test_the_client_configuration_is_that_of_the_admin(kubeconfig, cluster):
    with SyncClient.load(kubeconfig) as client:
        assert client.resource("namespaces").get("default")["metadata"]["name"] == "default"
    assert cluster.ca.startswith(b"-----BEGIN CERTIFICATE-----")


def test_what_is_done_to_a_restored_one(restored):
    restored.admin.resource("namespaces").create({"metadata": {"name": "for-now"}})


def test_is_undone(cluster):
    with pytest.raises(NotFound):
        cluster.admin.resource("namespaces").get("for-now")


def test_what_a_test_lends(cluster):
    cluster.fault(error=503, resources=["configmaps"])
    cluster.pause("deployment")
    cluster.admission(lambda value: False, resources=["secrets"])
    with pytest.raises(ApiError):
        cluster.admin.resource("secrets").create({"metadata": {"name": "x"}})


def test_ends_with_it(cluster, namespace):
    cluster.admin.resource("configmaps").create({"metadata": {"name": "x"}}, namespace)
    cluster.admin.resource("secrets").create({"metadata": {"name": "x"}}, namespace)
    assert not any(one["paused"] for one in cluster.controllers())


@pytest.fixture(scope="module")
def refusing(cluster):
    def no(value):
        raise Denied("not in this module")

    with cluster.admission(no, resources=["leases"]) as made:
        yield made


@pytest.mark.parametrize("time", ["first", "second"])
def test_what_a_fixture_lends_stays_with_the_fixture(cluster, refusing, time):
    with pytest.raises(ApiError, match="not in this module"):
        cluster.admin.resource("leases").create({"metadata": {"name": "x"}})


def test_a_factory_makes_others(cluster, cluster_factory):
    other = cluster_factory("--controllers=-*", dialect="cluster")
    assert other.url != cluster.url
    assert other.admin.resource("namespaces").get("cluster-system")
    assert "deployment" not in [one["name"] for one in other.controllers()]


@pytest.fixture
def later(cluster):
    cluster.advance("30h")


def test_a_clock_that_is_moved(cluster, later):
    cluster.advance("20h")
    assert cluster.now() > datetime.now(UTC) + timedelta(hours=49)


def test_is_put_back(cluster):
    assert abs(cluster.now() - datetime.now(UTC)) < timedelta(hours=1)


def test_the_flags_are_those_of_the_configuration(cluster):
    assert len(cluster.admin.resource("nodes").list()["items"]) == 2
"""


def test_the_fixtures_do_what_they_say(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nfairlead_flags = --simulate-nodes 2\n")
    pytester.makepyfile(SUITE)
    result = pytester.runpytest_subprocess(*FLAGS)
    result.assert_outcomes(passed=13)


def test_a_failing_test_comes_with_the_log_and_its_requests(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest


        def test_before(cluster):
            cluster.admin.resource("configmaps").list("of-another-test")


        def test_failing(cluster, namespace):
            cluster.admin.resource("configmaps").list("asked-here")
            assert False, "so it is"


        @pytest.fixture
        def broken(cluster):
            cluster.admin.resource("configmaps").list("asked-in-setup")
            raise ValueError("no setup")


        def test_without_setup(broken):
            pass


        def test_a_server_that_dies(cluster, namespace):
            cluster.kill()
            cluster.admin.resource("configmaps").list()
        """
    )
    result = pytester.runpytest_subprocess(*FLAGS)
    result.assert_outcomes(passed=1, failed=2, errors=1)
    parts = result.stdout.str().split("____ ")
    setup, call, died = (
        next(part for part in parts if name in part)
        for name in (
            "ERROR at setup of test_without_setup",
            "test_failing ",
            "test_a_server_that_dies ",
        )
    )
    assert "fairlead: log" in call
    assert "GET /api/v1/namespaces/asked-here/configmaps?limit=500 by admin" in call
    assert "of-another-test" not in call
    assert "asked-in-setup" in setup
    assert "the server has ended with the exit code -9" in died


def test_a_server_that_does_not_start_says_why(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nfairlead_flags = --no-such-flag\n")
    pytester.makepyfile("def test_it(cluster): pass")
    result = pytester.runpytest_subprocess(*FLAGS)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*ServerFailed: the server does not start:", "*--no-such-flag*"])


def test_flags_may_be_a_list(pytester: pytest.Pytester) -> None:
    pytester.makepyprojecttoml(
        '[tool.pytest.ini_options]\nfairlead_flags = ["--simulate-nodes", "1"]\n'
    )
    pytester.makepyfile(
        """
        def test_it(cluster):
            cluster.admin.resource("nodes").wait("simulated-0", lambda value: value is not None)
        """
    )
    pytester.runpytest_subprocess(*FLAGS).assert_outcomes(passed=1)


def test_workers_have_servers_of_their_own(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytester.makepyfile(
        """
        import os, time
        from pathlib import Path

        import pytest


        @pytest.mark.parametrize("number", range(2))
        def test_it(cluster, number):
            here = Path(os.environ["MEETING"])
            (here / os.environ["PYTEST_XDIST_WORKER"]).write_text(cluster.url)
            ends = time.monotonic() + 60
            while len(list(here.iterdir())) < 2 and time.monotonic() < ends:
                time.sleep(0.01)
            assert len({one.read_text() for one in here.iterdir()}) == 2
        """
    )
    meeting = pytester.mkdir("meeting")
    monkeypatch.setenv("MEETING", str(meeting))
    result = pytester.runpytest_subprocess(*FLAGS, "-p", "xdist", "-n", "2")
    result.assert_outcomes(passed=2)


def test_a_run_that_is_interrupted_ends_in_good_order(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import os, signal

        import pytest


        @pytest.fixture
        def asked_at_the_end(cluster, namespace):
            yield
            print("NAMESPACE", cluster.admin.resource("namespaces").get(namespace)["kind"])


        def test_it(asked_at_the_end):
            os.killpg(0, signal.SIGINT)
        """
    )
    words = [sys.executable, "-m", "pytest", "-s", *FLAGS]
    done = subprocess.run(
        words, cwd=pytester.path, capture_output=True, text=True, start_new_session=True
    )
    assert "NAMESPACE Namespace" in done.stdout
    assert "KeyboardInterrupt" in done.stdout
    assert done.returncode == 2


def test_a_run_that_is_killed_leaves_nothing_behind(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import time
        from pathlib import Path


        def test_it(cluster):
            found = cluster.kubeconfig.parent.parent
            Path("place").write_text(f"{cluster._process._process.pid} {found}")
            time.sleep(60)
        """
    )
    running = subprocess.Popen([sys.executable, "-m", "pytest", *FLAGS], cwd=pytester.path)
    place = pytester.path / "place"
    eventually(lambda: place.exists() and bool(place.read_text()), "the server is there", 60)
    number, directory = place.read_text().split()
    running.send_signal(signal.SIGKILL)
    running.wait()
    eventually(lambda: not _runs(int(number)), "the server has ended", 60)
    assert not Path(directory).exists()


def _runs(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    return True


RELEASES = """
import json


def test_it(cluster, cluster_factory, fairlead_release):
    assert cluster.release == fairlead_release
    version = json.loads(cluster.admin.raw("GET", "/version"))
    assert f"1.{version['minor']}" == fairlead_release


def test_servers_of_another_release(cluster_factory):
    assert cluster_factory("--controllers=-*", release="1.25").release == "1.25"
"""


def test_suite_runs_with_each_release(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(RELEASES)
    result = pytester.runpytest_subprocess(*FLAGS, "-v", "--fairlead-release", "1.25, 1.36")
    result.assert_outcomes(passed=4)
    for name in ("test_it[1.25]", "test_it[1.36]"):
        assert f"{name} PASSED" in result.stdout.str()


def test_releases_may_be_a_setting(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nfairlead_release = 1.36\n")
    pytester.makepyfile("def test_it(cluster): assert cluster.release == '1.36'")
    result = pytester.runpytest_subprocess(*FLAGS, "-v")
    assert "test_it[1.36] PASSED" in result.stdout.str()


def test_unknown_release_is_refused(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(cluster): pass")
    result = pytester.runpytest_subprocess(*FLAGS, "--fairlead-release", "1.7")
    assert "'1.7' is none of 1.25, 1.36" in result.stderr.str()
