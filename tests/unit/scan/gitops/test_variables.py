"""Variables of Flux: their defaults, what is unknown, and what is said of it."""

from base64 import b64encode

import pytest

from chartkit.documents.reader import read_text
from chartkit.model import FieldPath, Json, Resource
from chartkit.scan.gitops.declared import configs_of, read_helm_release
from chartkit.scan.gitops.model import Repository, filled
from chartkit.scan.gitops.releases import values_documents
from chartkit.values.lint.files import check_documents
from tests.data import beside, from_table

RELEASE = beside(__file__)["release"]


@from_table("text", "wanted")
def test_defaults(text: str, wanted: Json) -> None:
    unknown: list[FieldPath] = []
    assert filled({"x": [text]}, unknown) == {"x": [wanted]}
    assert unknown == []


@pytest.mark.parametrize("text", ["${a}", "x-${a}", "${a:=1}${b}", "${a^^}", "${a:=${b}}"])
def test_a_variable_without_a_default_is_unknown(text: str) -> None:
    unknown: list[FieldPath] = []
    assert filled({"x": {"y": text, "z": [{"of": text}], "w": 1}}, unknown) == {"x": {"w": 1}}
    assert unknown == [("x", "y"), ("x", "z")]
    assert filled(text, unknown) is None


def linted(replicas: str, metadata: str = "") -> tuple[list[str], list[str]]:
    """The ids of the findings about a release, and its notes."""
    (document,) = read_text(RELEASE % (metadata, replicas), "release.yaml")
    repository = Repository([], lambda _: None)
    resource = Resource(document.body, document.location)
    found = read_helm_release(resource, {}, repository)
    rows = check_documents(values_documents(found), None, False, found.unknown)
    return [each.rule_id for each in rows], [each.message for each in found.faults]


@from_table("replicas", "wanted")
def test_a_release_is_judged_with_the_defaults(replicas: str, wanted: list[str]) -> None:
    assert linted(replicas)[0] == wanted


def test_unknown_values_are_one_note() -> None:
    text = "${n}\n      nodeSelector: {a: '${zone}'}"
    what = "variables of its values have no default (2): what depends on them is not judged"
    assert linted(text)[1] == [f"HelmRelease 'kyverno': {what}"]


def test_variables_can_be_switched_off() -> None:
    off = ", annotations: {kustomize.toolkit.fluxcd.io/substitute: disabled}"
    assert "CK001" in linted("${n:=3}", off)[0]


def test_values_of_a_config_map_have_variables_too() -> None:
    text = RELEASE % ("", "1") + "  valuesFrom: [{kind: ConfigMap, name: more}]\n"
    text += beside(__file__)["values_of_a_config_map_have_variables_too"]
    release, config = (Resource(each.body, each.location) for each in read_text(text, "x.yaml"))
    found = read_helm_release(release, configs_of([config]), Repository([], lambda _: None))
    first, _ = values_documents(found)
    assert first.body == {"cleanupController": {"replicas": 2, "nodeSelector": {}}}
    assert found.unknown == (("cleanupController", "nodeSelector", "a"),)


def test_values_of_a_secret_that_kustomize_folded() -> None:
    text = RELEASE % ("", "1") + "  valuesFrom: [{kind: Secret, name: more}]\n"
    packed = b64encode(b"cleanupController: {replicas: 2}\n").decode()
    body = {"kind": "Secret", "data": {"values.yaml": f"{packed[:9]}\n{packed[9:]}\n"}}
    body |= {"apiVersion": "v1", "metadata": {"name": "more", "namespace": "kyverno"}}
    [document] = read_text(text, "x.yaml")
    release = Resource(document.body, document.location)
    found = read_helm_release(release, configs_of([Resource(body)]), Repository([], lambda _: None))
    assert values_documents(found)[0].body == {"cleanupController": {"replicas": 2}}
