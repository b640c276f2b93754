"""Budgets: no input blocks the event loop or fills the memory. The worst cases that reviews and
`make attack` found, in their smallest form; each once exceeded the limits by far."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from support.attacks.families import FAMILIES, Numbers, core
from support.attacks.target import MAX_BYTES, MAX_SECONDS, NAMESPACE, Call, Case, Target
from support.client import Object
from support.pace import in_time
from support.webhook import WebhookServer, patching

CASES: list[tuple[str, Numbers]] = [
    ("defaults_of_items", {"items": 4700, "size": 50_000, "fields": 1}),
    ("defaults_of_defaults", {"items": 20, "depth": 6, "width": 10}),
    ("wide_types", {"items": 4700, "width": 8_000, "choice": 0}),
    ("conditions", {"items": 5_000, "conditions": 500, "nesting": 1, "choice": 1}),
    ("rules_on_numbers", {"items": 200, "rules": 10, "choice": 0}),
    ("free_forms", {"items": 50_000, "depth": 1, "choice": 3}),
    ("doubling_patches", {"copies": 4, "width": 5}),
    ("label_selectors", {"terms": 1_900, "keys": 1, "choice": 0, "objects": 200}),
    ("watches_with_selectors", {"terms": 1_900, "keys": 1, "choice": 0, "watches": 30}),
    ("columns", {"objects": 2, "columns": 42, "items": 1_926, "choice": 2}),
    ("columns", {"objects": 2, "columns": 60, "items": 3_000, "choice": 1}),
    ("columns", {"objects": 2, "columns": 60, "items": 3_000, "choice": 2}),
    ("metadata", {"items": 19_275, "choice": 3}),
    ("protobuf", {"items": 700_000, "choice": 0}),
]


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    target = Target(tmp_path_factory.mktemp("attacked"), "kubernetes")
    yield target
    target.close()


def _check(target: Target, case: Case) -> list[int]:
    """Gives the answers."""
    damage = target.measure(case)
    assert in_time(damage.held, MAX_SECONDS), damage
    assert damage.grown < MAX_BYTES, damage
    assert all(status < 500 for status in damage.answers), damage
    return damage.answers


@pytest.mark.parametrize(
    ("name", "numbers"), CASES, ids=[f"{name}-{number}" for number, (name, _) in enumerate(CASES)]
)
def test_nobody_else_waits_or_runs_out_of_memory(
    target: Target, name: str, numbers: Numbers
) -> None:
    _check(target, FAMILIES[name].build(target.dialect, numbers))


def test_objects_of_empty_items_are_refused_before_they_are_read(target: Target) -> None:
    containers = b",".join([b"{}"] * 900_000)
    body = b'{"metadata":{"name":"a"},"spec":{"containers":[' + containers + b"]}}"
    assert _check(target, Case([Call("POST", core("pods"), body)])) == [413]


def test_a_dense_body_is_no_light_one(target: Target) -> None:
    containers = b",".join([b"{}"] * 10_000)
    body = b'{"metadata":{"name":"a"},"spec":{"containers":[' + containers + b"]}}"
    assert _check(target, Case([Call("POST", core("pods"), body)])) == [422]


def test_brackets_in_texts_are_no_values(target: Target) -> None:
    body = {"metadata": {"name": "braces"}, "data": {"text": "{[" * 150_000}}
    assert _check(target, Case([Call("POST", core("configmaps"), body)])) == [201]


def _rbac(target: Target, plural: str) -> str:
    group = target.dialect.group_name("rbac.authorization.@")
    return f"/apis/{group}/v1/namespaces/{NAMESPACE}/{plural}"


def _role(count: int) -> Object:
    rule = {"apiGroups": [""], "verbs": ["get"]}
    rules = [{**rule, "resources": [f"r{number}"]} for number in range(count)]
    return {"metadata": {"name": f"r{count}"}, "rules": rules}


def test_a_role_has_so_many_rules_at_most(target: Target) -> None:
    answer = target.tenant.post(_rbac(target, "roles"), _role(5_001))
    assert answer.causes == [
        ("rules", "FieldValueTooMany", "Too many: 5001: must have at most 5000 items")
    ]


@pytest.mark.parametrize(
    ("rules", "values", "message", "maximum"), [(101, 1, 101, 100), (2, 1_001, 2_002, 2_000)]
)
def test_a_selector_of_an_object_has_so_many_terms_at_most(
    target: Target, rules: int, values: int, message: int, maximum: int
) -> None:
    rule = {"key": "k", "operator": "NotIn", "values": [f"v{i}" for i in range(values)]}
    body = {
        "metadata": {"name": "wide"},
        "spec": {"minAvailable": 1, "selector": {"matchExpressions": [rule] * rules}},
    }
    path = f"/apis/policy/v1/namespaces/{NAMESPACE}/poddisruptionbudgets"
    [(field, _, text)] = target.tenant.post(path, body).causes
    assert field == "spec.selector.matchExpressions"
    assert text == f"Too many: {message}: must have at most {maximum} items"


def test_rules_beyond_some_thousands_are_not_listed_and_that_is_said(target: Target) -> None:
    group = target.dialect.group_name("rbac.authorization.@")
    subject = {"kind": "User", "name": "alice", "apiGroup": group}
    role = {"kind": "Role", "name": "r4000", "apiGroup": group}
    calls = [Call("POST", _rbac(target, "roles"), _role(4_000))]
    for number in range(10):
        binding = {"metadata": {"name": f"b{number}"}, "subjects": [subject], "roleRef": role}
        calls.append(Call("POST", _rbac(target, "rolebindings"), binding))
    reviews = f"/apis/{target.dialect.group_name('authorization.@')}/v1/selfsubjectrulesreviews"
    review = {"spec": {"namespace": NAMESPACE}}
    assert _check(target, Case([*calls, Call("POST", reviews, review)])) == [201] * 12
    status = target.tenant.post(reviews, review).body["status"]
    assert status["incomplete"] is True
    assert "there are more than 10000 rules" in status["evaluationError"]


def test_a_large_object_is_written_as_YAML_in_a_thread(target: Target) -> None:
    data = {f"k{number}": "v" * 50 for number in range(10_000)}
    create = Call("POST", core("configmaps"), {"metadata": {"name": "large"}, "data": data})
    calls = [create, Call("GET", core("configmaps"), headers={"Accept": "application/yaml"})]
    assert _check(target, Case(calls)) == [201, 200]


def test_defaults_that_do_not_fit_are_refused(target: Target) -> None:
    case = FAMILIES["defaults_of_items"].build(
        target.dialect, {"items": 4700, "size": 50_000, "fields": 1}
    )
    target.measure(case)
    answer = target.tenant.request("POST", case.calls[0].path, case.calls[0].body)
    assert (answer.status, answer.body["reason"]) == (413, "RequestEntityTooLarge")
    assert "becomes too large" in answer.message


def test_a_large_event_goes_to_many_watches_in_turns(target: Target) -> None:
    """The watches are not read: reader threads would make this process look like a slow machine."""
    path = core("configmaps")
    target.tenant.post(path, {"metadata": {"name": "watched"}})
    watches = [target.tenant.watch(path) for _ in range(250)]
    change = {"data": {"bulk": "x" * 1_000_000}}
    call = Call("PATCH", f"{path}/watched", change, "application/merge-patch+json")
    try:
        assert _check(target, Case([call])) == [200]
    finally:
        for watch in watches:
            watch.close()


def _pod(name: str, containers: int, resources: Object | None = None) -> Object:
    value = {"image": "i", "resources": resources or {}}
    listed = [{**value, "name": f"c{number}"} for number in range(containers)]
    return {"metadata": {"name": name}, "spec": {"containers": listed}}


@pytest.mark.parametrize("kind", ["default", "max"])
def test_limit_ranges_that_do_not_fit_a_pod_are_not_given_to_it(target: Target, kind: str) -> None:
    amounts = {f"example.com/r{number}": "1" for number in range(5_000)}
    ranges = [
        {
            "metadata": {"name": f"{kind}{number}"},
            "spec": {"limits": [{"type": "Container", kind: amounts}]},
        }
        for number in range(5)
    ]
    for range_ in ranges:
        assert target.tenant.post(core("limitranges"), range_).status == 201
    try:
        pods = Call("POST", core("pods"), _pod("limited", 300))
        assert _check(target, Case([pods])) == [413]
    finally:
        target.tenant.delete(core("limitranges"))


def test_pods_with_many_resources_are_counted_in_turns(target: Target) -> None:
    requests = {f"example.com/r{number}": "1" for number in range(4_000)}
    resources = {"requests": requests, "limits": requests}
    for number in range(12):
        pod = _pod(f"counted{number}", 1, resources)
        assert target.tenant.post(core("pods"), pod).status == 201
    hard = {f"requests.example.com/r{number}": "9" for number in range(3_000)}
    quota = Call(
        "POST", core("resourcequotas"), {"metadata": {"name": "many"}, "spec": {"hard": hard}}
    )
    counted = Call("GET", f"{core('resourcequotas')}/many")
    try:
        _check(target, Case([quota, *[counted] * 20]))
        until = time.monotonic() + 20
        while not target.tenant.get(counted.path).body["status"].get("used"):
            assert time.monotonic() < until
    finally:
        target.tenant.delete(core("resourcequotas"))
        target.tenant.delete(core("pods"), gracePeriodSeconds=0)


def _quota(name: str, count: int) -> Object:
    hard = {f"requests.example.com/r{number}": "999" for number in range(count)}
    return {"metadata": {"name": name}, "spec": {"hard": hard}}


def test_a_quota_limits_so_many_things_at_most(target: Target) -> None:
    answer = target.tenant.post(core("resourcequotas"), _quota("wide", 3_001))
    assert answer.causes == [
        ("spec.hard", "FieldValueTooMany", "Too many: 3001: must have at most 3000 items")
    ]


def _await_counted(target: Target, count: int) -> None:
    until = time.monotonic() + 20
    listed: list[Object] = []
    while len([item for item in listed if item["status"].get("used")]) < count:
        assert time.monotonic() < until
        listed = target.tenant.get(core("resourcequotas")).body["items"]


def test_large_quotas_are_charged_in_turns(target: Target) -> None:
    for number in range(3):
        answer = target.tenant.post(core("resourcequotas"), _quota(f"q{number}", 3_000))
        assert answer.status == 201
    _await_counted(target, 3)
    requests = {f"example.com/r{number}": "1" for number in range(3_000)}
    pod = _pod("charged", 1, {"requests": requests, "limits": requests})
    pod["metadata"] = {"generateName": "charged-"}
    try:
        assert _check(target, Case([Call("POST", core("pods"), pod, times=4)])) == [201] * 4
        for quota in target.tenant.get(core("resourcequotas")).body["items"]:
            assert set(quota["status"]["used"].values()) == {"4"}
    finally:
        target.tenant.delete(core("resourcequotas"))
        target.tenant.delete(core("pods"), gracePeriodSeconds=0)


def test_a_write_is_charged_to_so_many_quotas_at_most(target: Target) -> None:
    for number in range(6):
        assert target.tenant.post(core("resourcequotas"), _quota(f"q{number}", 3_000)).status == 201
    _await_counted(target, 6)
    try:
        assert target.tenant.post(core("pods"), _pod("free", 1)).status == 201
        value = {"example.com/r1": "1"}
        answer = target.tenant.post(
            core("pods"), _pod("dear", 1, {"requests": value, "limits": value})
        )
        assert answer.status == 403
        assert "too many or too large to be charged" in answer.message
    finally:
        target.tenant.delete(core("resourcequotas"))
        target.tenant.delete(core("pods"), gracePeriodSeconds=0)


def _cron_job(name: str, schedule: str) -> Object:
    pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}
    job = {"spec": {"template": {"spec": pod}}}
    return {"metadata": {"name": name}, "spec": {"schedule": schedule, "jobTemplate": job}}


def test_a_long_schedule_is_read_in_a_thread(target: Target) -> None:
    path = f"/apis/batch/v1/namespaces/{NAMESPACE}/cronjobs"
    assert target.tenant.post(path, _cron_job("short", "0 0 1 1 *")).status == 201
    long = ",".join(["1-59/1"] * 30_000) + " 0 1 1 *"
    create = Call("POST", path, _cron_job("long", long))
    look = Call("GET", f"{path}/short")
    assert _check(target, Case([create, *[look] * 20])) == [201] + [200] * 20


def _labelled(name: str, **metadata: object) -> Object:
    pod = _pod(name, 1)
    return {**pod, "metadata": {"name": name, "labels": {"app": "a"}, **metadata}}


def _post_all(target: Target, path: str, bodies: Iterable[Object]) -> None:
    for body in bodies:
        answer = target.tenant.post(path, body)
        assert answer.status == 201, answer.text


def test_many_budgets_of_the_same_pods_hear_of_them_in_turns(target: Target) -> None:
    path = f"/apis/policy/v1/namespaces/{NAMESPACE}/poddisruptionbudgets"
    rule = {"key": "app", "operator": "NotIn", "values": [f"v{n}" for n in range(2_000)]}
    spec = {"minAvailable": 1, "selector": {"matchExpressions": [rule]}}
    budgets = [{"metadata": {"name": f"b{number}"}, "spec": spec} for number in range(100)]
    _post_all(target, core("pods"), (_labelled(f"p{number}") for number in range(100)))
    _post_all(target, path, budgets)
    gone = Call("DELETE", f"{core('pods')}?gracePeriodSeconds=0")
    try:
        assert _check(target, Case([gone])) == [200]
    finally:
        target.tenant.delete(path)


def test_a_service_of_many_ports_is_published_in_a_thread(target: Target) -> None:
    pods = [_labelled(f"p{number}") for number in range(80)]
    _post_all(target, core("pods"), pods)
    for number in range(80):
        ip = f"10.0.0.{number}"
        status = {"phase": "Running", "podIP": ip, "podIPs": [{"ip": ip}]}
        path = f"{core('pods')}/p{number}/status"
        assert target.tenant.patch(path, {"status": status}).status == 200
    ports = [{"name": f"n{number}", "port": number + 1} for number in range(2_000)]
    spec = {"clusterIP": "None", "selector": {"app": "a"}, "ports": ports}
    create = Call("POST", core("services"), {"metadata": {"name": "wide"}, "spec": spec})
    look = Call("GET", f"{core('services')}/wide")
    try:
        assert _check(target, Case([create, *[look] * 40])) == [201] + [200] * 40
    finally:
        target.tenant.delete(f"{core('services')}/wide")
        target.tenant.delete(core("pods"), gracePeriodSeconds=0)


def test_large_dependents_are_set_free_in_turns(target: Target) -> None:
    owner = target.tenant.post(core("configmaps"), {"metadata": {"name": "owner"}}).body
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner"}
    reference["uid"] = owner["metadata"]["uid"]
    metadata = {"labels": {"owned": "yes"}, "ownerReferences": [reference]}
    data = {f"k{number}": "v" for number in range(4_000)}
    dependents = [
        {"metadata": {"name": f"d{number}", **metadata}, "data": data} for number in range(100)
    ]
    _post_all(target, core("configmaps"), dependents)
    gone = Call("DELETE", f"{core('configmaps')}/owner?propagationPolicy=Orphan")
    look = Call("GET", target.victim_path.replace("/default/", f"/{NAMESPACE}/"))
    try:
        _check(target, Case([gone, *[look] * 100]))
    finally:
        target.tenant.delete(core("configmaps"), labelSelector="owned=yes")


def test_a_workload_reads_the_pods_of_its_namespace_in_turns(target: Target) -> None:
    metadata = {"annotations": {f"k{number}": "v" for number in range(8_000)}}
    _post_all(target, core("pods"), (_labelled(f"p{n}", **metadata) for n in range(60)))
    template = {
        "metadata": {"labels": {"app": "b"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    spec = {"replicas": 0, "selector": {"matchLabels": {"app": "b"}}, "template": template}
    path = f"/apis/apps/v1/namespaces/{NAMESPACE}/replicasets"
    warm = {"metadata": {"name": "first"}, "spec": spec}
    create = Call("POST", path, {"metadata": {"name": "second"}, "spec": spec})
    try:
        assert _check(target, Case([Call("POST", path, warm), create])) == [201, 201]
    finally:
        target.tenant.delete(path)
        target.tenant.delete(core("pods"), gracePeriodSeconds=0)


@pytest.fixture
def webhook(target: Target, tmp_path: Path) -> Iterator[WebhookServer]:
    """About the config maps of the tenant's namespace, at the path /m."""
    server = WebhookServer(tmp_path)
    group = target.dialect.group_name("admissionregistration.@")
    path = f"/apis/{group}/v1/mutatingwebhookconfigurations"
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["configmaps"],
    }
    hook = {
        "name": "m.example.com",
        "clientConfig": {"url": server.url("/m"), "caBundle": server.bundle},
        "rules": [rule],
        "namespaceSelector": {
            "matchLabels": {target.dialect.label("@/metadata.name"): NAMESPACE},
        },
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    answer = target.admin.post(path, {"metadata": {"name": "m"}, "webhooks": [hook]})
    assert answer.status == 201, answer.text
    yield server
    target.admin.delete(f"{path}/m")
    server.close()


def test_a_large_patch_of_a_webhook_is_read_in_a_thread(
    target: Target, webhook: WebhookServer
) -> None:
    webhook.serve("/m", patching({"op": "add", "path": "/data", "value": [{}] * 1_000_000}))
    create = Call("POST", core("configmaps"), {"metadata": {"name": "patched"}})
    assert _check(target, Case([create])) == [413]


def test_an_answer_of_a_webhook_has_so_many_values_at_most(
    target: Target, webhook: WebhookServer
) -> None:
    webhook.serve("/m", lambda request: (200, b'{"x":[' + b"[]," * 5_000_000 + b"1]}"))
    damage = target.measure(
        Case([Call("POST", core("configmaps"), {"metadata": {"name": "answered"}})])
    )
    assert damage.answers == [500]  # the failure of a webhook is one of the server
    assert in_time(damage.held, MAX_SECONDS), damage
    assert damage.grown < MAX_BYTES, damage
