"""The public Kyverno library, where it stands beside the project: all of it is vendored from a
server, found, and goes through charts that do with every object what the library's own files do."""

import shutil
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from chartkit.catalog.entries import libraries, read_catalogue, read_index
from chartkit.catalog.model import Entry
from chartkit.catalog.search import Query, find, search
from chartkit.catalog.show import details, report
from chartkit.charts.policies.chart import plan
from chartkit.documents.reader import read_file
from chartkit.documents.yaml_dump import dump_yaml
from chartkit.errors import InputError
from chartkit.helm.render import lint_chart, render_chart
from chartkit.library.upstream import UpstreamForm, UpstreamLibrary, UpstreamPolicy
from chartkit.model import Body, Severity
from chartkit.network.downloads.lockfile import verify
from chartkit.project.project import read_project
from chartkit.testing.model import CaseResult
from chartkit.testing.runner import run_tests
from tests.command_reports import in_format
from tests.data import beside
from tests.e2e.command import chartkit
from tests.shared import shared
from tests.unit.network.downloads.archive_files import tar_gz
from tests.unit.network.downloads.hostile_server import body, serving

_PROJECT = """\
profiles: [./all.yaml]
environments:
  one: {kyverno: "1.19", kubernetes: "1.35", engine: false}
"""
_PROFILE = beside(__file__)["profile"]
_FORMS = ("ClusterPolicy", "ValidatingPolicy", "MutatingPolicy", "GeneratingPolicy", "Policy")


@dataclass(frozen=True, slots=True)
class Trip:
    """A vendored library, its policies, and what Kubernetes gets of each by its file."""

    root: Path
    policies: tuple[UpstreamPolicy, ...]
    rendered: Mapping[Path, list[Body]]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = shared("conformance/policy-library")
    files = {
        path.relative_to(source).as_posix(): path.read_bytes()
        for path in source.rglob("*")
        if path.is_file()
    }
    folder = tmp_path_factory.mktemp("project")
    with serving({"/kyverno.tar.gz": body(tar_gz(files))}) as server:
        done = chartkit(folder, "policies", "vendor", f"{server.url}/kyverno.tar.gz")
    assert done.code == 0, done.err
    return folder


@pytest.fixture(scope="module")
def trip(project: Path) -> Trip:
    root = project / "vendor" / "kyverno"
    library = UpstreamLibrary("kyverno", root)
    policies = [policy for each in library.references for policy in library.find(each)]
    rendered: dict[Path, list[Body]] = {}
    for form, chart in _charts(policies):
        go = _by_command if form is UpstreamForm.CEL else _in_process
        for name, bodies in go(project, chart).items():
            rendered[Path(chart[name].location.file)] = bodies
    return Trip(root, tuple(policies), rendered)


def _charts(policies: list[UpstreamPolicy]) -> list[tuple[UpstreamForm, dict[str, UpstreamPolicy]]]:
    """The policies by name, a generation a chart; a chart more where a name is taken."""
    charts: list[tuple[UpstreamForm, dict[str, UpstreamPolicy]]] = []
    for policy in policies:
        fits = (names for form, names in charts if form is policy.form and policy.name not in names)
        names = next(fits, None)
        if names is None:
            names = {}
            charts.append((policy.form, names))
        names[policy.name] = policy
    return charts


def _name_all(project: Path, policies: Mapping[str, UpstreamPolicy]) -> None:
    (project / "chartkit.yaml").write_text(_PROJECT)
    lines = "".join(f"    kyverno/{each.reference}: {{}}\n" for each in policies.values())
    (project / "all.yaml").write_text(_PROFILE + lines)


def _in_process(project: Path, policies: Mapping[str, UpstreamPolicy]) -> dict[str, list[Body]]:
    _name_all(project, policies)
    chart = plan(read_project(project))
    assert [each for each in lint_chart(chart) if each.severity is not Severity.NOTE] == []
    return _by_name(policies, (each.body for each in render_chart(chart).resources))


def _by_command(project: Path, policies: Mapping[str, UpstreamPolicy]) -> dict[str, list[Body]]:
    _name_all(project, policies)
    done = chartkit(project, "render", "-v")
    assert done.code == 0, done.out + done.err
    rows = [line.split() for line in done.out.splitlines()]
    assert [row[2] for row in rows if row[1:2] == ["helm"]] == ["pass"]
    files = sorted((project / "rendered" / "one").rglob("*.yaml"))
    return _by_name(policies, (each.body for file in files for each in read_file(file)))


