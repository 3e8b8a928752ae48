"""Whole builds of small projects, in process; the engine chart is left out where it matters not."""

import re
import shutil
from pathlib import Path

import pytest

from chartkit.bundled import library_dir
from chartkit.catalog.authoring.add import write_policy
from chartkit.catalog.model import Kind
from chartkit.errors import ChartkitError, InputError
from chartkit.kyverno.releases import current
from chartkit.model import Location
from chartkit.project.project import read_project
from chartkit.render import chart
from chartkit.render.model import Outcome, RenderResult, Row
from chartkit.render.pipeline import RenderOptions, render_project
from tests.data import beside, from_table
from tests.errors import error_of

_TEXTS = beside(__file__)
PROFILE = _TEXTS["profile"]
POD = _TEXTS["pod"]


def project(folder: Path, environment: str, rest: str = "") -> Path:
    (folder / "small.yaml").write_text(PROFILE)
    (folder / "pod.yaml").write_text(POD)
    (folder / "chartkit.yaml").write_text(
        f"profiles: [./small.yaml]\n{rest}environments:\n  dev:\n{environment}"
    )
    return folder


def run(folder: Path) -> RenderResult:
    found = read_project(folder)
    return render_project(found, RenderOptions(tuple(found.environments.values())))


def rows(done: RenderResult, check: str, outcome: Outcome | None = None) -> list[Row]:
    return [row for row in done.rows if row.check == check and outcome in (None, row.outcome)]


NEW = '    kyverno: "1.19"\n    kubernetes: "1.34"\n    engine: false\n'


def test_policies_alone(tmp_path: Path) -> None:
    done = run(project(tmp_path, NEW))
    assert not done.failed
    assert [path.name for path in done.written] == ["kyverno-policies", "dev"]
    (availability,) = rows(done, "availability")
    assert availability.outcome is Outcome.NOTE
    # One of the two has a second object, for ephemeral containers.
    assert rows(done, "policies")[0].message == "3 policies compile"
    assert rows(done, "engine's pods") == []
    (workloads,) = rows(done, "workloads")
    assert workloads.message == "chartkit.yaml names no workloads to scan"


def test_an_older_kyverno_is_served_and_warned_of(tmp_path: Path) -> None:
    old = '    kyverno: "1.12"\n    kubernetes: "1.29"\n    engine: false\n'
    done = run(project(tmp_path, old))
    assert not done.failed
    (row,) = rows(done, "compatibility")
    assert row.outcome is Outcome.WARNING
    assert "past its end of life" in row.message
    text = (tmp_path / "rendered" / "dev" / "kyverno-policies.yaml").read_text()
    assert "validationFailureAction: Enforce" in text
    assert "failureAction: Enforce" not in text.replace("validationFailureAction: Enforce", "")


def test_a_pair_that_is_not_supported_fails(tmp_path: Path) -> None:
    done = run(project(tmp_path, NEW.replace("1.34", "1.36")))
    assert done.failed
    (row,) = rows(done, "compatibility", Outcome.FAIL)
    known = "Kubernetes 1.36 is above what Kyverno 1.19 supports (1.33–1.35)"
    assert row.message == f"{known}, and not declared yet by upstream as of 1.19.1"
    assert str(row.location) == f"{tmp_path}/chartkit.yaml:4:5"
    assert not (tmp_path / "charts").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("version", "floor"), [("1.36", ">=1.33-0"), ("1.32", ">=1.32-0"), ("1.34", ">=1.33-0")]
)
def test_a_pair_that_is_accepted_renders(tmp_path: Path, version: str, floor: str) -> None:
    text = NEW.replace("1.34", version).replace("    engine: false\n", "")
    done = run(project(tmp_path, text + "    compatibility: {accept: the day of the adoption}\n"))
    assert not done.failed
    (row,) = rows(done, "compatibility")
    supported = version == "1.34"
    assert row.outcome is (Outcome.PASS if supported else Outcome.WARNING)
    assert ("; accepted: the day of the adoption" in row.message) is not supported
    for name in ("kyverno", "kyverno-policies"):
        folder = tmp_path / "charts" / name
        allowed = "allowUnsupportedKubernetes: true" in (folder / "values_dev.yaml").read_text()
        assert allowed is not supported
        assert f'kubeVersion: "{floor}"' in (folder / "Chart.yaml").read_text()


