"""Forms of an answer: JSON and YAML, pretty, Tables, metadata only, Accept lists and gzip."""

from __future__ import annotations

import gzip
import json

import pytest
from support.client import Answer
from support.namespaces import Space


def accept(space: Space, *forms: str) -> dict[str, str]:
    """An Accept header; a form is `Table`, `PartialObjectMetadata`... or a whole media type."""
    parts = [
        form if "/" in form else f"application/json;as={form};g={space.dialect.meta_group};v=v1"
        for form in forms
    ]
    return {"Accept": ", ".join(parts)}


def read(space: Space, *forms: str, name: str = "a", **query: str) -> Answer:
    return space.client.get(space.secrets.item(name), headers=accept(space, *forms), **query)


def list_as(space: Space, *forms: str, **query: str) -> Answer:
    return space.client.get(space.secrets.path, headers=accept(space, *forms), **query)


@pytest.fixture
def filled(space: Space) -> Space:
    space.secrets.create("a", data={"k": "dg=="}, labels={"x": "1"})
    space.secrets.create("b")
    return space


def test_json_is_the_default(filled: Space) -> None:
    for headers in (None, {"Accept": "*/*"}, {"Accept": "application/json"}, {"Accept": ""}):
        answer = filled.client.get(filled.secrets.item("a"), headers=headers)
        assert answer.headers["Content-Type"] == "application/json"
        assert answer.body["kind"] == "Secret"


def test_an_object_is_read_as_yaml(filled: Space) -> None:
    answer = read(filled, "application/yaml")
    assert answer.headers["Content-Type"] == "application/yaml"
    assert answer.raw.startswith(b"apiVersion: v1\ndata:\n  k: dg==\nkind: Secret\n")
    assert answer.body["metadata"]["uid"] == filled.secrets.read("a")["metadata"]["uid"]


def test_a_list_is_read_as_yaml(filled: Space) -> None:
    answer = list_as(filled, "application/yaml")
    assert answer.names == ["a", "b"]


@pytest.mark.both_dialects
def test_a_review_is_read_as_yaml(space: Space) -> None:
    group = space.dialect.group_name("authorization.@")
    path = f"/apis/{group}/v1/selfsubjectaccessreviews"
    body = {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}
    answer = space.client.post(path, body, headers={"Accept": "application/yaml"})
    (entry,) = answer.body["metadata"]["managedFields"]
    assert list(entry["fieldsV1"]["f:spec"]) == ["f:resourceAttributes"]


def test_yaml_keeps_text_that_looks_like_something_else(space: Space) -> None:
    data = {"a": "yes", "b": "1.0", "c": "null", "d": "2001-01-01", "e": "0x1F", "f": "~", "g": ""}
    space.config_maps.create("a", data=data)
    answer = space.client.get(space.config_maps.item("a"), headers={"Accept": "application/yaml"})
    assert answer.body["data"] == data


def test_what_yaml_wrote_yaml_reads(space: Space) -> None:
    config_map = space.config_maps.create(
        "a", data={"k": "two\nlines\n", "l": "  edge ", "m": "é☃"}
    )
    text = space.client.get(space.config_maps.item("a"), headers={"Accept": "application/yaml"}).raw
    answer = space.client.put(
        space.config_maps.item("a"), text, headers={"Content-Type": "application/yaml"}
    )
    assert answer.body == config_map


def test_writes_are_answered_in_yaml_too(space: Space) -> None:
    answer = space.client.post(
        space.secrets.path, {"metadata": {"name": "a"}}, headers={"Accept": "application/yaml"}
    )
    assert (answer.status, answer.body["kind"]) == (201, "Secret")
    answer = space.client.delete(space.secrets.item("a"), headers={"Accept": "application/yaml"})
    assert answer.raw.startswith(b"apiVersion: v1\ndetails:\n  kind: secrets\n  name: a\n")


def test_yaml_in_goes_by_its_own_rules(space: Space) -> None:
    text = (
        "# a comment\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"
        '  labels: {x: "1"}\ndata:\n  k: |\n    two\n    lines\n'
    )
    answer = space.client.post(
        space.config_maps.path, text, headers={"Content-Type": "application/yaml; charset=utf-8"}
    )
    assert (answer.status, answer.body["data"]) == (201, {"k": "two\nlines\n"})


