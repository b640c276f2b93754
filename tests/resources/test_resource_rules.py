"""Claims, classes and slices of devices."""

from __future__ import annotations

from typing import Any

import pytest
from support.group_rules import Found, Kind, duplicate, forbidden, invalid, required

from fairlead.base.dialect import KUBERNETES
from fairlead.base.release import V1_36

Object = dict[str, Any]
CLAIM = Kind("resource/v1/resourceclaims", KUBERNETES, V1_36)
CLASS = Kind("resource/v1/deviceclasses", KUBERNETES, V1_36)
SLICE = Kind("resource/v1/resourceslices", KUBERNETES, V1_36)
EXACTLY = {"deviceClassName": "gpu"}
REQUESTS = "spec.devices.requests"
EXPRESSION = "spec.selectors[0].cel.expression"
UNKNOWN = (
    "compilation failed: ERROR: <input>:1:7: undefined field 'speed'\n"
    " | device.speed > 1\n"
    " | ......^"
)
ONE_REQUEST = (
    "must be the name of a request in the claim or the name of a request and a subrequest separated"
    " by '/'"
)


def claim(*requests: Object, **devices: Any) -> Object:
    return {"metadata": {}, "spec": {"devices": {"requests": list(requests), **devices}}}


def test_requests_get_a_mode_and_a_count() -> None:
    created = CLAIM.existing(claim({"name": "r", "exactly": EXACTLY}))
    exactly = created["spec"]["devices"]["requests"][0]["exactly"]
    assert (exactly["allocationMode"], exactly["count"]) == ("ExactCount", 1)


@pytest.mark.parametrize(
    ("value", "causes"),
    [
        (
            claim({"name": "r"}, {"name": "r", "exactly": {}}),
            [
                required(
                    f"{REQUESTS}[0]", "exactly one of `exactly` or `firstAvailable` is required"
                ),
                required(f"{REQUESTS}[1].exactly.deviceClassName"),
                duplicate(f"{REQUESTS}[1]", '"r"'),
            ],
        ),
        (
            claim({"name": "r", "exactly": {**EXACTLY, "allocationMode": "All", "count": 2}}),
            [
                invalid(
                    f"{REQUESTS}[0].exactly.count",
                    "2",
                    "must not be specified when allocationMode is 'All'",
                )
            ],
        ),
        (
            claim(
                {"name": "r", "exactly": EXACTLY},
                constraints=[{"requests": ["q"], "matchAttribute": "a.com/b"}],
            ),
            [invalid("spec.devices.constraints[0].requests[0]", '"q"', ONE_REQUEST)],
        ),
        (
            claim({"name": "r", "exactly": {**EXACTLY, "adminAccess": True}}),
            [
                forbidden(
                    f"{REQUESTS}[0].adminAccess",
                    "admin access to devices requires the `resource.kubernetes.io/admin-access:"
                    " true` label on the containing namespace",
                )
            ],
        ),
    ],
)
def test_claims_that_are_refused(value: Object, causes: Found) -> None:
    assert CLAIM.wrong(value) == causes


def test_a_changed_template_is_checked_and_refused() -> None:
    template = Kind("resource/v1/resourceclaimtemplates", KUBERNETES, V1_36)
    request = {"name": "r", "exactly": EXACTLY}
    old = template.existing({"spec": {"spec": claim(request)["spec"]}})
    _, causes = template.update(old, {"spec": {"spec": claim({"name": "r"})["spec"]}})
    path = "spec.spec.devices.requests[0]"
    detail = "exactly one of `exactly` or `firstAvailable` is required"
    assert causes[0] == required(path, detail)
    assert [field for field, *_ in causes] == [path, "spec"]


