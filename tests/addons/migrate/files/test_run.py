"""Migrations as a whole: proofs, allowed differences, processes and objects that are given."""

import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chartkit.addons.migrate.conversion import Conversion
from chartkit.addons.migrate.convert import Batch
from chartkit.addons.migrate.files import run
from chartkit.addons.migrate.files.report import report
from chartkit.addons.migrate.proof import Coverage, Proof, prove
from chartkit.documents.reader import read_text
from chartkit.errors import BugError, InputError
from chartkit.model import Location, Resource
from tests.addons.migrate.files.migrations import migrated
from tests.command_reports import OWN, in_format
from tests.data import beside

_TEXTS = beside(__file__)

_CONVERT = Batch.convert
_NONE: Mapping[int, Any] = {}
_POLICY = _TEXTS["policy"]


def _folder(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / f"{name}.yaml").write_text(_POLICY.replace("NAME", name))
    return folder


def _wrong(batch: Batch, legacy: Resource, left: Mapping[int, Any] = _NONE) -> Conversion:
    """Convert a policy to one that lets everything through."""
    right = _CONVERT(batch, legacy, left)
    if legacy.kind == "PolicyException":
        return right
    body = right.documents[0]
    spec = {**body["spec"], "validations": [{"expression": "true", "message": "m"}]}
    return replace(right, documents=({**body, "spec": spec},))


@pytest.fixture
def _converts_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Batch, "convert", _wrong)


@pytest.mark.usefixtures("_converts_wrong")
def test_a_policy_whose_forms_differ_stays(tmp_path: Path) -> None:
    found = migrated(_folder(tmp_path, "p"), prove=True)
    assert found.exit_code(check=False) == 1
    (one,) = read_text(found.text)
    assert one.body["kind"] == "ClusterPolicy"
    assert "# chartkit migrate: not converted: both forms differ\n" in found.text
    assert "#   object:" not in found.text
    assert "# chartkit migrate:   object:\n" in found.text
    for name in OWN:
        assert "differs" in in_format(report(found), name) or name == "json"
    assert '"equal": false' in in_format(report(found), "json")


@pytest.mark.usefixtures("_converts_wrong")
def test_a_difference_that_is_allowed(tmp_path: Path) -> None:
    found = migrated(_folder(tmp_path, "p"), prove=True, allowed=("p=labels are optional now",))
    assert found.exit_code(check=False) == 0
    (one,) = read_text(found.text)
    assert one.body["kind"] == "ValidatingPolicy"
    assert found.text.startswith(
        "# chartkit migrate: both forms differ, which is allowed: labels are optional now\n"
    )
    assert "differs, as allowed" in in_format(report(found), "text")


def test_an_allowed_difference_of_no_policy_names_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--allow-difference teem: no policy has this name") as end:
        migrated(_folder(tmp_path, "team"), prove=True, allowed=("teem=misspelt",))
    assert end.value.hint == "did you mean 'team'?"


def test_processes_give_what_one_process_gives(tmp_path: Path) -> None:
    _folder(tmp_path, "a", "b", "c")
    one, two = (migrated(tmp_path, prove=True, jobs=jobs, proof_seconds=None) for jobs in (1, 2))
    assert in_format(report(one), "json") == in_format(report(two), "json")
    assert [each.legacy.resource.name for each in two.objects] == ["a", "b", "c"]
    assert one.text == two.text
    assert [file.after for file in one.files] == [file.after for file in two.files]


def test_a_file_that_is_named_twice_is_read_once(tmp_path: Path) -> None:
    folder = _folder(tmp_path, "a", "b")
    (folder / "values.yaml").write_text("policyExclude: {}\n")
    once, twice = migrated(folder), migrated(folder, folder / "a.yaml", folder)
    assert once.text == twice.text
    assert len(once.mentions) == len(twice.mentions) == 1


class _OddError(Exception):
    """An error that no other process can read."""

    def __init__(self, one: str, two: str) -> None:
        super().__init__(one + two)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_bug_in_a_proof_names_its_policy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: int
) -> None:
    def broken(legacy: Resource, *_: Any, **__: Any) -> Proof:
        if legacy.name == "b":
            raise _OddError("what ", "happened")
        return Proof(1, 1, (), Coverage(), {})

    monkeypatch.setattr(run, "prove", broken)
    _folder(tmp_path, "a", "b", "c")
    with pytest.raises(BugError) as caught:
        migrated(tmp_path, prove=True, jobs=jobs)
    assert caught.value.exit_code == 3
    assert caught.value.location == Location(str(tmp_path / "b.yaml"), 1)
    text = "a bug, not your mistake: _OddError: what happened (in broken, line "
    assert caught.value.message.startswith(text)


