"""AdmissionReviews: what is read, refused and answered; denials, patches, reports and spans."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from chartkit.addons.serve.admission import telemetry as module
from chartkit.addons.serve.admission.denials import blocked, failures
from chartkit.addons.serve.admission.judge import Judge, patch
from chartkit.addons.serve.admission.reports import ReportFolder, Reports
from chartkit.addons.serve.admission.review import Answer, ReviewError, parse_review
from chartkit.addons.serve.admission.selection import Served, Webhook
from chartkit.addons.serve.admission.telemetry import Log
from chartkit.engine import Operation
from chartkit.errors import InputError
from chartkit.model import Body, Resource, RuleResult, RuleType, Status, same
from tests.addons.serve.admission.bodies import AUDITED, CEL, POD, TEAM, changed, policies, review
from tests.addons.serve.admission.patching import patched
from tests.addons.serve.admission.test_judge import judged
from tests.data import from_table
from tests.errors import error_of


def test_a_review_is_read() -> None:
    found = parse_review(review(dryRun=True, subResource="status"))
    assert found.uid == "c0ffee"
    assert found.kind == ("", "v1", "Pod")
    assert (found.api_version, found.resource, found.subresource) == ("v1", "pods", "status")
    assert found.operation is Operation.CREATE
    assert found.subject.body == POD
    assert found.old is None
    assert found.is_dry_run


def test_a_deletion_is_about_the_object_that_goes() -> None:
    found = parse_review(review(operation="DELETE", object=None, oldObject=POD))
    assert found.object is None
    assert found.subject.name == "web"


def test_the_object_gets_the_namespace_of_the_request() -> None:
    bare = {key: value for key, value in POD["metadata"].items() if key != "namespace"}
    found = parse_review(review({**POD, "metadata": bare}, namespace="team-a"))
    assert found.subject.namespace == "team-a"


def test_a_namespace_is_in_none() -> None:
    body: Body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-a"}}
    found = parse_review(review(body, namespace="team-a"))
    assert found.subject.namespace == ""
    inside = changed(body, namespace="team-a")
    assert parse_review(review(inside, namespace="team-a")).subject.namespace == ""


def _with(**fields: Any) -> bytes:
    return review(**fields)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"NaN", "not JSON"),
        (b"[]", "not an AdmissionReview"),
        (b"null", "not an AdmissionReview"),
        (b'{"kind": "Pod"}', "not an AdmissionReview"),
        (b'{"kind": "AdmissionReview"}', "not a version of AdmissionReview"),
        (b'{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1beta1"}', "v1beta1"),
        (b'{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1"}', "has no request"),
        (_with(uid=""), "no uid"),
        (_with(uid=7), "no uid"),
        (_with(kind=None), "no kind"),
        (_with(kind={"version": "v1", "kind": 7}), "request.kind.kind is not a string"),
        (_with(operation="PATCH"), "request.operation"),
        (_with(operation=["CREATE"]), "request.operation"),
        (_with(namespace={}), "request.namespace is not a string"),
        (_with(object=None), "neither object nor oldObject"),
        (_with(object=[1]), "request.object is not an object"),
        (_with(oldObject="x"), "request.oldObject is not an object"),
        (_with(object={"metadata": "x"}), "request.object.metadata is not an object"),
    ],
)
def test_other_content_is_refused(content: bytes, said: str) -> None:
    assert said in str(error_of(ReviewError, parse_review, content))


def test_an_answer_has_what_an_api_server_reads() -> None:
    patch = [{"op": "add", "path": "/metadata/labels", "value": {"é": "ü"}}]
    body = json.loads(Answer(True, warnings=["careful"], patch=patch).encoded("c0ffee"))
    assert body["apiVersion"] == "admission.k8s.io/v1"
    response = body["response"]
    assert response["uid"] == "c0ffee"
    assert response["allowed"] is True
    assert response["patchType"] == "JSONPatch"
    assert json.loads(base64.b64decode(response["patch"])) == patch
    assert response["warnings"] == ["careful"]
    assert "status" not in response


@given(st.text(), st.text(), st.lists(st.text()))
def test_texts_of_an_answer_are_those_of_the_json_encoder(
    uid: str, message: str, warnings: list[str]
) -> None:
    written = Answer(not message, message, warnings).encoded(uid).decode()
    again = json.dumps(json.loads(written), ensure_ascii=False, separators=(",", ":"))
    assert written == again
    response = json.loads(written)["response"]
    assert (response["uid"], response.get("warnings", [])) == (uid, warnings)
    assert response.get("status", {}).get("message", "") == message


def test_a_denial_has_a_message_and_no_patch() -> None:
    response = json.loads(Answer(False, "no").encoded("1"))["response"]
    assert response == {
        "uid": "1",
        "allowed": False,
        "status": {"status": "Failure", "message": "no"},
    }


_SCALARS = st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(("", "a", "a/b", "~"))
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(("a", "b", "a/b", "m~n", "")), inner, max_size=4)
    ),
    max_leaves=12,
)
_OBJECTS = st.dictionaries(st.sampled_from(("a", "b", "c/d", "e~f")), _VALUES, max_size=4)


@given(_OBJECTS, _OBJECTS)
def test_a_patch_makes_the_other_object(before: dict[str, Any], after: dict[str, Any]) -> None:
    operations = list(patch(before, after))
    assert same(patched(before, operations), after)
    assert bool(operations) is not same(before, after)


@from_table("before", "after", "operations")
def test_a_patch_is_small(before: Any, after: Any, operations: list[Any]) -> None:
    assert list(patch({"x": before}, {"x": after})) == operations


_POD = Resource({"kind": "Pod", "metadata": {"name": "web", "namespace": "default"}})


def _denial(message: str, rule: str = "r") -> str:
    result = RuleResult("p", rule, RuleType.VALIDATION, Status.FAIL, message)
    return blocked(_POD, failures([result])).partition("policies \n\n")[2]


@pytest.mark.parametrize(
    ("message", "written"),
    [
        ("plain text", "plain text"),
        ("with: colon", "'with: colon'"),
        ("with #hash", "'with #hash'"),
        ("# hash", "'# hash'"),
        ("it's", "it's"),
        ("'quoted'", "'''quoted'''"),
        ("two\nlines", "|-\n    two\n    lines"),
        ("ends\n", "|\n    ends"),
        ("true", '"true"'),
        ("null", '"null"'),
        ("yes", '"yes"'),
        ("y", '"y"'),
        ("12", '"12"'),
        ("1e3", '"1e3"'),
        ("2026-01-01", '"2026-01-01"'),
        ("", '""'),
        ("- item", "'- item'"),
        ("grüße", "grüße"),
        ("a" * 500 + " " + "b" * 500, "a" * 500 + " " + "b" * 500),
    ],
)
def test_messages_are_written_as_in_go(message: str, written: str) -> None:
    assert _denial(message) == f"p:\n  r: {written}\n"


@given(st.text(max_size=60), st.text(min_size=1, max_size=20))
def test_the_yaml_reads_back(message: str, rule: str) -> None:
    try:
        found = yaml.safe_load(_denial(message, rule))
    except yaml.reader.ReaderError:
        return  # A control character, which Kyverno writes as it is.
    assert found == {"p": {rule: message}}


_UID = "6f2b1c7e-0000-4000-8000-000000000001"
_NAMES = (
    "../../outside",
    "..",
    "/tmp/outside",
    "a/b",
    "a\x00b",
    "a\nb",
    "UPPER",
    "\ud800",
    "a" * 300,
)


def _reported(folder: Path, *bodies: Body) -> list[dict[str, object]]:
    """Keep the reports of reviews, and return what the log says."""
    lines: list[bytes] = []
    reports = Reports(ReportFolder(folder), Log("info", lines.append))
    for body in bodies:
        content = review(body)
        reports.add(parse_review(content), "/validate", judged("/validate", content, AUDITED), {})
    reports.close()
    return [json.loads(line) for line in lines]


def _files(folder: Path) -> list[Path]:
    return sorted(each for each in folder.rglob("*") if each.is_file())


@pytest.mark.parametrize("field", ["namespace", "uid"])
@pytest.mark.parametrize("name", _NAMES)
def test_a_name_that_no_api_server_has_leaves_no_report(
    tmp_path: Path, field: str, name: str
) -> None:
    folder = tmp_path / "deep" / "reports"
    last = changed(POD, uid=_UID)
    (said,) = _reported(folder, changed(POD, **{"uid": _UID, field: name}), last)
    assert said["message"] == "a report was not written"
    assert str(said["error"]).startswith(f"metadata.{field} '")
    assert _files(tmp_path) == [folder / "default" / f"{_UID}.yaml"]


def test_a_report_is_kept_by_namespace(tmp_path: Path) -> None:
    assert not _reported(tmp_path, changed(POD, uid=_UID, namespace="team-a"))
    (file,) = _files(tmp_path)
    assert file == tmp_path / "team-a" / f"{_UID}.yaml"
    report = yaml.safe_load(file.read_text("utf-8"))
    assert report["summary"]["fail"] == 1
    assert report["scope"]["uid"] == _UID


_PARENT = b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def test_a_review_is_a_span_with_one_for_each_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("opentelemetry.sdk")
    exporters = pytest.importorskip("opentelemetry.exporter.otlp.proto.http.trace_exporter")
    memory = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter")
    kept: Any = memory.InMemorySpanExporter()
    monkeypatch.setattr(exporters, "OTLPSpanExporter", lambda: kept)
    judge = Judge(Served(policies(TEAM, CEL)))
    found = judge.find("/validate")
    assert found is not None
    read = parse_review(review())
    verdict = judge.judge(read, *found)
    spans = module.OpenTelemetrySpans()
    spans.add(read, Webhook.VALIDATING, verdict, {b"traceparent": _PARENT}, (1_000, 2_000_000))
    spans.close()
    by_name = {each.name: each for each in kept.get_finished_spans()}
    assert set(by_name) == {"ADMISSION CREATE Pod", "POLICY require-team", "POLICY no-latest"}
    whole = by_name["ADMISSION CREATE Pod"]
    assert whole.attributes["admission.response.allowed"] is False
    assert f"{whole.context.trace_id:032x}" == "0af7651916cd43dd8448eb211c80319c"
    assert f"{whole.parent.span_id:016x}" == "b7ad6b7169203331"
    policy = by_name["POLICY require-team"]
    assert policy.parent.span_id == whole.context.span_id
    assert policy.attributes["policy.failed"] is True
    assert policy.start_time == whole.start_time == 1_000


def test_packages_of_opentelemetry_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(InputError, match="OpenTelemetry is not installed"):
        module.require_spans()