def test_a_refused_change_shows_empty_lists() -> None:
    request = {"name": "r", "exactly": EXACTLY}
    _, causes = CLAIM.update(CLAIM.existing(claim(request)), claim(request, constraints=[]))
    assert causes == []  # the same as without
    _, causes = CLAIM.update(CLAIM.existing(claim(request)), claim(constraints=[]))
    shown = '{"Devices":{"Requests":[],"Constraints":[],"Config":null}}'
    assert causes == [invalid("spec", shown, "field is immutable")]


def test_the_spec_of_a_claim_is_immutable() -> None:
    old = CLAIM.existing(claim({"name": "r", "exactly": EXACTLY}))
    _, causes = CLAIM.update(old, claim({"name": "q", "exactly": EXACTLY}))
    assert [each for each in causes if "spec" in each[:2]] == causes != []


def selecting(expression: str) -> Object:
    return {"metadata": {}, "spec": {"selectors": [{"cel": {"expression": expression}}]}}


@pytest.mark.parametrize(
    "expression",
    [
        "device.driver == 'a.com' && device.capacity['a.com'].mem.isGreaterThan(quantity('1Gi'))",
        "device.attributes['a.com'].fast",
        "'model' in device.attributes['a.com'] && device.allowMultipleAllocations",
    ],
)
def test_expressions_that_select_devices(expression: str) -> None:
    CLASS.existing(selecting(expression))


@pytest.mark.parametrize(
    ("expression", "causes"),
    [
        ("device.speed > 1", [invalid(EXPRESSION, '"device.speed > 1"', UNKNOWN)]),
        (
            "1",
            [invalid(EXPRESSION, '"1"', "must evaluate to bool or the unknown type, not int")],
        ),
        (
            "device.attributes.all(a, device.attributes.all(b, device.attributes.all(c,"
            " device.attributes.all(d, device.attributes.all(e, true)))))",
            [forbidden(EXPRESSION, "too complex, exceeds cost limit")],
        ),
    ],
)
def test_expressions_that_are_refused(expression: str, causes: Found) -> None:
    assert CLASS.wrong(selecting(expression)) == causes


def test_selectors_are_bounded_in_total_and_equal_ones_count_once() -> None:
    def requests(*expressions: str) -> Object:
        selectors = [{"cel": {"expression": each}} for each in expressions]
        return claim({"name": "r", "exactly": {**EXACTLY, "selectors": selectors}})

    def long(number: int) -> str:
        return f"'{'x' * 10_000}' != '{number}'"

    CLAIM.existing(requests(*[long(0)] * 32))
    many = requests(*(long(number) for number in range(32)))
    path = f"{REQUESTS}[0].exactly.selectors[13].cel.expression"
    detail = "too long, different selectors may have 131072 bytes in total"
    assert CLAIM.wrong(many) == [forbidden(path, detail)]


def device_slice(*devices: Object, **spec: Any) -> Object:
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    fields = {"driver": "a.com", "pool": pool, "allNodes": True, "devices": list(devices), **spec}
    return {"metadata": {}, "spec": fields}


def test_a_slice_has_at_most_128_devices_and_64_with_taints() -> None:
    SLICE.existing(device_slice(*({"name": f"d{index}"} for index in range(128))))
    many = [{"name": f"d{index}"} for index in range(129)]
    tainted = [{**each, "taints": [{"key": "k", "effect": "None"}]} for each in many[:65]]
    for devices in (many, tainted):
        ((_, path, text),) = SLICE.wrong(device_slice(*devices))
        assert "Too many" in text or "Too many" in path


def test_taints_get_a_time() -> None:
    created = SLICE.existing(
        device_slice({"name": "d", "taints": [{"key": "k", "effect": "NoSchedule"}]})
    )
    assert created["spec"]["devices"][0]["taints"][0]["timeAdded"]


def test_a_slice_belongs_to_some_nodes() -> None:
    detail = (
        "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is"
        " required"
    )
    value = device_slice({"name": "d"})
    del value["spec"]["allNodes"]
    assert SLICE.wrong(value) == [required("spec", detail)]