def _by_name(
    policies: Mapping[str, UpstreamPolicy], bodies: Iterable[Body]
) -> dict[str, list[Body]]:
    found: dict[str, list[Body]] = {}
    for each in bodies:
        name = each["metadata"]["name"]
        if name in policies:
            found.setdefault(name, []).append(each)
    return found


@pytest.mark.slow
def test_every_policy_makes_the_trip(trip: Trip) -> None:
    assert set(trip.rendered) == {Path(each.location.file) for each in trip.policies}
    for policy in trip.policies:
        (body,) = trip.rendered[Path(policy.location.file)]
        written = policy.body
        assert (body["kind"], body["metadata"]["name"]) == (written["kind"], policy.name)
        annotations = body["metadata"]["annotations"]
        assert annotations.items() >= _annotations(written).items()
        assert _said(body["spec"]) == _said(written["spec"])


def _annotations(written: Body) -> Body:
    found = written["metadata"].get("annotations") or {}
    return {key: value for key, value in found.items() if value != ""}


def _said(spec: Body) -> Body:
    """What a policy says of its action, and of when it is asked."""
    actions = [rule.get("validate", {}).get("failureAction") for rule in spec.get("rules", ())]
    return {
        "actions": [spec.get("validationFailureAction", "Audit"), *actions],
        "background": spec.get("background", True),
        "cel": spec.get("validationActions"),
        "failurePolicy": spec.get("failurePolicy", "Fail"),
    }


@pytest.mark.slow
def test_rows_are_the_same_before_and_after(trip: Trip, tmp_path: Path) -> None:
    after = tmp_path / "after"
    shutil.copytree(trip.root, after)
    for file, bodies in trip.rendered.items():
        text = "---\n".join(dump_yaml(each) for each in bodies)
        (after / file.relative_to(trip.root)).write_text(text)
    found = [
        {each.case: _rows(each, root) for each in run_tests([root])} for root in (trip.root, after)
    ]
    assert len(found[0]) == 359
    different = [case for case, rows in found[0].items() if found[1][case] != rows]
    assert different == []


def _rows(case: CaseResult, root: Path) -> list[object]:
    rows: list[object] = [
        (each.policy, each.rule, each.resource, each.verdict, each.reason, each.message)
        for each in case.rows
    ]
    return [*rows, case.error.replace(str(root), "")]


@pytest.fixture(scope="module")
def entries(project: Path) -> tuple[Entry, ...]:
    catalogue = read_catalogue(libraries(project))
    assert catalogue.problems == ()
    return catalogue.entries


@pytest.mark.slow
def test_every_policy_is_there_once_under_its_folders_name(project: Path) -> None:
    root = project / "vendor" / "kyverno"
    assert verify(root) == []
    indexed = read_index("kyverno", root)
    files = {
        path
        for path in root.rglob("*.yaml")
        if not any(part.startswith(".") for part in path.relative_to(root).parts)
        and any(
            document.body.get("kind") in _FORMS and "spec" in document.body
            for document in read_file(path)
        )
    }
    assert {Path(entry.file) for entry in indexed.entries} == files
    assert len(indexed.entries) == len(files)
    for entry in indexed.entries:
        assert str(root / entry.reference) == str(Path(entry.file).parent)
    names = Counter(entry.name for entry in indexed.entries)
    assert sum(count > 1 for count in names.values()) > 100


def test_every_policy_says_what_it_is(entries: tuple[Entry, ...]) -> None:
    for entry in entries:
        assert entry.title, entry.qualified
        assert entry.kinds, entry.qualified
        assert entry.subjects, entry.qualified
        assert entry.minimum, entry.qualified


@pytest.mark.slow
def test_policies_are_found_and_shown(project: Path, entries: tuple[Entry, ...]) -> None:
    found = search(entries, Query(("probes",), library="kyverno"))
    assert "best-practices/require-probes" in {entry.reference for entry in found}
    with pytest.raises(InputError, match="policies 'require-probes'"):
        find(entries, "require-probes")
    entry = find(entries, "best-practices/require-probes")
    text = in_format(report(details(entry, project / "vendor" / "kyverno")), "text")
    assert "an example that it refuses: " in text
    assert "an example that it accepts: " in text


@pytest.mark.slow
def test_it_is_listed_and_searched(project: Path) -> None:
    done = chartkit(project, "policies", "list", "--library", "kyverno")
    assert done.out.splitlines()[-1] == "359 policies"
    done = chartkit(project, "policies", "search", "probes", "--library", "kyverno")
    assert "best-practices/require-probes" in done.out