def test_a_number_in_yaml_is_no_text(space: Space) -> None:
    text = "metadata: {name: a}\ndata: {k: 5}\n"
    answer = space.client.post(
        space.config_maps.path, text, headers={"Content-Type": "application/yaml"}
    )
    assert answer.status == 400
    assert answer.message.endswith(
        "json: cannot unmarshal number into Go struct field ConfigMap.data of type string"
    )


def test_broken_yaml_is_refused_with_its_line(space: Space) -> None:
    answer = space.client.post(
        space.config_maps.path, "a: [\n", headers={"Content-Type": "application/yaml"}
    )
    assert answer.status == 400
    assert answer.message == (
        "the object provided is unrecognized (must be of type ConfigMap): yaml: line 1: did not"
        " find expected node content (613a205b0a)"
    )


def test_what_a_yaml_alias_stands_for_is_not_shared(space: Space) -> None:
    """The server adds labels to a job's template; the labels of the job itself stay as sent."""
    text = """
metadata:
  name: a
  labels: &labels {app: web}
spec:
  template:
    metadata: {labels: *labels}
    spec:
      restartPolicy: Never
      containers: [{name: c, image: i}]
"""
    jobs = space.collection("jobs", "batch")
    answer = space.client.post(jobs.path, text, headers={"Content-Type": "application/yaml"})
    assert answer.status == 201, answer.text
    assert answer.body["metadata"]["labels"] == {"app": "web"}
    assert len(answer.body["spec"]["template"]["metadata"]["labels"]) > 1


@pytest.mark.parametrize("value", ["true", "1", ""])
def test_pretty_is_indented(filled: Space, value: str) -> None:
    answer = filled.secrets.get("a", pretty=value)
    assert answer.raw.startswith(b'{\n  "kind": "Secret",\n  "apiVersion": "v1",\n')
    assert answer.raw.endswith(b"\n}\n") or answer.raw.endswith(b"\n}")
    assert answer.body == filled.secrets.read("a")


@pytest.mark.parametrize("value", ["false", "0"])
def test_pretty_can_be_declined(filled: Space, value: str) -> None:
    answer = filled.client.get(
        filled.secrets.item("a"), headers={"User-Agent": "curl/8"}, pretty=value
    )
    assert answer.raw.count(b"\n") <= 1


@pytest.mark.parametrize("agent", ["curl/8.1", "Wget/1.21", "Mozilla/5.0 (X11)"])
def test_people_get_it_pretty_without_asking(filled: Space, agent: str) -> None:
    answer = filled.client.get(filled.secrets.item("a"), headers={"User-Agent": agent})
    assert answer.raw.startswith(b"{\n  ")


def test_pretty_lists_and_errors(filled: Space) -> None:
    assert filled.secrets.list(pretty="true").raw.startswith(b'{\n  "kind": "SecretList"')
    assert filled.secrets.get("no", pretty="true").raw.startswith(b'{\n  "kind": "Status"')


def test_pretty_can_be_a_parameter_of_the_media_type(filled: Space) -> None:
    assert read(filled, "application/json;pretty=1").raw.startswith(b"{\n  ")


@pytest.mark.both_dialects
def test_a_list_as_a_table(filled: Space) -> None:
    answer = list_as(filled, "Table")
    body = answer.body
    assert (body["kind"], body["apiVersion"]) == ("Table", f"{filled.dialect.meta_group}/v1")
    assert [column["name"] for column in body["columnDefinitions"]][:1] == ["Name"]
    assert all({"name", "type"} <= set(column) for column in body["columnDefinitions"])
    assert [row["cells"][0] for row in body["rows"]] == ["a", "b"]
    assert all(len(row["cells"]) == len(body["columnDefinitions"]) for row in body["rows"])
    assert body["metadata"]["resourceVersion"].isdigit()


def test_an_item_as_a_table(filled: Space) -> None:
    body = read(filled, "Table").body
    assert body["kind"] == "Table"
    assert [row["cells"][0] for row in body["rows"]] == ["a"]


def test_a_table_of_nothing_still_has_columns(space: Space) -> None:
    body = list_as(space, "Table").body
    assert body["rows"] == []
    assert body["columnDefinitions"]