_ENDED = """
import os, sys
from pathlib import Path
from chartkit.errors import ChartkitError
from chartkit.addons.migrate.files import run
from tests.addons.migrate.files.migrations import migrated

run.prove = lambda *_, **__: os._exit(9)
try:
    migrated(Path(sys.argv[1]), prove=True, jobs=2)
except ChartkitError as error:
    print(error.exit_code, error)
"""


@pytest.mark.slow
def test_a_process_that_the_system_ends_is_no_bug(tmp_path: Path) -> None:
    """A program of its own: what has several threads proves without other processes."""
    _folder(tmp_path, "a", "b")
    command = [sys.executable, "-c", _ENDED, str(tmp_path)]
    root = Path(__file__).parents[4]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    place = re.escape(f"2 {tmp_path / 'a.yaml'}:1: ")
    assert re.match(rf"{place}.* was ended from outside .*fewer --jobs", done.stdout)


def test_objects_that_are_given_are_asked_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def spy(legacy: Resource, forms: Any, objects: Sequence[Resource], **rest: Any) -> Any:
        asked.extend(each.name for each in objects)
        return prove(legacy, forms, objects, **rest)

    monkeypatch.setattr(run, "prove", spy)
    (tmp_path / "in").mkdir()
    policy = _folder(tmp_path / "in", "p")
    (tmp_path / "c.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: given}\n")
    (policy / "own.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: own}\n")
    (policy / "kyverno-test.yaml").write_text(
        "apiVersion: cli.kyverno.io/v1alpha1\nkind: Test\npolicies: [p.yaml]\n"
        "resources: [own.yaml]\n"
        "results: [{policy: p, rule: team, kind: ConfigMap, resources: [own], result: fail}]\n"
    )
    found = migrated(policy, prove=True, objects=(str(tmp_path / "c.yaml"),), proof_seconds=0.1)
    assert asked == ["own", "given"]
    assert found.exit_code(check=False) == 0


def test_objects_of_a_recording_are_asked_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(
        run, "prove", lambda _legacy, _forms, objects, **_: asked.extend(o.kind for o in objects)
    )
    recording = Path(__file__).parents[4] / "tools" / "fuzz_inputs" / "recording"
    (tmp_path / "p.yaml").write_text(_POLICY.replace("NAME", "p").replace("ConfigMap", "Pod"))
    migrated(tmp_path, prove=True, objects=(str(recording),))
    assert set(asked) == {"Pod"}


@pytest.mark.slow
def test_exceptions_are_in_the_proof(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "p.yaml").write_text(_POLICY.replace("NAME", "p") + _TEXTS["exception"])
    found = migrated(tmp_path, prove=True, proof_seconds=1)
    policy, exception = found.objects
    assert policy.proof is not None
    assert policy.proof.equal, policy.proof.differences
    assert exception.conversion is not None

    convert = Batch.exceptions_from

    def forgetting(batch: Batch, legacy: Resource) -> tuple[list[Resource], list[Resource]]:
        return convert(batch, legacy)[0], []

    monkeypatch.setattr(Batch, "exceptions_from", forgetting)
    (policy, _) = migrated(tmp_path, prove=True, proof_seconds=1).objects
    assert policy.proof is not None
    assert not policy.proof.equal


@pytest.mark.slow
@pytest.mark.usefixtures("_converts_wrong")
def test_an_exception_stays_with_a_policy_whose_forms_differ(tmp_path: Path) -> None:
    exception = (
        "apiVersion: kyverno.io/v2\nkind: PolicyException\n"
        "metadata: {name: lifted, namespace: shop}\nspec:\n"
        "  match: {any: [{resources: {kinds: [ConfigMap], names: [a]}}]}\n"
        "  exceptions: [{policyName: p, ruleNames: [team]}]\n"
    )
    _folder(tmp_path, "p")
    (tmp_path / "off.yaml").write_text(exception)
    found = migrated(tmp_path, prove=True)
    assert [each.body["kind"] for each in read_text(found.text)] == [
        "PolicyException",
        "ClusterPolicy",
    ]
    allowed = migrated(tmp_path, prove=True, allowed=("p=as we want it",))
    assert {each.body["apiVersion"] for each in read_text(allowed.text)} == {
        "policies.kyverno.io/v1"
    }


def test_a_proof_that_decided_nothing_does_not_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = Proof(3, 0, (), Coverage(), {})
    monkeypatch.setattr(run, "prove", lambda *_, **__: nothing)
    found = migrated(_folder(tmp_path, "p"), prove=True)
    assert found.exit_code(check=False) == 1
    assert "undecided" in in_format(report(found), "text")
    assert "not converted: no request made either form decide" in found.text
    allowed = migrated(tmp_path, prove=True, allowed=("p=tried in a cluster",))
    assert allowed.exit_code(check=False) == 0
