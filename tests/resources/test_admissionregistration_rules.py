"""Rules of webhook configurations."""

from __future__ import annotations

from typing import Any

import pytest
from support.group_rules import Kind, changed, duplicate, invalid, required, unsupported

from fairlead.base.dialect import KUBERNETES
from fairlead.base.release import V1_25, V1_36, Release
from fairlead.codec.types.names import dns_1035_label, dns_subdomain, qualified_name

VALIDATING = "admissionregistration/v1/validatingwebhookconfigurations"
MUTATING = "admissionregistration/v1/mutatingwebhookconfigurations"
RULE = {
    "operations": ["CREATE"],
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "resources": ["pods"],
}
HOOK: dict[str, Any] = {
    "name": "w.example.com",
    "clientConfig": {"url": "https://nowhere.example.com/x"},
    "admissionReviewVersions": ["v1"],
    "sideEffects": "None",
    "rules": [RULE],
}
W = "webhooks[0]"
URL = f"{W}.clientConfig.url"
SERVICE = f"{W}.clientConfig.service"
R = f"{W}.rules[0]"
FORM = "; desired format: https://host[/path]"
ONE = "exactly one of url or service is required"


NO_URLS = [
    ("https://x y", 'invalid character " " in host name'),
    ("https://x%20y/", 'invalid URL escape "%20"'),
    ("https://[::1", "missing ']' in host"),
    ("https://[::1]y", 'invalid port "y" after host'),
    ("https://x:y:z/", 'invalid port ":z" after host'),
    ("https://u v@x/", "net/url: invalid userinfo"),
    ("1:x", "first path segment in URL cannot contain colon"),
]


def _no_url(url: str, wrong: str) -> tuple[str, str, str]:
    return required(URL, f'url must be a valid URL: parse "{url}": {wrong}{FORM}')


def _url(url: str) -> dict[str, Any]:
    return {"clientConfig": {"url": url}}


def _service(**service: Any) -> dict[str, Any]:
    return {"clientConfig": {"service": {"namespace": "n", "name": "s", **service}}}