def test_the_engine_chart_is_for_some_kyvernos(tmp_path: Path) -> None:
    text = NEW.replace("1.19", "1.16").replace("1.34", "1.33").replace("    engine: false\n", "")
    error = error_of(InputError, run, project(tmp_path, text))
    served = ", ".join(map(str, current().serves))
    assert error.message == f"the engine chart installs Kyverno {served}, not 1.16"
    assert str(error.location) == f"{tmp_path}/chartkit.yaml:4:5"


@pytest.mark.parametrize(
    ("action", "outcome"), [("Enforce", Outcome.FAIL), ("Audit", Outcome.WARNING)]
)
def test_a_workloads_violation(tmp_path: Path, action: str, outcome: Outcome) -> None:
    environment = NEW + f"    action: {action}\n"
    done = run(project(tmp_path, environment, "workloads: [pod.yaml]\n"))
    (row,) = rows(done, "workloads")
    assert row.outcome is outcome
    assert row.message.startswith("Pod/default/pod: disallow-latest-tag: ")
    assert str(row.location) == f"{tmp_path}/pod.yaml:5:26"
    assert done.failed is (outcome is Outcome.FAIL)


def test_a_violation_of_several_environments_is_one_row(tmp_path: Path) -> None:
    two = f"{NEW}  qa:\n{NEW}"
    (row,) = rows(run(project(tmp_path, two, "workloads: [pod.yaml]\n")), "workloads")
    assert (row.environment, row.policy) == ("dev, qa", "disallow-latest-tag")
    assert row.subject == "Pod/default/pod"


@pytest.mark.slow
def test_what_a_project_writes_is_no_workload_of_its_own(tmp_path: Path) -> None:
    environment = '    kyverno: "1.19"\n    kubernetes: "1.34"\n    action: Audit\n'
    folder = project(tmp_path, environment, "workloads: [.]\n")
    first = rows(run(folder), "workloads")
    assert (folder / "charts" / "kyverno" / "Chart.yaml").is_file()
    assert rows(run(folder), "workloads") == first
    assert {row.subject for row in first} == {"Pod/default/pod"}


@pytest.mark.slow
def test_an_action_of_one_policy(tmp_path: Path) -> None:
    environment = NEW + "    policies: {disallow-latest-tag: {action: Audit}}\n"
    done = run(project(tmp_path, environment, "workloads: [pod.yaml]\n"))
    assert rows(done, "workloads")[0].outcome is Outcome.WARNING


def test_a_workload_that_is_a_chart_with_values(tmp_path: Path) -> None:
    chart = tmp_path / "app"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: app\nversion: 0.1.0\n")
    (chart / "values.yaml").write_text("tag: latest\n")
    (chart / "templates" / "pod.yaml").write_text(POD.replace("latest", "{{ .Values.tag }}"))
    values = tmp_path / "values.yaml"
    values.write_text('tag: "1.29"\n')
    given = "workloads: [{path: app, values: [values.yaml], namespace: shop}]\n"
    assert not run(project(tmp_path, NEW, given)).failed
    done = run(project(tmp_path, NEW, "workloads: [app]\n"))
    (row,) = rows(done, "workloads")
    assert (row.outcome, str(row.location)) == (Outcome.FAIL, f"{chart}/templates/pod.yaml:5:26")


def test_an_exclusion_that_hides_bad_examples_is_named(tmp_path: Path) -> None:
    environment = NEW + "    exclude: [{namespaces: [default]}]\n"
    done = run(project(tmp_path, environment))
    assert not done.failed
    (note,) = rows(done, "examples", Outcome.NOTE)
    assert re.fullmatch(
        r"this exclusion leaves out \d+ bad examples of disallow-\S+, disallow-\S+", note.message
    )
    warned = rows(done, "examples", Outcome.WARNING)
    assert [row.message.partition(" ")[0] for row in warned] == [
        "disallow-host-path",
        "disallow-latest-tag",
    ]
    assert all(": exclusions leave out all its bad examples" in row.message for row in warned)
    assert {str(row.location) for row in (note, *warned)} == {f"{tmp_path}/chartkit.yaml:7:15"}


