"""AdmissionReviews: what is read of them, and what is refused."""

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chartkit.addons.serve.admission.review import Answer, ReviewError, parse_review
from chartkit.engine import Operation
from chartkit.model import Body
from tests.addons.serve.admission.bodies import POD, changed, review


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
    with pytest.raises(ReviewError) as error:
        parse_review(content)
    assert said in str(error.value)


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
