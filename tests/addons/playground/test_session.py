"""The calls of the page: answers to what people write, and to what nobody should."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from chartkit.addons.playground import evaluation, session
from chartkit.documents.reader import read_file
from tests.data import beside, tables

_TEXTS = beside(__file__)
POLICY = _TEXTS["policy"]
DEFAULTS = _TEXTS["defaults"]
IMMUTABLE = _TEXTS["immutable"]
POD = _TEXTS["pod"]
EXCEPTION = _TEXTS["exception"]
GUIDES = Path(session.__file__).with_name("guides")
PROD = {"shop": {"env": "prod"}}


def asked(call: str, **given: Any) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(session.answer(call, json.dumps(given)))
    return answer


def evaluated(policies: str, objects: str, **given: Any) -> dict[str, Any]:
    return asked("evaluate", policies=policies, objects=objects, **given)


def test_a_failure_is_at_its_field_and_says_why() -> None:
    answer = evaluated(POLICY, POD.format(team='""'), namespace_labels=PROD)
    [row] = answer["rows"]
    assert answer["problems"] == []
    assert (row["policy"], row["rule"], row["status"]) == ("teams", "labelled", "fail")
    assert row["message"].startswith("validation error: web needs a team. ")
    assert row["object"] == {"line": 7, "column": 5, "length": len('team: ""')}
    assert row["rule_at"]["line"] == 11
    why = row["why"]
    assert (why["holds"], why["field"]) == (False, "/metadata/labels/team")
    assert why["fieldLocation"] == "objects:7:5"
    assert why["location"].startswith("policies:11:")
    [row] = evaluated(POLICY, POD.format(team="red"), namespace_labels=PROD)["rows"]
    assert row["status"] == "pass"


def test_a_policy_that_applies_to_nothing_says_what_keeps_it_off() -> None:
    answer = evaluated(POLICY, POD.format(team="red"))
    assert answer["rows"] == []
    [problem] = answer["problems"]
    assert (problem["input"], problem["line"], problem["level"]) == ("policies", 7, "note")
    assert "teams/labelled applies to none of the objects" in problem["message"]


def test_an_exception() -> None:
    given = {"namespace_labels": PROD, "exceptions": EXCEPTION}
    [row] = evaluated(POLICY, POD.format(team='""'), **given)["rows"]
    assert row["status"] == "skip"
    answer = evaluated(POLICY, POD.format(team='""'), exceptions=POD)
    assert answer["problems"][0]["input"] == "exceptions"


def test_what_is_mutated_and_generated() -> None:
    answer = evaluated(DEFAULTS, POD.format(team="red"))
    [changed], [made] = answer["mutated"], answer["generated"]
    assert (changed["kind"], changed["name"]) == ("Pod", "web")
    lines = changed["diff"].splitlines()
    assert "+    tier: front" in lines
    assert [line for line in lines if line.startswith("-")] == ["--- before"]
    assert "tier" not in changed["before"]
    assert (made["rule"], made["kind"], made["name"]) == ("settings", "ConfigMap", "made")
    assert "a: b" in made["yaml"]


def test_an_update_compares_with_the_old_object() -> None:
    new, old = POD.format(team="red"), POD.format(team="blue")
    [row] = evaluated(IMMUTABLE, new, old=old, operation="UPDATE")["rows"]
    assert (row["status"], row["message"]) == ("fail", "the team stays")
    [row] = evaluated(IMMUTABLE, new, old=new, operation="UPDATE")["rows"]
    assert row["status"] == "pass"
    assert evaluated(IMMUTABLE, new, old=old)["rows"] == []


def test_a_user() -> None:
    subjects = "subjects: [{kind: User, name: alice}], resources:"
    policy = POLICY.replace("resources:", subjects).replace("rules:", "background: false\n  rules:")
    pod = POD.format(team='""')
    given = {"namespace_labels": PROD, "groups": ["dev"]}
    assert len(evaluated(policy, pod, user="alice", **given)["rows"]) == 1
    assert evaluated(policy, pod, user="bob", **given)["rows"] == []


@pytest.mark.parametrize(
    ("given", "place", "message"),
    [
        ({"policies": "a: ["}, ("policies", 2), "is not YAML"),
        ({"objects": "a: 1\n"}, ("objects", 1), "has no 'apiVersion'"),
        ({"policies": POLICY.replace("rules:", "rule:")}, ("policies", 5), "unknown field"),
        ({"policies": POLICY.replace("ClusterPolicy", "ClusterPolic")}, ("policies", 2), "no kind"),
        ({"objects": "[" * 100_000}, ("objects", 1), "is nested deeper than 200 levels"),
        ({"objects": "a: &a [b, b]\n" * 3}, ("objects", 1), "has no 'apiVersion'"),
        ({"objects": "#" * 2_000_001}, ("objects", 1), "more than 2,000,000 characters"),
        ({"objects": "a\x00"}, ("objects", 0), "NUL byte"),
        ({"old": "{"}, ("old", 2), "is not YAML"),
        ({"operation": "EAT"}, ("policies", 0), "CREATE, UPDATE or DELETE"),
        ({"groups": "all"}, ("policies", 0), "groups is not a list"),
        ({"user": 7}, ("policies", 0), "user is not a str"),
    ],
)
def test_a_problem_has_its_place(
    given: dict[str, Any], place: tuple[str, int], message: str
) -> None:
    known = {"policies": POLICY, "objects": POD.format(team="red")}
    answer = asked("evaluate", **{**known, **given})
    problem = answer["problems"][0]
    assert (problem["input"], problem["line"]) == place
    assert message in problem["message"]
    assert problem["level"] == "error"


@pytest.mark.parametrize("call", ["evaluate", "migrate", "expression"])
@pytest.mark.parametrize("text", ["[]", "7", "{", '{"policies": null}', "{}", "nothing"])
def test_what_is_no_call(call: str, text: str) -> None:
    answer = json.loads(session.answer(call, text))
    assert isinstance(answer, dict)
    assert "a bug" not in answer.get("error", "")


def test_an_unknown_call() -> None:
    assert json.loads(session.answer("answer", "{}")) == {"error": "there is no such call"}


def test_objects_that_are_too_many_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "_MOST_ROWS", 1)
    answer = evaluated(POLICY, "---\n".join([POD.format(team="red")] * 4), namespace_labels=PROD)
    assert len(answer["rows"]) == 2
    [problem] = answer["problems"]
    assert (problem["input"], problem["line"], problem["level"]) == ("objects", 25, "warning")


def test_an_object_that_takes_long_leaves_the_others_their_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ticks = itertools.count(step=100)
    clock = SimpleNamespace(process_time=lambda: float(next(ticks)))
    monkeypatch.setattr(evaluation, "time", clock)
    answer = evaluated(POLICY, "---\n".join([POD.format(team="red")] * 20), namespace_labels=PROD)
    assert len(answer["rows"]) == 16
    assert "objects are too many for the page" in answer["problems"][0]["message"]


def test_an_object_is_left_out_with_a_line() -> None:
    pods = [POD.format(team=team) for team in ("red", '""', "blue")]
    given = {"policies": POLICY, "objects": "---\n".join(pods), "namespace_labels": PROD}
    begun: list[int] = []
    text = session.answer("evaluate", json.dumps({**given, "left_out": [1]}), begun.append)
    answer = json.loads(text)
    assert begun == [0, 2]
    assert [row["status"] for row in answer["rows"]] == ["pass", "pass"]
    [problem] = answer["problems"]
    assert (problem["input"], problem["line"], problem["level"]) == ("objects", 13, "warning")
    assert "is too much for the page" in problem["message"]


def test_a_bomb_of_aliases_is_bounded() -> None:
    levels = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12))
    answer = evaluated(POLICY, f"apiVersion: v1\nkind: Pod\na0: &a0 x\n{levels}")
    assert "aliases expand to more than" in answer["problems"][0]["message"]


def test_migration_with_its_proof() -> None:
    answer = asked("migrate", policy=f"# Whose is it?\n{POLICY}")
    assert "kind: ValidatingPolicy" in answer["text"]
    assert answer["text"].startswith("# Whose is it?")
    verdict = answer["verdict"]
    assert verdict["state"] == "equal"
    assert verdict["requests"] > 10
    assert answer["counterexamples"] == answer["problems"] == []


def test_a_migration_of_nothing() -> None:
    answer = asked("migrate", policy=IMMUTABLE)
    assert (answer["text"], answer["verdict"]["state"]) == ("", "none")
    answer = asked("migrate", policy="a: [")
    assert answer["problems"][0]["input"] == "policy"


def parts(answer: dict[str, Any]) -> dict[str, str]:
    return {part["text"]: part["value"] or part["error"] for part in answer["parts"]}


def test_parts_of_jmespath() -> None:
    data = "spec: {replicas: 3, names: [b, a]}"
    text = "sort(spec.names) | [0]"
    answer = asked("expression", language="jmespath", expression=text, data=data)
    assert (answer["value"], answer["type"], answer["problems"]) == ('"a"', "string", [])
    found = parts(answer)
    assert found["spec.names"] == '["b", "a"]'
    assert found["sort(spec.names)"] == '["a", "b"]'
    for part in answer["parts"]:
        assert text[part["start"] : part["end"]] == part["text"]
    answer = asked("expression", language="jmespath", expression="spec.replicas >", data=data)
    assert answer["problems"][0]["column"] == 16
    answer = asked("expression", language="jmespath", expression="lenght(spec)", data=data)
    assert answer["problems"][0]["hint"] == "did you mean 'length'?"


def test_parts_of_cel() -> None:
    data = "spec: {replicas: 3, names: [b, a]}"
    text = "object.spec.names.all(n, n < 'b') || object.spec.replicas > 5"
    answer = asked("expression", language="cel", expression=text, data=data)
    assert (answer["value"], answer["type"]) == ("false", "bool")
    assert parts(answer)["object.spec.replicas"] == "3"
    answer = asked("expression", language="cel", expression="object.spec.none", data=data)
    assert (answer["value"], answer["problems"][0]["message"]) == (None, "no such key: none")
    answer = asked("expression", language="cel", expression="object.spec +", data=data)
    assert answer["problems"][0]["message"].startswith("Syntax error")


@pytest.mark.parametrize("language", ["jmespath", "cel"])
@pytest.mark.parametrize(
    "text", ["", "(" * 5_000, "a" * 30_000, "[" * 300 + "]" * 300, "\x00", "@ | " * 1_000 + "@"]
)
def test_hostile_expressions(language: str, text: str) -> None:
    answer = asked("expression", language=language, expression=text, data="{}")
    assert "error" not in answer
    assert len(answer["parts"]) <= 200


@pytest.fixture(scope="module")
def entries() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = asked("library")["entries"]
    return found


def test_the_library_has_policies_that_do_what_their_objects_show(
    entries: list[dict[str, Any]],
) -> None:
    [entry] = [each for each in entries if each["name"] == "disallow-privileged-containers"]
    assert "Built-in policies" in entry["groups"]
    assert all(entry.values())
    statuses = {row["status"] for row in evaluated(entry["policy"], entry["objects"])["rows"]}
    assert statuses == {"pass", "fail"}


def test_the_library_has_the_subjects_of_guides(entries: list[dict[str, Any]]) -> None:
    names = [entry["name"] for entry in entries]
    assert len(set(names)) == len(names)
    known = set(names)
    guides = read_file(GUIDES / "index.yaml")[0].body
    for guide in guides:
        assert {*guide["examples"], *guide["library"]} <= known
        inside = [entry["name"] for entry in entries if guide["title"] in entry["groups"]]
        assert set(inside) == {*guide["examples"], *guide["library"]}
    listed = {name for guide in guides for name in guide["examples"]}
    assert listed == {file.stem for file in GUIDES.glob("*.yaml")} - {"index"}


@pytest.mark.parametrize("file", sorted(GUIDES.glob("[!i]*.yaml")), ids=lambda file: file.stem)
def test_an_example_fails_and_passes_as_it_says(file: Path) -> None:
    example = read_file(file)[0].body
    for objects, expected in (("fails", {"fail"}), ("passes", {"pass"})):
        answer = evaluated(example["policy"], example[objects])
        statuses = {row["status"] for row in answer["rows"]}
        assert statuses - {"skip", "pass"} == expected - {"pass"}
        assert expected <= statuses
        assert [each for each in answer["problems"] if each["level"] != "note"] == []


def test_examples_change_and_generate_objects() -> None:
    made = tables(__file__)["made"]
    secret = {
        "kind": "Secret", "apiVersion": "v1", "type": "kubernetes.io/dockerconfigjson",
        "metadata": {"name": "registry-access", "namespace": "platform"},
        "data": {".dockerconfigjson": "e30="},
    }  # fmt: skip
    namespace = {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "shop"}}
    for name, text in made.items():
        example = read_file(GUIDES / f"{name}.yaml")[0].body
        objects = [example["passes"], json.dumps(secret), json.dumps(namespace)]
        answer = evaluated(example["policy"], "\n---\n".join(objects), user="alice")
        shown = [*(each["diff"] for each in answer["mutated"])]
        shown += [each["yaml"] for each in answer["generated"]]
        assert any(text in each for each in shown), (name, shown)
