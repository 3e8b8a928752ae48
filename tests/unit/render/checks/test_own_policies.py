"""Policies of one's own under an environment's action: what they keep, and what weakens them."""

from pathlib import Path

import pytest

from chartkit.catalog.authoring.add import write_policy
from chartkit.catalog.model import Kind
from chartkit.documents.reader import read_file
from chartkit.project.project import read_project
from chartkit.render.model import Outcome, RenderResult, Row
from chartkit.render.pipeline import RenderOptions, render_project
from tests.data import beside

_TEXTS = beside(__file__)
RULES = _TEXTS["rules"]
IN_RULE = _TEXTS["in-rule"]
CEL = _TEXTS["cel"]
ADMISSION = _TEXTS["admission"]
FORMS = {
    "rules": (RULES, "Enforce", "Audit", 6),
    "in rule": (IN_RULE, "Enforce", "Audit", 10),
    "cel": (CEL, "Deny", "Audit", 6),
    "admission": (ADMISSION, "Deny", "Audit", 15),
}


PROFILE = (
    "apiVersion: chartkit.dev/v1\nkind: Profile\nmetadata: {name: ours}\n"
    "spec:\n  title: ours\n  policies:\n    no-lb: {}\n"
)


def _build(folder: Path, text: str, environment: str, values: str = "") -> RenderResult:
    (folder / "mine").mkdir(exist_ok=True)
    (folder / "mine" / "lb.yaml").write_text(text)
    (folder / "ours.yaml").write_text(PROFILE)
    return _built(folder, environment, values)


def _built(folder: Path, environment: str, values: str = "") -> RenderResult:
    (folder / "chartkit.yaml").write_text(
        "library: [mine]\nprofiles: [./ours.yaml]\nenvironments:\n  team:\n"
        f'    kyverno: "1.19"\n    kubernetes: "1.34"\n    engine: false\n{environment}'
    )
    project = read_project(folder)
    options = RenderOptions(tuple(project.environments.values()))
    done = render_project(project, options)
    if values:
        file = folder / "charts/kyverno-policies/values_team.yaml"
        file.write_text(file.read_text() + values)
        done = render_project(project, options)
    return done


def _rows(done: RenderResult, outcome: Outcome | None = None) -> list[Row]:
    found = [row for row in done.rows if row.check == "own policies"]
    return [row for row in found if outcome in (None, row.outcome)]


def _actions(folder: Path) -> str:
    """The actions of what was written, as one text."""
    documents = read_file(folder / "rendered" / "team" / "kyverno-policies.yaml")
    found: list[str] = []
    for body in (each.body for each in documents):
        if (
            body["kind"] not in ("ClusterPolicy", "ValidatingPolicy")
            and "Binding" not in body["kind"]
        ):
            continue
        spec = body["spec"]
        found += (
            [spec.get("validationFailureAction", "")] if body["kind"] == "ClusterPolicy" else []
        )
        found += spec.get("validationActions", [])
        for rule in spec.get("rules", ()):
            found += [rule["validate"].get("failureAction", "")]
            found += [str(rule["validate"].get("failureActionOverrides", ""))]
        found += [str(spec.get("validationFailureActionOverrides", ""))]
    return " ".join(found)


@pytest.mark.parametrize("form", FORMS)
def test_an_environment_s_action_leaves_a_policy_its_own(tmp_path: Path, form: str) -> None:
    text, enforced, _, line = FORMS[form]
    done = _build(tmp_path, text.format(action=enforced), "    action: Audit\n")
    assert not done.failed
    assert enforced in _actions(tmp_path)
    (row,) = _rows(done)
    assert row.outcome is Outcome.NOTE
    assert row.message.startswith(f"no-lb keeps its own Enforce ({tmp_path}/mine/lb.yaml:{line}:")
    assert row.message.endswith("where team says Audit")
    assert str(row.location) == f"{tmp_path}/chartkit.yaml:8:5"


@pytest.mark.parametrize("form", ["rules", "in rule"])
def test_overrides_stay_as_well(tmp_path: Path, form: str) -> None:
    done = _build(tmp_path, FORMS[form][0].format(action="Audit"), "    action: Audit\n")
    assert "'action': 'Enforce'" in _actions(tmp_path)
    (row,) = _rows(done)
    assert row.outcome is Outcome.NOTE
    assert row.message.count("Enforce for namespaces ") == 1