@pytest.mark.parametrize(
    ("changes", "causes"),
    [
        ({}, []),
        ({"name": ""}, [required(f"{W}.name")]),
        (
            {"name": "short.name"},
            [
                invalid(
                    f"{W}.name",
                    '"short.name"',
                    "should be a domain with at least three segments separated by dots",
                )
            ],
        ),
        ({"name": "Bad_"}, [invalid(f"{W}.name", '"Bad_"', dns_subdomain("Bad_")[0])]),
        ({"clientConfig": {}}, [required(f"{W}.clientConfig", ONE)]),
        (
            {"clientConfig": {"url": "https://x", "service": {"namespace": "n", "name": "s"}}},
            [required(f"{W}.clientConfig", ONE)],
        ),
        (
            _url("http://x/y"),
            [invalid(URL, '"http"', f"'https' is the only allowed URL scheme{FORM}")],
        ),
        (
            _url("https://u:p@x/y?z=1#f"),
            [
                invalid(URL, '"u:p"', "user information is not permitted in the URL"),
                invalid(URL, '"f"', "fragments are not permitted in the URL"),
                invalid(URL, '"z=1"', "query parameters are not permitted in the URL"),
            ],
        ),
        (_url("https://"), [invalid(URL, '""', f"host must be provided{FORM}")]),
        (
            _url(":bad"),
            [
                required(
                    URL, f'url must be a valid URL: parse ":bad": missing protocol scheme{FORM}'
                )
            ],
        ),
        (
            _url("https://x/%zz"),
            [
                required(
                    URL,
                    'url must be a valid URL: parse "https://x/%zz": invalid URL escape "%zz"'
                    + FORM,
                )
            ],
        ),
        (_url("https://x]/"), []),
        (_url("https://x:80:90"), []),
        *((_url(url), [_no_url(url, wrong)]) for url, wrong in NO_URLS),
        (_service(path="/a/b/"), []),
        (
            _service(namespace="", name=""),
            [
                required(f"{SERVICE}.name", "service name is required"),
                required(f"{SERVICE}.namespace", "service namespace is required"),
            ],
        ),
        (
            _service(port=0),
            [
                invalid(
                    f"{SERVICE}.port",
                    "0",
                    "port is not valid: must be between 1 and 65535, inclusive",
                )
            ],
        ),
        (
            _service(path="x"),
            [
                invalid(f"{SERVICE}.path", '"x"', "must start with a '/'"),
                invalid(f"{SERVICE}.path", '"x"', "segment[0] may not be empty"),
            ],
        ),
        (
            _service(path="/a//B"),
            [
                invalid(f"{SERVICE}.path", '"/a//B"', "segment[1] may not be empty"),
                invalid(f"{SERVICE}.path", '"/a//B"', f"segment[2]: {dns_subdomain('B')[0]}"),
            ],
        ),
        (
            {"failurePolicy": "x", "matchPolicy": "y"},
            [
                unsupported(f"{W}.failurePolicy", '"x"', "Fail", "Ignore"),
                unsupported(f"{W}.matchPolicy", '"y"', "Equivalent", "Exact"),
            ],
        ),
        (
            {"sideEffects": None},
            [required(f"{W}.sideEffects", "must specify one of None, NoneOnDryRun")],
        ),
        (
            {"sideEffects": "Some"},
            [unsupported(f"{W}.sideEffects", '"Some"', "None", "NoneOnDryRun")],
        ),
        *(
            (
                {"timeoutSeconds": seconds},
                [
                    invalid(
                        f"{W}.timeoutSeconds",
                        str(seconds),
                        "the timeout value must be between 1 and 30 seconds",
                    )
                ],
            )
            for seconds in (0, 31)
        ),
        (
            {"namespaceSelector": {"matchLabels": {"bad key": "x"}}},
            [
                invalid(
                    f"{W}.namespaceSelector.matchLabels",
                    '"bad key"',
                    qualified_name("bad key")[0],
                )
            ],
        ),
        (
            {"admissionReviewVersions": []},
            [required(f"{W}.admissionReviewVersions", "must specify one of v1, v1beta1")],
        ),
        (
            {"admissionReviewVersions": ["v9", "v9", "Bad_"]},
            [
                invalid(f"{W}.admissionReviewVersions[1]", '"v9"', "duplicate version"),
                invalid(f"{W}.admissionReviewVersions[2]", '"Bad_"', dns_1035_label("Bad_")[0]),
                invalid(
                    f"{W}.admissionReviewVersions",
                    '[]string{"v9", "v9", "Bad_"}',
                    "must include at least one of v1, v1beta1",
                ),
            ],
        ),
    ],
)
def test_webhook(changes: dict[str, Any], causes: list[Any]) -> None:
    for key in (VALIDATING, MUTATING):
        assert Kind(key).wrong({"webhooks": [{**HOOK, **changes}]}) == causes


