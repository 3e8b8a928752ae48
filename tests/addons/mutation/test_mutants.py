"""Changes of policies, one at a time, and which of them examples show."""

from pathlib import Path

import pytest

from chartkit.addons.mutation.mutants import changes
from chartkit.addons.mutation.run import mutate_policy
from chartkit.bundled import library_dir
from chartkit.catalog.authoring.add import write_policy
from chartkit.catalog.authoring.check import EQUAL_FILE, check_path, report
from chartkit.catalog.model import Kind
from chartkit.documents.reader import parse_yaml
from chartkit.library.policies import read_shared_parameters
from chartkit.model import Body
from tests.command_reports import in_format
from tests.data import from_table

LEGACY = """\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: p}
spec: {rules: [{name: r, %s}]}
"""
CEL = """\
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: p}
spec: {%s}
"""


@from_table("rule", "texts")
def test_changes_of_a_rule(rule: str, texts: list[str]) -> None:
    body: Body = parse_yaml(LEGACY % rule)
    assert [change.text for change in changes(body)] == texts


@from_table("spec", "texts")
def test_changes_of_a_policy_in_cel(spec: str, texts: list[str]) -> None:
    made = [change.text for change in changes(parse_yaml(CEL % spec))]
    assert len(made) == len(texts)
    assert all(text in ("", said) for text, said in zip(texts, made, strict=True))


def test_a_change_leaves_the_policy_as_it_is() -> None:
    body: Body = parse_yaml(LEGACY % "match: {any: [{resources: {kinds: [Pod]}}]}")
    (change,) = changes(body)
    changed = change.applied(body)
    assert changed == parse_yaml(LEGACY % "match: {any: [{resources: {kinds: [Podx]}}]}")
    assert body == parse_yaml(LEGACY % "match: {any: [{resources: {kinds: [Pod]}}]}")


@pytest.mark.parametrize("kind", [Kind.VALIDATE, Kind.MUTATE, Kind.GENERATE])
def test_examples_of_a_new_policy_show_most_changes(tmp_path: Path, kind: Kind) -> None:
    result = mutate_policy(write_policy("mine", kind, tmp_path), {})
    assert result.killed >= 0.8 * result.changes > 0
    assert result.untried == 0


@from_table("name")
def test_examples_of_the_built_in_library_show_changes(name: str) -> None:
    result = mutate_policy(library_dir() / name, read_shared_parameters(library_dir()))
    assert result.survivors == ()
    assert result.killed > 20


def test_a_survivor_has_its_place_and_an_object_that_would_show_it(tmp_path: Path) -> None:
    folder = write_policy("mine", Kind.MUTATE, tmp_path)
    good = folder / "good.yaml"
    before = mutate_policy(folder, {})
    # Without the object whose field stays as somebody chose it, nothing shows the anchor.
    good.write_text(good.read_text("utf-8").partition("---")[0], "utf-8")
    found = mutate_policy(folder, {}).survivors
    new = [
        each for each in found if each.message not in {each.message for each in before.survivors}
    ]
    (survivor,) = (
        each for each in new if "+(enableServiceLinks) -> enableServiceLinks" in each.message
    )
    location = survivor.location
    assert location is not None
    assert location.file.endswith("policy.yaml")
    line = (folder / "policy.yaml").read_text("utf-8").splitlines()[location.line - 1]
    assert line.strip() == "spec:"
    assert "with spec.enableServiceLinks: true" in (survivor.hint or "")


def test_changes_that_change_nothing_have_a_reason(tmp_path: Path) -> None:
    folder = write_policy("mine", Kind.MUTATE, tmp_path)
    (folder / "good.yaml").write_text(
        (folder / "good.yaml").read_text("utf-8").partition("---")[0], "utf-8"
    )
    before = mutate_policy(folder, {})
    change = "+(enableServiceLinks) -> enableServiceLinks"
    item = f"- form: policy.yaml\n  change: {change}\n"
    (folder / EQUAL_FILE).write_text(f"{item}  reason: nobody turns them on\n", "utf-8")
    after = mutate_policy(folder, {})
    assert (after.equal, len(after.survivors)) == (1, len(before.survivors) - 1)
    (folder / EQUAL_FILE).write_text(item, "utf-8")
    (wrong,) = mutate_policy(folder, {}).survivors
    assert wrong.message == "needs form, change and reason, each a text"


def test_the_report_counts(tmp_path: Path) -> None:
    write_policy("mine", Kind.VALIDATE, tmp_path)
    result = check_path(tmp_path / "policies", mutates=True)
    assert result.mutation is not None
    text = in_format(report(result, {}), "text")
    assert f"examples show {result.mutation.killed} of {result.mutation.changes} changes" in text
    assert not result.failed
    assert check_path(tmp_path / "policies").mutation is None