def test_an_exclusion_that_hides_examples_by_accident_fails(tmp_path: Path) -> None:
    # An exclusion by name has Kyverno make no rules for Deployments.
    environment = NEW + "    policyType: ClusterPolicy\n    exclude: [{names: [unused]}]\n"
    done = run(project(tmp_path, environment))
    failed = rows(done, "examples", Outcome.FAIL)
    assert failed
    assert all("does nothing about " in row.message for row in failed)
    assert f"an exclusion may hide it ({tmp_path}/chartkit.yaml:8:15)" in (failed[0].hint or "")


def _rename(folder: Path, name: str) -> None:
    """Both forms of a copied policy call themselves as their folder is called."""
    for form in ("policy.yaml", "cel.yaml"):
        file = folder / form
        file.write_text(file.read_text().replace(name, folder.name))


def test_another_parameter_does_not_break_the_examples(tmp_path: Path) -> None:
    source = next(library_dir().rglob("restrict-image-registries"))
    (tmp_path / "own").mkdir()
    shutil.copytree(source, tmp_path / "own" / "our-registries")
    _rename(tmp_path / "own" / "our-registries", "restrict-image-registries")
    environment = NEW + (
        "    policies:\n      our-registries:\n        enabled: true\n"
        "        parameters: {allowedRegistries: [registry.example.com]}\n"
    )
    done = run(project(tmp_path, environment, "library: [own]\n"))
    # Two of the three have a second object, for ephemeral containers.
    assert rows(done, "policies")[0].message == "5 policies compile"
    assert [row.outcome for row in rows(done, "examples")] == [Outcome.PASS]


def test_a_wrong_example_of_an_own_policy_fails_at_its_place(tmp_path: Path) -> None:
    source = next(library_dir().rglob("disallow-latest-tag"))
    own = tmp_path / "own" / "our-tags"
    shutil.copytree(source, own)
    _rename(own, "disallow-latest-tag")
    (own / "good.yaml").write_text("# a mistake\n" + POD)
    environment = NEW + "    policies: {our-tags: {enabled: true}}\n"
    done = run(project(tmp_path, environment, "library: [own]\n"))
    (row,) = rows(done, "examples", Outcome.FAIL)
    assert str(row.location) == f"{own}/good.yaml:2"
    assert row.message.startswith("our-tags says '")
    assert row.message.endswith("of its good example Pod pod")


@from_table("file", "right", "wrong", "place")
def test_a_mistake_of_an_own_policy_is_named_once(
    tmp_path: Path, file: str, right: str, wrong: str, place: str
) -> None:
    own = write_policy("mine", Kind.VALIDATE, tmp_path)
    text = (own / file).read_text()
    assert right in text
    (own / file).write_text(text.replace(right, wrong, 1))
    form = "ClusterPolicy" if file == "policy.yaml" else "ValidatingPolicy"
    environment = f"{NEW}    policyType: {form}\n    policies: {{mine: {{enabled: true}}}}\n"
    done = run(project(tmp_path, environment, "library: [policies]\n"))
    [row] = [each for each in done.rows if each.outcome is Outcome.FAIL]
    assert (row.check, str(row.location)) == ("policies", f"{own / file}:{place}")


@from_table("file", "right", "wrong", "said")
def test_a_policy_that_cannot_be_read_is_named_at_its_line(
    tmp_path: Path, file: str, right: str, wrong: str, said: str
) -> None:
    own = write_policy("mine", Kind.VALIDATE, tmp_path)
    text = (own / file).read_text()
    (own / file).write_text(text.replace(right, wrong, 1))
    environment = f"{NEW}    policies: {{mine: {{enabled: true}}}}\n"
    root = project(tmp_path, environment, "library: [policies]\n")
    assert f"{own}/{said}" in str(error_of(ChartkitError, run, root))