def test_rows_include_metadata_unless_told_otherwise(filled: Space) -> None:
    for query in ({}, {"includeObject": "Metadata"}, {"includeObject": ""}):
        [row, _] = list_as(filled, "Table", **query).body["rows"]
        assert row["object"]["kind"] == "PartialObjectMetadata"
        assert row["object"]["metadata"]["name"] == "a"
        assert "data" not in row["object"]


def test_rows_can_include_the_whole_object(filled: Space) -> None:
    [row, _] = list_as(filled, "Table", includeObject="Object").body["rows"]
    assert row["object"] == filled.secrets.read("a")


def test_rows_can_include_nothing(filled: Space) -> None:
    [row, _] = list_as(filled, "Table", includeObject="None").body["rows"]
    assert row["object"] is None


def test_another_wish_for_rows_is_refused(filled: Space) -> None:
    answer = list_as(filled, "Table", includeObject="Everything")
    assert (answer.status, answer.message) == (
        400,
        'Unable to convert to Table as requested: includeObject: Invalid value: "Everything":'
        " must be 'Metadata', 'Object', 'None', or empty",
    )


def test_the_wish_for_rows_means_nothing_outside_tables(filled: Space) -> None:
    assert filled.secrets.list(includeObject="Everything").status == 200


@pytest.mark.both_dialects
def test_tables_come_in_two_versions(filled: Space) -> None:
    group = filled.dialect.meta_group
    for version in ("v1", "v1beta1"):
        form = f"application/json;as=Table;g={group};v={version}"
        assert list_as(filled, form).body["apiVersion"] == f"{group}/{version}"


@pytest.mark.both_dialects
def test_a_table_can_be_yaml(filled: Space) -> None:
    form = f"application/yaml;as=Table;g={filled.dialect.meta_group};v=v1"
    answer = list_as(filled, form)
    assert answer.body["kind"] == "Table"


def test_created_objects_can_be_answered_as_tables(space: Space) -> None:
    answer = space.client.post(
        space.secrets.path, {"metadata": {"name": "a"}}, headers=accept(space, "Table")
    )
    assert (answer.status, answer.body["kind"]) == (201, "Table")


def test_the_default_table_has_name_and_creation_time_as_specified(cluster: Space) -> None:
    cluster.collection("controllerrevisions", "apps")
    columns = cluster.client.get(
        cluster.everywhere("csinodes", "storage.@").path, headers=accept(cluster, "Table")
    ).body["columnDefinitions"]
    assert columns[0]["name"] == "Name"


@pytest.mark.both_dialects
def test_an_items_metadata_alone(filled: Space) -> None:
    body = read(filled, "PartialObjectMetadata").body
    assert (body["kind"], body["apiVersion"]) == (
        "PartialObjectMetadata",
        f"{filled.dialect.meta_group}/v1",
    )
    assert body["metadata"] == filled.secrets.read("a")["metadata"]
    assert set(body) == {"kind", "apiVersion", "metadata"}


def test_a_lists_metadata_alone(filled: Space) -> None:
    answer = list_as(filled, "PartialObjectMetadataList")
    assert answer.body["kind"] == "PartialObjectMetadataList"
    assert answer.names == ["a", "b"]
    assert answer.version.isdigit()
    assert all("data" not in item for item in answer.body["items"])


def test_an_items_form_on_a_list_and_the_other_way_round_are_406(filled: Space) -> None:
    many = list_as(filled, "PartialObjectMetadata", "application/json")
    assert (many.status, many.message) == (
        406,
        "you requested PartialObjectMetadata, but the requested object is a list"
        " (*core.SecretList)",
    )
    answer = read(filled, "PartialObjectMetadataList", "application/json")
    assert (answer.status, answer.message) == (
        406,
        "you requested PartialObjectMetadataList, but the requested object is not a list"
        " (*core.Secret)",
    )


def test_a_watch_of_lists_ends_with_the_first_event(filled: Space) -> None:
    answer = list_as(filled, "PartialObjectMetadataList", watch="1", timeoutSeconds="20")
    assert (answer.status, answer.raw) == (200, b"")


