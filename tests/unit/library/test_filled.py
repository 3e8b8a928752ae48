"""Policies that are filled in without Helm are what the policies chart renders."""

import json
from pathlib import Path

import pytest

from chartkit import bundled
from chartkit.charts.policies.chart import plan_for_profile
from chartkit.errors import InputError
from chartkit.helm.render import render_chart
from chartkit.kyverno.versions import parse_version
from chartkit.library.filled import fill, filled_profile
from chartkit.library.parameters import filled_documents
from chartkit.library.policies import FolderPolicy, read_library
from chartkit.library.profiles import read_profile, resolve, with_parameters
from chartkit.model import Json
from chartkit.output.write import GeneratedChart
from chartkit.project.settings import PolicyType
from tests.policy_library import render
from tests.unit.project.project_files import write_policy

_LIBRARY = read_library([bundled.library_dir()])
_OF_KYVERNO = ("kyverno.io", "admissionregistration.k8s.io")


def test_places_are_named_alike_wherever_chartkit_is_installed() -> None:
    for policy in filled_profile("pss-restricted", {}, PolicyType.BOTH):
        file = policy.location.within("/spec").file
        assert file.startswith("profiles/policies/")
        assert (bundled.profiles_dir().parent / file).is_file()


def _profile(folder: Path, policies: list[FolderPolicy]) -> Path:
    body = {
        "apiVersion": "chartkit.dev/v1",
        "kind": "Profile",
        "metadata": {"name": "all"},
        "spec": {
            "title": "All",
            "description": "All policies.",
            "policies": {policy.reference: {} for policy in policies},
        },
    }
    file = folder / "all.yaml"
    file.write_text(json.dumps(body))
    return file


def _text(body: Json) -> str:
    """A body with its keys in order. Around a condition inside a variable Helm keeps line breaks,
    which mean nothing there."""
    if isinstance(body, dict):
        return "{" + ",".join(f"{json.dumps(key)}:{_text(body[key])}" for key in body) + "}"
    if isinstance(body, list):
        return "[" + ",".join(map(_text, body)) + "]"
    if isinstance(body, str) and "{{" in body:
        return json.dumps("".join(body.split()))
    return json.dumps(body)


def _rendered(chart: GeneratedChart, form: PolicyType, kyverno: str) -> list[str]:
    values = {"policyType": form.value, "kyvernoVersion": kyverno}
    return [
        _text(each.body)
        for each in render_chart(chart, [values]).resources
        if str(each.body["apiVersion"]).partition("/")[0].endswith(_OF_KYVERNO)
    ]


def _same(folder: Path, form: PolicyType, kyverno: str, parameters: dict[str, Json]) -> int:
    version = parse_version(kyverno, "Kyverno")
    policies = [each for each in _LIBRARY.policies.values() if each.minimum_kyverno <= version]
    file = _profile(folder, policies)
    parameters = {key: v for key, v in parameters.items() if _is_of_one(key, policies)}
    selection = with_parameters(
        resolve([read_profile(str(file), folder)], _LIBRARY), parameters, _LIBRARY
    )
    chart = plan_for_profile(str(file), parameters)
    found = [_text(each.body) for each in fill(selection, form, kyverno)]
    assert found == _rendered(chart, form, kyverno)
    return len(found)


def _is_of_one(key: str, policies: list[FolderPolicy]) -> bool:
    return any(key.rpartition(".")[0] == policy.name for policy in policies)


@pytest.mark.slow
@pytest.mark.parametrize("form", PolicyType)
def test_every_policy_in_every_form(tmp_path: Path, form: PolicyType) -> None:
    assert _same(tmp_path, form, "1.19.1", {}) >= len(_LIBRARY.policies)


@pytest.mark.slow
@pytest.mark.parametrize("kyverno", ["1.8.5", "1.10.7", "1.12.7", "1.13.6", "1.15.3", "1.17.2"])
def test_every_policy_for_other_versions_of_kyverno(tmp_path: Path, kyverno: str) -> None:
    assert _same(tmp_path, PolicyType.CLUSTER, kyverno, {})


@pytest.mark.slow
@pytest.mark.parametrize("kyverno", ["1.15.3", "1.16.4", "1.18.2"])
def test_every_form_in_cel_for_other_versions_of_kyverno(tmp_path: Path, kyverno: str) -> None:
    assert _same(tmp_path, PolicyType.VALIDATING, kyverno, {})


_CASES = [
    {f"{policy.name}.{key}": value for key, value in case.parameters.items()}
    for policy in _LIBRARY.policies.values()
    for case in policy.examples
    if case.parameters
]


@pytest.mark.slow
@pytest.mark.parametrize("form", [PolicyType.CLUSTER, PolicyType.VALIDATING])
@pytest.mark.parametrize("at", range(4))
def test_the_parameters_of_examples(tmp_path: Path, form: PolicyType, at: int) -> None:
    """The cases of a policy follow one another: each fourth is of another policy as a rule."""
    parameters = {key: value for case in _CASES[at::4] for key, value in case.items()}
    assert _same(tmp_path, form, "1.19.1", parameters)


def test_parameters_that_a_policy_cannot_have() -> None:
    with pytest.raises(InputError, match="no policy has a parameter 'podSecurity'"):
        list(filled_profile("pss-baseline", {"podSecurity": "v1.24"}, PolicyType.CLUSTER))


def test_a_kyverno_that_is_too_old() -> None:
    selection = resolve([read_profile("best-practices", Path())], _LIBRARY)
    with pytest.raises(InputError, match=r"needs Kyverno 1\.\d+, and this is 1\.6\.3"):
        list(fill(selection, PolicyType.CLUSTER, "1.6.3"))
    with pytest.raises(InputError, match=r"Kyverno 1\.13\.1 does not serve ValidatingPolicy"):
        list(fill(selection, PolicyType.VALIDATING, "1.13.1"))


def test_literals_of_helm_are_printed(tmp_path: Path) -> None:
    text = "a: '{{ \"{{ request.object }}\" }}'\nb: '{{ `{{ x }}` }}'\nc: '{{ request.name }}'\n"
    (write_policy(tmp_path, "mine") / "policy.yaml").write_text(text)
    [policy] = read_library([tmp_path]).policies.values()
    [document] = filled_documents(policy, policy.template)
    assert document.body == render([policy], {})["mine"]
