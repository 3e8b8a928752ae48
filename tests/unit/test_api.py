"""`chartkit.api`: its page, its signatures, and inputs of every kind."""

import inspect
import json
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Final

import pytest

from chartkit import api
from chartkit.api import CompileError, InputError, Manifests, Resource, compile, load
from tests.api_page import run, section
from tests.conftest import Golden
from tests.data import beside
from tests.e2e.command import chartkit

_TEXTS = beside(__file__)
POLICY: Final = _TEXTS["policy"]
EXCEPTION: Final = _TEXTS["exception"]


def pod(name: str = "web") -> Resource:
    return Resource({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {}})


def test_the_page_evaluates_what_it_shows() -> None:
    run("Evaluate objects", "Problems and errors")


@pytest.mark.slow
def test_the_page_renders_what_it_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = re.search(r"```yaml\n(.+?)```", section("Render a project"), re.DOTALL)
    assert found is not None
    project = tmp_path / "platform" / "chartkit.yaml"
    project.parent.mkdir()
    project.write_text(found[1], "utf-8")
    monkeypatch.chdir(tmp_path)
    run("Render a project")


def test_the_page_has_every_name() -> None:
    assert set(re.findall(r"\b\w+\b", section("Names"))) >= set(api.__all__)


def signatures() -> Iterator[str]:
    for name in api.__all__:
        value = getattr(api, name)
        if not isinstance(value, type):
            yield f"{name}{inspect.signature(value)}"
            continue
        yield f"class {name}({', '.join(base.__name__ for base in value.__bases__)})"
        if issubclass(value, Enum):
            yield from (f"    {member.name} = {member.value!r}" for member in value)
            continue
        if is_dataclass(value):
            public = (each for each in fields(value) if not each.name.startswith("_"))
            yield from (f"    {each.name}: {each.type}" for each in public)
        for key, member in vars(value).items():
            if key.startswith("_") and key != "__init__":
                continue
            if isinstance(member, property) and member.fget is not None:
                returned = inspect.signature(member.fget).return_annotation
                yield f"    {key}: {returned}"
            elif inspect.isfunction(member) and not (key == "__init__" and is_dataclass(value)):
                yield f"    {key}{inspect.signature(member)}"


def test_a_change_of_the_signatures_is_deliberate(golden: Golden) -> None:
    text = re.sub(r"<function (\w+) at \w+>", r"\1", "\n".join(signatures()))
    golden("api.txt", text.replace("'", "") + "\n")


def test_a_request_has_an_operation_and_a_user() -> None:
    policies = compile(load(text=POLICY))
    assert policies.evaluate([pod()], user=api.User("root")) == ()
    assert policies.evaluate([pod()], operation="UPDATE") == ()
    assert [(each.status, each.action) for each in policies.evaluate([pod()])] == [
        ("fail", "Audit")
    ]
    updates = compile(load(text=POLICY.replace("CREATE", "UPDATE")))
    assert updates.evaluate([pod()]) == ()
    assert [each.status for each in updates.evaluate([pod()], operation="UPDATE")] == ["fail"]


def test_a_word_that_is_not_known_is_refused(tmp_path: Path) -> None:
    policies = compile(load(text=POLICY))
    with pytest.raises(InputError, match="operation 'update' is not one of CREATE, UPDATE"):
        policies.evaluate([pod()], operation="update")
    with pytest.raises(InputError, match="policy_type 'Policy' is not one of ClusterPolicy"):
        compile("pss-baseline", policy_type="Policy")
    (tmp_path / "chartkit.yaml").write_text(
        'environments: {dev: {kyverno: "1.19", kubernetes: "1.34"}}', "utf-8"
    )
    with pytest.raises(InputError, match="prefer 'mine' is not one of"):
        api.render(tmp_path, prefer="mine")
    with pytest.raises(InputError, match="gitops 'fleet' is not one of argocd, flux"):
        api.render(tmp_path, gitops=["fleet"])
    with pytest.raises(InputError, match="there is no environment 'prd'"):
        api.render(tmp_path, ["prd"])


def test_exceptions_that_were_loaded_count() -> None:
    policies = compile(load(text=f"{POLICY}---\n{EXCEPTION}"))
    results = policies.evaluate([pod(), pod("spared")])
    assert [(each.object.name, each.status) for each in results] == [
        ("web", "fail"),
        ("spared", "skip"),
    ]


def test_policies_of_files_and_texts_go_together(tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(POLICY, "utf-8")
    other = load(text=POLICY.replace("name: team}", "name: other}"))
    assert compile(file, other).policies == ("other", "team")


def test_objects_of_a_custom_kind_are_checked_by_their_definition() -> None:
    crd = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: gadgets, singular: gadget, kind: Gadget}
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema: {type: object, properties: {size: {type: integer}}}
---
apiVersion: example.com/v1
kind: Gadget
metadata: {name: one}
size: large
"""
    (failed,) = compile("pss-baseline").evaluate(load(text=crd))
    assert (failed.policy, failed.rule) == ("gadgets.example.com", "schema")
    assert (failed.place.line, failed.field) == (19, "/size")


def test_several_processes_say_what_one_says() -> None:
    policies = compile("pss-baseline")
    pods = [pod(f"web-{number}") for number in range(700)]
    assert policies.evaluate(pods, jobs=2) == policies.evaluate(pods)


def test_a_scan_says_what_the_library_says(tmp_path: Path) -> None:
    policy, objects = tmp_path / "policy.yaml", tmp_path / "objects.yaml"
    policy.write_text(POLICY, "utf-8")
    pods = "\n---\n".join(
        f"{{apiVersion: v1, kind: Pod, metadata: {{name: {name}, labels: {labels}}}}}"
        for name, labels in (("web", "{}"), ("api", "{team: a}"))
    )
    objects.write_text(pods, "utf-8")
    done = chartkit(
        tmp_path, "scan", "objects.yaml", "-p", "policy.yaml", "-o", "json", "--detailed"
    )
    rows = json.loads(done.out)["results"]
    said = [(row["policy"], row["rule"], row["message"]) for row in rows]
    found = compile(policy).evaluate(load(objects))
    assert said == [(one.policy, one.rule, one.message) for one in found]
    assert [one.status for one in found] == ["fail", "pass"]


def test_of_several_paths_one_that_cannot_be_read_is_a_problem(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yaml"
    good.write_text("{apiVersion: v1, kind: Pod, metadata: {name: a}}", "utf-8")
    bad.write_text("{apiVersion: v1, kind: Pod", "utf-8")
    loaded = load(good, bad)
    assert [each.name for each in loaded.objects] == ["a"]
    assert [each.location and each.location.file for each in loaded.problems] == [str(bad)]
    with pytest.raises(InputError):
        load(bad)


@pytest.mark.parametrize("text", ["a: [", "3", "- a", "kind: Pod", "\x00", "a: &a [*a]", "{" * 400])
def test_a_text_without_objects_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(InputError) as caught:
        load(text=text, name="given.yaml")
    assert caught.value.location is not None
    assert "\n" not in str(caught.value)


def test_what_holds_no_policy_is_refused() -> None:
    with pytest.raises(InputError, match="holds no policy"):
        compile(Manifests((pod(),)))
    with pytest.raises(InputError, match="holds no policy"):
        compile()
    with pytest.raises(InputError, match="there is no kind 'ClusterPolicyy'"):
        compile(load(text=POLICY.replace("ClusterPolicy", "ClusterPolicyy")))
    with pytest.raises(CompileError):
        compile(load(text=f"{POLICY}---\n{EXCEPTION.replace('[team]', '3')}"))