@pytest.mark.parametrize(
    ("changes", "causes"),
    [
        ({"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}, []),
        (
            {"operations": [], "apiGroups": [], "apiVersions": [], "resources": []},
            [required(f"{R}.{name}") for name in RULE],
        ),
        (
            {"operations": ["*", "READ"]},
            [
                invalid(
                    f"{R}.operations",
                    '[]admissionregistration.OperationType{"*", "READ"}',
                    "if '*' is present, must not specify other operations",
                ),
                unsupported(
                    f"{R}.operations[1]", '"READ"', "*", "CONNECT", "CREATE", "DELETE", "UPDATE"
                ),
            ],
        ),
        (
            {"apiGroups": ["*", "a"], "apiVersions": ["*", ""]},
            [
                invalid(
                    f"{R}.apiGroups",
                    '[]string{"*", "a"}',
                    "if '*' is present, must not specify other API groups",
                ),
                invalid(
                    f"{R}.apiVersions",
                    '[]string{"*", ""}',
                    "if '*' is present, must not specify other API versions",
                ),
                required(f"{R}.apiVersions[1]"),
            ],
        ),
        ({"resources": ["pods", "pods/*", "*/status"]}, []),
        (
            {"resources": ["*", "pods"]},
            [
                invalid(
                    f"{R}.resources",
                    '[]string{"*", "pods"}',
                    "if '*' is present, must not specify other resources without subresources",
                )
            ],
        ),
        (
            {"resources": ["pods/*", "pods/log", "*/scale", "a/scale", ""]},
            [
                invalid(
                    f"{R}.resources[1]",
                    '"pods/log"',
                    "if 'pods/*' is present, must not specify pods/log",
                ),
                invalid(
                    f"{R}.resources[3]",
                    '"a/scale"',
                    "if '*/scale' is present, must not specify a/scale",
                ),
                required(f"{R}.resources[4]"),
            ],
        ),
        (
            {"resources": ["*/*", "a/b"]},
            [
                invalid(
                    f"{R}.resources",
                    '[]string{"*/*", "a/b"}',
                    "if '*/*' is present, must not specify other resources",
                )
            ],
        ),
        (
            {"scope": "Galaxy"},
            [unsupported(f"{R}.scope", '"Galaxy"', "*", "Cluster", "Namespaced")],
        ),
    ],
)
def test_rule(changes: dict[str, Any], causes: list[Any]) -> None:
    value = {"webhooks": [{**HOOK, "rules": [{**RULE, **changes}]}]}
    assert Kind(VALIDATING).wrong(value) == causes


def test_names_are_unique() -> None:
    causes = Kind(VALIDATING).wrong({"webhooks": [HOOK, HOOK]})
    assert causes == [duplicate("webhooks[1].name", '"w.example.com"')]


def test_only_mutating_webhooks_are_reinvoked() -> None:
    value = {"webhooks": [{**HOOK, "reinvocationPolicy": "Always"}]}
    causes = Kind(MUTATING).wrong(value)
    assert causes == [unsupported(f"{W}.reinvocationPolicy", '"Always"', "IfNeeded", "Never")]
    assert Kind(VALIDATING).wrong(value) == []


def test_an_update_bears_with_what_was_there() -> None:
    kind = Kind(VALIDATING)
    old = kind.existing({"webhooks": [HOOK]})
    lax = {**HOOK, "sideEffects": "Unknown", "admissionReviewVersions": ["v9"]}
    assert len(kind.update(old, {"webhooks": [lax]})[1]) == 2
    new, causes = kind.update(kind.decode({"webhooks": [lax, lax]}), {"webhooks": [lax, lax]})
    assert causes == []
    new, _ = kind.update(old, changed({"webhooks": [HOOK]}, {"webhooks[0].timeoutSeconds": 5}))
    assert new["metadata"]["generation"] == 2


def test_a_policy_that_is_given_as_an_empty_text_is_refused() -> None:
    policies = Kind("admissionregistration/v1/validatingadmissionpolicies", KUBERNETES, V1_36)
    rule = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"]}
    spec = {
        "failurePolicy": "",
        "matchConstraints": {"matchPolicy": "", "resourceRules": [rule]},
        "validations": [{"expression": "true"}],
    }
    assert policies.wrong({"metadata": {"name": "p"}, "spec": spec}) == [
        unsupported("spec.failurePolicy", '""', "Fail", "Ignore"),
        unsupported("spec.matchConstraints.matchPolicy", '""', "Equivalent", "Exact"),
    ]


@pytest.mark.parametrize("release", [V1_25, V1_36])
def test_a_missing_namespace_of_a_service_is_told_as_its_name(release: Release) -> None:
    webhooks = Kind("admissionregistration/v1/validatingwebhookconfigurations", KUBERNETES, release)
    webhook = {
        "name": "a.b.c",
        "clientConfig": {"service": {"name": "s", "namespace": ""}},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    found = webhooks.wrong({"metadata": {"name": "w"}, "webhooks": [webhook]})
    assert [field for field, _, _ in found] == ["webhooks[0].clientConfig.service.name"]
