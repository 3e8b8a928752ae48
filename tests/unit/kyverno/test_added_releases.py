"""Releases that users add to those that chartkit knows."""

import re
from datetime import date
from pathlib import Path

import pytest

from chartkit.addons.operate.upgrade import eks_support, parse_pair, shortest
from chartkit.errors import InputError
from chartkit.kyverno.known_faults import announced, changes, faults_of, known_faults
from chartkit.kyverno.matrix import judge, kube_version_range, matrix
from chartkit.kyverno.releases import BUILT_IN, ReleaseData, read_matrix
from chartkit.kyverno.versions import Release, Version, parse_version
from chartkit.schemas import json_schema
from tests.data import from_table
from tests.unit.project.project_files import write_project

NEXT = announced()
UPCOMING = next(iter(NEXT))
ADDED = f"""\
kyverno:
  - version: "{UPCOMING}"
    kubernetes: ["1.34", "1.36"]
    released: 2026-12-01
    releases: {{"{UPCOMING}.0": "3.10.0"}}
    changes: [{{kind: removed, text: all of it}}]
  - version: "1.18"
    kubernetes: ["1.33", "1.36"]
    releases: {{"1.18.9": "3.8.9"}}
eks:
  - version: "1.36"
    released: 2026-09-01
    standardSupport: 2027-11-01
    extendedSupport: 2028-11-01
faults:
  - name: ours
    affected: [{{since: "1.18.2", fixed: "1.18.9"}}]
    controller: admission-controller
    text: forgets our registry
    exposure: nothing
    source: https://wiki.example.com/kyverno
"""


def added(folder: Path, text: str = ADDED) -> ReleaseData:
    file = folder / "releases.yaml"
    file.write_text(text)
    return read_matrix(file)


def test_a_version_joins_the_matrix(tmp_path: Path) -> None:
    data = added(tmp_path)
    assert UPCOMING not in matrix()
    assert list(matrix(data))[-1] == UPCOMING
    assert UPCOMING not in announced(data)
    assert set(announced(data)) == set(NEXT) - {UPCOMING}
    verdict = judge(UPCOMING, Version(1, 36), date(2026, 12, 2), None, data)
    assert verdict.supported
    assert {Version(1, 18), UPCOMING} <= set(verdict.fitting)
    assert Version(1, 17) not in verdict.fitting
    assert kube_version_range([UPCOMING], None, data) == ">=1.34-0 <1.37-0"
    assert changes(data)[UPCOMING][0].text == "all of it"
    assert eks_support(data)[Version(1, 36)].standard == date(2027, 11, 1)


def test_a_known_version_takes_the_keys_that_are_added(tmp_path: Path) -> None:
    known, changed = matrix()[Version(1, 18)], matrix(added(tmp_path))[Version(1, 18)]
    assert (known.newest, changed.newest) == (Version(1, 35), Version(1, 36))
    assert changed.released == known.released
    assert dict(changed.charts) == {**known.charts, Release(1, 18, 9): "3.8.9"}
    assert matrix() == matrix(BUILT_IN)


def test_added_faults_are_known_too(tmp_path: Path) -> None:
    data = added(tmp_path)
    release = Release(1, 18, 2)
    assert {each.name for each in known_faults(data)} - {e.name for e in known_faults()} == {"ours"}
    (found,) = [each for each in faults_of(release, None, data) if "registry" in each.message]
    assert found.hint == "1.18.9 does not: https://wiki.example.com/kyverno"


def test_a_route_leads_to_an_added_version(tmp_path: Path) -> None:
    ends = parse_pair("1.18/1.35"), parse_pair(f"{UPCOMING}/1.36")
    route = shortest(*ends, skip_minors=True, data=added(tmp_path))
    assert route.exists
    assert not shortest(*ends, skip_minors=True).exists


@from_table("text", "line", "message")
def test_mistakes_have_their_places(tmp_path: Path, text: str, line: int, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        added(tmp_path, text)
    assert caught.value.location is not None
    assert caught.value.location.line == line


def test_a_project_adds_versions_by_itself_or_by_files(tmp_path: Path) -> None:
    env = f'environments:\n  dev: {{kyverno: "{UPCOMING}", kubernetes: "1.36"}}\n'
    lines = "".join(f"  {line}\n" for line in ADDED.splitlines())
    (tmp_path / "known.yaml").write_text(ADDED)
    for given in (f"versions:\n{lines}", "versions: known.yaml\n", "versions: [known.yaml]\n"):
        environment = write_project(tmp_path, given + env).environment("dev")
        assert UPCOMING in matrix(environment.versions)
    assert write_project(tmp_path, env).environment("dev").versions is BUILT_IN
    with pytest.raises(InputError, match="is newer than") as caught:
        write_project(
            tmp_path,
            'versions:\n  kyverno:\n  - version: "1.18"\n    kubernetes: ["1.9", "1.1"]\n' + env,
        )
    assert caught.value.location is not None
    assert caught.value.location.line == 4


def test_the_data_of_chartkit_fits_its_own_schema() -> None:
    definitions = json_schema.load("project.schema.json")["$defs"]
    schema = {**definitions["versions"], "$defs": definitions}
    from jsonschema import Draft202012Validator

    body = {key: BUILT_IN.section(key) for key in ("kyverno", "announced", "eks", "faults")}
    Draft202012Validator(schema).validate(body)
    assert parse_version(str(UPCOMING), "it") == UPCOMING