def test_where_the_environment_says_nothing(tmp_path: Path) -> None:
    done = _build(tmp_path, CEL.format(action="Deny"), "")
    (row,) = _rows(done)
    assert row.outcome is Outcome.NOTE
    assert row.message.endswith("where team has Audit by default")


def test_a_looser_policy_where_the_environment_says_enforce_is_a_warning(tmp_path: Path) -> None:
    done = _build(tmp_path, CEL.format(action="Audit"), "    action: Enforce\n")
    (row,) = _rows(done)
    assert row.outcome is Outcome.WARNING
    assert "no-lb keeps its own Audit" in row.message
    assert row.hint == "policies: {no-lb: {action: Enforce}} gives it the environment's"


@pytest.mark.parametrize("form", FORMS)
def test_a_named_policy_is_weakened_and_it_is_said(tmp_path: Path, form: str) -> None:
    text, enforced, audited, line = FORMS[form]
    named = "    policies:\n      no-lb:\n        action: Audit\n"
    done = _build(tmp_path, text.format(action=enforced), named)
    assert audited in _actions(tmp_path)
    assert enforced not in _actions(tmp_path)
    (row,) = _rows(done, Outcome.WARNING)
    assert row.environment == "team"
    own = f"its own Enforce ({tmp_path}/mine/lb.yaml:{line}:"
    assert row.message.startswith(f"no-lb is weakened: {own}")
    assert str(row.location) == f"{tmp_path}/chartkit.yaml:10:9"


@pytest.mark.parametrize(
    ("form", "namespaces", "line"), [("rules", "payments-*", 8), ("in rule", "pci=true", 12)]
)
def test_a_dropped_override_is_said(tmp_path: Path, form: str, namespaces: str, line: int) -> None:
    named = "    policies: {no-lb: {action: Audit}}\n"
    done = _build(tmp_path, FORMS[form][0].format(action="Audit"), named)
    (row,) = _rows(done, Outcome.WARNING)
    own = f"Enforce for namespaces {namespaces} ({tmp_path}/mine/lb.yaml:{line}:"
    assert f"no-lb is weakened: its own {own}" in row.message


@pytest.mark.slow
def test_what_weakens_in_a_values_file_has_its_line_there(tmp_path: Path) -> None:
    values = "\nvalidationFailureActionByPolicy:\n  no-lb: Audit\n"
    done = _build(tmp_path, CEL.format(action="Deny"), "", values)
    (row,) = _rows(done, Outcome.WARNING)
    assert row.location is not None
    assert row.location.file == f"{tmp_path}/charts/kyverno-policies/values_team.yaml"
    assert row.location.path == "/validationFailureActionByPolicy/no-lb"


def test_an_exclusion_is_a_row(tmp_path: Path) -> None:
    excluded = "    action: Enforce\n    exclude:\n      - namespaces: [old]\n"
    done = _build(tmp_path, CEL.format(action="Deny"), excluded)
    (row,) = _rows(done)
    assert row.outcome is Outcome.NOTE
    assert row.message.startswith(f"no-lb ({tmp_path}/mine/lb.yaml:1)")
    assert str(row.location) == f"{tmp_path}/chartkit.yaml:10:9"


def test_a_policy_that_is_switched_off_is_a_row(tmp_path: Path) -> None:
    done = _build(tmp_path, CEL.format(action="Deny"), "    policies: {no-lb: {enabled: false}}\n")
    (row,) = _rows(done)
    assert "no-lb" in row.message
    assert row.message.endswith("is switched off")


def test_own_policies_nothing_to_say(tmp_path: Path) -> None:
    assert _rows(_build(tmp_path, CEL.format(action="Deny"), "    action: Enforce\n")) == []


def test_an_action_in_chartkit_s_own_format_is_said_to_have_no_effect(tmp_path: Path) -> None:
    write_policy("own/no-lb", Kind.VALIDATE, tmp_path, tmp_path / "mine")
    file = tmp_path / "mine" / "own" / "no-lb" / "policy.yaml"
    (tmp_path / "ours.yaml").write_text(PROFILE)
    assert "spec:\n" in file.read_text()
    file.write_text(
        file.read_text().replace("spec:\n", "spec:\n  validationFailureAction: Enforce\n", 1)
    )
    (row,) = _rows(_built(tmp_path, ""), Outcome.WARNING)
    assert row.message.startswith("no-lb: validationFailureAction has no effect")
    assert row.location is not None
    assert row.location.file == str(file)
    assert (
        file.read_text().splitlines()[row.location.line - 1] == "  validationFailureAction: Enforce"
    )