@pytest.mark.both_dialects
@pytest.mark.parametrize("rest", ["", ",application/json"])
def test_an_error_takes_no_form_that_is_made_of_objects(filled: Space, rest: str) -> None:
    form = f"application/yaml;as=Table;g={filled.dialect.meta_group};v=v1{rest}"
    answer = read(filled, form, name="nope")
    assert (answer.status, answer.headers["Content-Type"]) == (404, "application/json")


@pytest.mark.parametrize(
    ("forms", "kind"),
    [
        (["Table", "application/json"], "Table"),
        (["application/json", "Table"], "Secret"),
        (["text/html", "application/json"], "Secret"),
        (["PROTOBUF", "application/json"], "Secret"),
        (["NoSuchForm", "application/json"], "Secret"),
        (["NoSuchForm", "Table", "application/json"], "Table"),
        (["PartialObjectMetadata", "Table"], "PartialObjectMetadata"),
        (["text/html", "*/*"], "Secret"),
    ],
    ids=lambda value: "+".join(value) if isinstance(value, list) else value,
)
def test_the_first_form_that_can_be_served_is_served(
    filled: Space, forms: list[str], kind: str
) -> None:
    forms = [form.replace("PROTOBUF", "application/x-protobuf-of-others") for form in forms]
    assert read(filled, *forms).body["kind"] == kind


@pytest.mark.both_dialects
def test_protobuf_may_be_asked_for_with_json_to_fall_back_to(filled: Space) -> None:
    answer = read(filled, filled.dialect.protobuf_media_type, "application/json")
    assert answer.status == 200
    if answer.headers["Content-Type"] == "application/json":
        assert answer.body["kind"] == "Secret"


@pytest.mark.parametrize(
    ("forms", "media_type"),
    [
        (["application/json;q=0.1", "application/yaml;q=0.9"], "application/yaml"),
        (["application/yaml;q=0.1", "application/json"], "application/json"),
        (["application/yaml", "application/json;q=0.5"], "application/yaml"),
        (["*/*;q=0.1", "application/yaml"], "application/yaml"),
        (["text/html;q=0.9", "application/yaml;q=0.2"], "application/yaml"),
    ],
    ids=lambda value: "+".join(value) if isinstance(value, list) else value,
)
def test_quality_says_what_is_liked_more(filled: Space, forms: list[str], media_type: str) -> None:
    assert read(filled, *forms).headers["Content-Type"] == media_type


@pytest.mark.both_dialects
@pytest.mark.parametrize(
    ("form", "other", "media_type"),
    [
        ("YAML;AS", "", "application/json"),
        ("PROTOBUF;AS", "", "application/json"),
        ("PROTOBUF;AS", ",application/yaml", "application/yaml"),
        ("YAML;AS", ",application/json", "application/json"),
    ],
)
def test_an_error_takes_no_form_that_something_else_was_to_be_transformed_to(
    filled: Space, form: str, other: str, media_type: str
) -> None:
    transform = f"as=PartialObjectMetadata;g={filled.dialect.meta_group};v=v1"
    form = form.replace("YAML", "application/yaml").replace("AS", transform)
    form = form.replace("PROTOBUF", filled.dialect.protobuf_media_type) + other
    answer = filled.client.get(filled.secrets.item("none"), headers={"Accept": form})
    assert (answer.status, answer.headers["Content-Type"]) == (404, media_type)


@pytest.mark.parametrize(
    "form", ["text/html", "application/*", "image/png", "application/xml", "nonsense"]
)
def test_406_where_no_form_can_be_served(filled: Space, form: str) -> None:
    answer = filled.client.get(filled.secrets.item("a"), headers={"Accept": form})
    assert (answer.status, answer.body["reason"]) == (406, "NotAcceptable")


@pytest.mark.both_dialects
def test_406_for_transformations_that_do_not_exist(filled: Space) -> None:
    group = filled.dialect.meta_group
    for form in (
        f"application/json;as=Chair;g={group};v=v1",
        f"application/json;as=Table;g={group};v=v9",
        "application/json;as=Table;g=other.example.com;v=v1",
        "application/json;as=Table",
        "application/json;v=v1",
        f"application/json;g={group}",
        "application/json;stream=nope",
        f"application/json;as=Table;g={group};v=v1;stream=nope",
    ):
        answer = filled.client.get(filled.secrets.item("a"), headers={"Accept": form})
        assert answer.status == 406
        assert answer.message == (
            "only the following media types are accepted: application/json, application/yaml,"
            f" {filled.dialect.protobuf_media_type}"
        )