@pytest.mark.slow
def test_values_that_the_schema_refuses_are_rows_with_suggestions(tmp_path: Path) -> None:
    folder = project(tmp_path, NEW)
    run(folder)
    values = folder / "charts" / "kyverno-policies" / "values_dev.yaml"
    values.write_text(values.read_text() + "backgruond: false\n")
    done = run(folder)
    (row,) = rows(done, "values", Outcome.FAIL)
    assert row.message == "unknown key 'backgruond'"
    assert row.hint == "did you mean 'background'?"
    assert rows(done, "helm") == []


def test_extra_workloads(tmp_path: Path) -> None:
    from chartkit.project.settings import Workload

    folder = project(tmp_path, NEW)
    found = read_project(folder)
    extra = Workload(folder / "pod.yaml", Location("--workloads"))
    done = render_project(
        found, RenderOptions(tuple(found.environments.values()), workloads=(extra,))
    )
    assert done.failed


def test_one_of_a_thing_is_named_as_one(tmp_path: Path) -> None:
    root = project(tmp_path, NEW + "    action: Audit\n", "workloads: [quiet.yaml]\n")
    (root / "small.yaml").write_text(PROFILE.replace("    disallow-latest-tag: {}\n", ""))
    (root / "quiet.yaml").write_text(POD)
    done = run(root)
    assert rows(done, "policies")[0].message == "1 policy compiles"
    (workload,) = rows(done, "workloads")
    assert workload.message.endswith("quiet.yaml: 1 object, no violation")


def test_a_policy_without_examples_is_noted(tmp_path: Path) -> None:
    root = project(tmp_path, NEW, "library: [policies]\n")
    folder = root / "policies" / "ours" / "no-proof"
    shutil.copytree(library_dir() / "baseline" / "disallow-host-path", folder)
    for each in ("good.yaml", "bad.yaml"):
        (folder / each).unlink()
    shutil.rmtree(folder / "cases", ignore_errors=True)
    _rename(folder, "disallow-host-path")
    (root / "small.yaml").write_text(PROFILE + "    ours/no-proof: {}\n")
    done = run(root)
    right, note = rows(done, "examples")
    assert "of 2 policies come out right" in right.message
    assert note.outcome is Outcome.NOTE
    assert note.message == "policy no-proof has no examples, and nothing shows what it does"
    assert note.location == Location(str(folder / "policy.yaml"), 1)


@pytest.mark.parametrize("there", [True, False])
def test_a_library_that_holds_nothing_is_named_at_its_line(tmp_path: Path, there: bool) -> None:
    root = project(tmp_path, NEW, "library:\n  - policies\n")
    if there:
        (root / "policies").mkdir()
    error = error_of(InputError, run, root)
    place = error.location
    assert place is not None
    assert (place.file, place.line, place.column) == (str(root / "chartkit.yaml"), 3, 5)


@pytest.mark.slow
@from_table("form", "right", "wrong", "place", "hint")
def test_a_mistake_in_an_upstream_policy_is_one_row_at_its_place_for_all_environments(
    tmp_path: Path, form: str, right: str, wrong: str, place: str, hint: str
) -> None:
    root = project(tmp_path, NEW + "  qa:\n" + NEW, "library: [own]\n")
    text = {"policy": OWN_RULES, "cel": OWN_CEL}[form]
    assert right in text
    file = root / "own" / "mine" / "mine.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(text.replace(right, wrong, 1))
    (root / "small.yaml").write_text(PROFILE + "    mine: {}\n")
    done = run(root)
    (row,) = [row for row in rows(done, "policies") if row.outcome is not Outcome.PASS]
    assert row.environment == "dev, qa"
    assert str(row.location) == f"{file}:{place}"
    assert row.hint == hint


OWN_RULES = _TEXTS["own-rules"]
OWN_CEL = _TEXTS["own-cel"]


def test_manifests_that_would_be_compared_with_nothing_are_not_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("an installation is simulated")

    found = read_project(project(tmp_path, NEW))
    monkeypatch.setattr(chart, "dry_run", never)
    options = RenderOptions(tuple(found.environments.values()), check=True)
    (row,) = rows(render_project(found, options), "files", Outcome.NOTE)
    assert row.message == "is not there, and was not compared"
    (tmp_path / "rendered").mkdir()
    with pytest.raises(AssertionError, match="simulated"):
        render_project(found, options)
