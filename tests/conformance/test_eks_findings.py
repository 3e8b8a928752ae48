"""Findings of the EKS policies in public manifests, in both forms, as eks-findings.md has them."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from chartkit.documents.reader import read_file, resources
from chartkit.engine.policies import RunnablePolicy
from chartkit.model import Resource, RuleResult, Status
from chartkit.scan.policies import load_policies
from chartkit.scan.preview import run_preview
from chartkit.scan.run import ScanContext, run_scan
from chartkit.scan.user_inputs import UserInputs
from tests.data import beside
from tests.policy_library import library
from tests.shared import ROOT, shared

PAGE: Final = ROOT / "docs" / "background" / "eks-findings.md"
FILES: Final = ("microservices-demo", "kube-prometheus", "eks-addons")
FORMS: Final = ("ClusterPolicy", "ValidatingPolicy")
GROUP: Final = "eks-best-practices"
REFUSED, MADE, NOTHING = "Violations", "Mutated and generated objects", "Policies without findings"
PROFILE: Final = beside(__file__)["profile"]
Found = Mapping[str, Sequence[int]]
"""How many objects of each file, by policy."""


def _section(heading: str) -> str:
    return PAGE.read_text("utf-8").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def _told(heading: str) -> Found:
    """The rows of a table: the policy, then a number for each file."""
    row = re.compile(r"^\| `([a-z0-9-]+)` \|" + r" (\d+) \|" * len(FILES), re.MULTILINE)
    return {found[1]: [*map(int, found.groups()[1:])] for found in row.finditer(_section(heading))}


@cache
def _objects() -> tuple[Resource, ...]:
    paths = [shared(f"real/{name}.yaml") for name in FILES]
    return tuple(each for path in paths for each in resources(read_file(path)))


def _policies(form: str, folder: Path) -> tuple[list[RunnablePolicy], list[RunnablePolicy]]:
    """Those that refuse, and those that change or make objects."""
    names = (each.name for each in library().policies.values() if each.group == GROUP)
    lines = "".join(f"    {GROUP}/{name}: {{enabled: true}}\n" for name in sorted(names))
    (folder / "all.yaml").write_text(PROFILE + lines)
    found = load_policies([str(folder / "all.yaml")], {}, policy_type=form)
    assert found.diagnostics == ()
    making = _told(MADE)
    parts: tuple[list[RunnablePolicy], list[RunnablePolicy]] = ([], [])
    for policy in found.policies:
        parts[policy.policy.name in making].append(policy)
    return parts


def _own_name(policy: str) -> str:
    """A policy's name in the library: in CEL it has one more object for ephemeral containers."""
    known = {each.name for each in library().policies.values()}
    return policy if policy in known else policy.removesuffix("-ephemeral")


def _counted(found: Iterable[tuple[str, Resource]]) -> Found:
    """found: policies with an object that they speak up about, once or more."""
    places: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
    for policy, resource in found:
        assert resource.location is not None
        file = Path(resource.location.file).stem
        name = f"{resource.kind}/{resource.namespace}/{resource.name}"
        places[_own_name(policy)].add((file, name))
    files = {policy: Counter(file for file, _ in each) for policy, each in places.items()}
    return {policy: [each[file] for file in FILES] for policy, each in files.items()}


def _refused(policies: Sequence[RunnablePolicy], objects: Sequence[Resource]) -> Found:
    found: list[tuple[str, Resource]] = []

    def sink(resource: Resource, results: Sequence[RuleResult]) -> None:
        for result in results:
            assert result.status is not Status.ERROR, (result.policy, resource.name, result.message)
            if result.status is Status.FAIL:
                found.append((result.policy, resource))

    run_scan(policies, objects, sink, ScanContext(world=UserInputs().world(policies, objects)))
    return _counted(found)


def _made(policies: Sequence[RunnablePolicy], objects: Sequence[Resource]) -> Found:
    """Each policy by itself, so that none sees what another made."""
    world = UserInputs().world(policies, objects)
    return _counted(
        (policy.policy.name, preview.resource)
        for policy in policies
        for preview in run_preview([policy], objects, ScanContext(world=world))
        if preview.changes
    )


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_the_page_tells_what_each_form_finds(form: str, tmp_path: Path) -> None:
    refusing, making = _policies(form, tmp_path)
    assert _refused(refusing, _objects()) == _told(REFUSED)
    told = {name: row for name, row in _told(MADE).items() if any(row)}
    assert _made(making, _objects()) == told


def test_the_page_counts_the_objects() -> None:
    kinds = Counter(each.kind for each in _objects())
    told = (
        f"{len(_objects())} objects, among them {kinds['Deployment']} Deployments and "
        f"{kinds['DaemonSet']} DaemonSets"
    )
    assert told in " ".join(PAGE.read_text("utf-8").split())


def test_the_page_names_every_policy_once() -> None:
    tables = [*_told(REFUSED), *_told(MADE), *re.findall(r"`([a-z0-9-]+)`", _section(NOTHING))]
    known = {each.name: each.group for each in library().policies.values()}
    own = {name for name, group in known.items() if group == GROUP}
    assert [name for name, times in Counter(tables).items() if times > 1] == []
    assert sorted(own - set(tables)) == []
    assert sorted(set(tables) - known.keys()) == []