def test_the_name_of_the_table_group_is_the_dialects(cluster: Space, kubernetes: Space) -> None:
    assert cluster.dialect.meta_group == "meta.cluster.io"
    form = "application/json;as=Table;g=meta.k8s.io;v=v1"
    assert list_as(cluster, form).status == 406
    assert list_as(kubernetes, form).body["kind"] == "Table"


@pytest.fixture
def large(space: Space) -> Space:
    """A config map whose JSON is well over 128 KiB."""
    space.config_maps.create("large", data={f"k{n}": "x" * 1000 for n in range(200)})
    space.config_maps.create("small", data={"k": "v"})
    return space


def test_a_large_answer_is_compressed_when_asked(large: Space) -> None:
    path = large.config_maps.item("large")
    plain = large.client.get(path)
    assert "Content-Encoding" not in plain.headers
    packed = large.client.get(path, headers={"Accept-Encoding": "gzip"})
    assert packed.headers["Content-Encoding"] == "gzip"
    assert packed.headers["Vary"] == "Accept-Encoding"
    assert len(packed.raw) < len(plain.raw) / 10
    assert gzip.decompress(packed.raw) == plain.raw


@pytest.mark.parametrize("accepted", ["gzip", "gzip, deflate", "deflate, gzip;q=0.5", "br,gzip"])
def test_a_large_list_is_compressed_when_asked(large: Space, accepted: str) -> None:
    answer = large.client.get(large.config_maps.path, headers={"Accept-Encoding": accepted})
    assert answer.headers["Content-Encoding"] == "gzip"
    assert json.loads(gzip.decompress(answer.raw))["kind"] == "ConfigMapList"


@pytest.mark.parametrize("accepted", ["", "identity", "deflate", "br", "gzip;q=0"])
def test_nothing_is_compressed_for_those_who_do_not_take_it(large: Space, accepted: str) -> None:
    answer = large.client.get(
        large.config_maps.item("large"), headers={"Accept-Encoding": accepted}
    )
    assert "Content-Encoding" not in answer.headers


def test_a_small_answer_is_not_compressed(large: Space) -> None:
    answer = large.client.get(large.config_maps.item("small"), headers={"Accept-Encoding": "gzip"})
    assert "Content-Encoding" not in answer.headers


@pytest.mark.parametrize("include", ["Metadata", "Object", "None"])
def test_a_compact_table_says_what_a_pretty_one_does(filled: Space, include: str) -> None:
    """Compact Tables are built from stored bytes, pretty ones from objects."""
    for path in (filled.secrets.path, filled.secrets.item("a")):
        for _ in range(2):  # the second time from what was kept
            answers = [
                filled.client.get(
                    path, headers=accept(filled, "Table"), includeObject=include, **more
                ).body
                for more in ({}, {"pretty": "true"})
            ]
            for answer in answers:
                for row in answer["rows"]:
                    del row["cells"][-1]  # its age
                if path == filled.secrets.path:  # a list has the revision of the whole store
                    assert answer["metadata"].pop("resourceVersion")
            assert answers[0] == answers[1]


def test_compact_metadata_is_what_the_object_has(filled: Space) -> None:
    whole = filled.secrets.read("a")["metadata"]
    assert read(filled, "PartialObjectMetadata").body["metadata"] == whole
    [first, _] = list_as(filled, "PartialObjectMetadataList").body["items"]
    assert first["metadata"] == whole


def test_a_row_follows_its_object(filled: Space) -> None:
    assert list_as(filled, "Table").body["rows"][0]["cells"][2] == 1
    filled.secrets.patch("a", {"data": {"l": "dg=="}})
    assert list_as(filled, "Table").body["rows"][0]["cells"][2] == 2


def test_what_was_not_stored_has_no_version_in_its_table(space: Space) -> None:
    answer = space.client.post(
        space.secrets.path,
        {"metadata": {"name": "a"}},
        headers=accept(space, "Table"),
        dryRun="All",
    )
    assert (answer.status, answer.body["metadata"]) == (201, {"resourceVersion": ""})
