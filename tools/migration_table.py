"""Makes `docs/reference/public-library.md`: the public policy library converted and proved.

    python tools/migration_table.py FOLDER [SECONDS] > docs/reference/public-library.md

FOLDER holds the library's folders, one below the other: `best-practices/disallow-latest-tag/…`,
and its own versions in CEL in `best-practices-cel`, `-vpol`, `-mpol` and `-gpol`. SECONDS is the
processor time for each proof.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from chartkit.addons.migrate.conversion import Conversion
from chartkit.addons.migrate.convert import convert
from chartkit.addons.migrate.files.run import proof_options
from chartkit.addons.migrate.proof import Aspect, Difference, Proof, ProofOptions, prove
from chartkit.addons.migrate.proof.known import NamedDifferences
from chartkit.documents.reader import read_file
from chartkit.errors import ChartkitError
from chartkit.model import Resource

_LEGACY: Final = ("ClusterPolicy", "Policy", "ClusterCleanupPolicy", "CleanupPolicy")
_OWN: Final = ("-cel", "-vpol", "-mpol", "-gpol", "-dpol")
_HEAD: Final = """\
# The public policy library, converted

<!-- Made by tools/migration_table.py. -->

This page shows what [`chartkit migrate policies`](migrate-policies.md) makes of the policies of
kyverno.io in the public library ([kyverno/policies](https://github.com/kyverno/policies)), and over
how many requests the proof compared both forms. "By hand" names what has no exact form.
"""


_TABLE: Final = "| policy | rules | proof | by hand | own CEL |\n|---|---|---|---|---|"
_OWN_HEAD: Final = """\
## Where the library's own versions differ

Of the versions in CEL that the library has by hand, these do not say what their originals say; for
each the smallest request that shows it. Messages, updates of objects that violated before, and pass
against skip are not counted.
"""
_LONGEST: Final = 300
"""The most characters of a request in the page."""


@dataclass(frozen=True, slots=True)
class OwnVersion:
    """A version in CEL that the library has; suffix: of its folder; differences: from the
    original, the gravest first; problem: why it could not be compared."""

    suffix: str
    differences: tuple[Difference, ...] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """A policy: its folder, its rules, how many are converted, the reasons of the others, and the
    proof of those that are."""

    folder: str
    name: str
    rules: int
    converted: int
    reasons: tuple[str, ...]
    proof: Proof | None
    problem: str = ""
    own: tuple[OwnVersion, ...] = ()


def policies(root: Path) -> Iterator[tuple[str, Resource, tuple[Resource, ...]]]:
    """Give each legacy policy once, with its folder and the objects of its own tests."""
    seen: set[str] = set()
    for file in sorted(root.rglob("*.yaml")):
        parts = file.relative_to(root).parts
        if ".kyverno-test" in parts or parts[0].endswith(_OWN):
            continue
        for found in _resources(file):
            if found.kind in _LEGACY and found.name not in seen:
                seen.add(found.name)
                tests = sorted(file.parent.glob(".kyverno-test/*.yaml"))
                objects = tuple(one for test in tests for one in _resources(test))
                yield parts[0], found, tuple(one for one in objects if _is_object(one))


def _is_object(resource: Resource) -> bool:
    return not resource.api_version.startswith(("kyverno.io", "cli.kyverno.io"))


def _resources(file: Path) -> list[Resource]:
    try:
        documents = read_file(file)
    except ChartkitError:
        return []
    found = [Resource(one.body, one.location) for one in documents if isinstance(one.body, dict)]
    return [one for one in found if one.kind and one.name]


def row(work: tuple[str, Resource, tuple[Resource, ...], float]) -> Row:
    """Return the row of a policy."""
    folder, policy, objects, seconds = work
    try:
        conversion = convert(policy)
        proof = _proof(policy, conversion, objects, seconds)
    except ChartkitError as error:
        return Row(folder, policy.name, 0, 0, (), None, error.message)
    outcomes = conversion.outcomes
    reasons = tuple(dict.fromkeys(one.reason for one in outcomes if one.reason))
    converted = sum(one.converted for one in outcomes)
    own = tuple(_own_versions(policy, objects, seconds))
    return Row(folder, policy.name, len(outcomes), converted, reasons, proof, own=own)


def _own_versions(
    policy: Resource, objects: Sequence[Resource], seconds: float
) -> Iterator[OwnVersion]:
    folder = Path(policy.location.file).parent
    for suffix in _OWN:
        there = folder.parent.with_name(folder.parent.name + suffix) / folder.name
        forms = [one for file in sorted(there.glob("*.yaml")) for one in _resources(file)]
        if not forms:
            continue
        named = NamedDifferences(general=True)
        options = ProofOptions(seconds, passed_over=frozenset({Aspect.MESSAGE}), named=named)
        try:
            proof = prove(policy, forms, objects, options=options)
        except ChartkitError as error:
            yield OwnVersion(suffix, problem=error.message)
            continue
        yield OwnVersion(
            suffix, tuple(one for one in proof.differences if one.stored and one.typed)
        )


def _proof(
    policy: Resource, conversion: Conversion, objects: Sequence[Resource], seconds: float
) -> Proof | None:
    if not conversion.documents:
        return None
    place = policy.location
    forms = [Resource(body, place) for body in conversion.documents]
    if conversion.remaining is not None:
        forms.append(Resource(conversion.remaining, place))
    return prove(policy, forms, objects, options=proof_options(conversion, seconds))


def page(rows: Sequence[Row]) -> str:
    """Return the page."""
    rules, converted = sum(one.rules for one in rows), sum(one.converted for one in rows)
    proved = [one.proof for one in rows if one.proof is not None]
    equal = sum(proof.equal for proof in proved)
    share = f"{100 * converted / rules:.0f} %" if rules else "-"
    lines = [
        _HEAD,
        f"{len(rows)} policies with {rules} rules: {converted} rules converted ({share}). Of "
        f"{len(proved)} policies with converted rules, both forms agree for {equal} over "
        f"{sum(proof.requests for proof in proved):,} requests.",
    ]
    for folder in dict.fromkeys(one.folder for one in rows):
        lines += ["", f"## {folder}", "", _TABLE]
        lines += [_line(one) for one in rows if one.folder == folder]
    lines += ["", *_differing(rows)]
    return "\n".join(lines).rstrip() + "\n"


def _differing(rows: Sequence[Row]) -> Iterator[str]:
    """Give the section about the library's own versions that differ from their originals."""
    differing = [(one, own) for one in rows for own in one.own if own.differences]
    if not differing:
        return
    yield _OWN_HEAD
    for one, own in differing:
        first = own.differences[0]
        body = json.dumps(first.case.document, sort_keys=True)
        shown = f"`{body}`" if len(body) < _LONGEST else f"a request of {len(body)} characters"
        yield f"- `{one.folder}{own.suffix}/{one.name}`: {first.legacy.result} in the original,"
        yield f"  {first.new.result} in {own.suffix.removeprefix('-')} ({first.aspect}), of"
        yield f"  {shown}"


def _line(one: Row) -> str:
    if one.problem:
        return f"| {one.name} | - | - | {_cell(one.problem)} | - |"
    proof = "-"
    if one.proof is not None:
        verdict = "equal" if one.proof.equal else "differs"
        proof = f"{verdict} ({one.proof.requests:,} requests)"
    reasons = _cell("; ".join(one.reasons))
    own = ", ".join(map(_word, one.own)) or "-"
    return f"| {one.name} | {one.converted} of {one.rules} | {proof} | {reasons} | {own} |"


def _word(own: OwnVersion) -> str:
    verdict = "not compared" if own.problem else "differs" if own.differences else "equal"
    return f"{own.suffix.removeprefix('-')}: {verdict}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


def main(arguments: Sequence[str]) -> None:
    """Write the page to standard output."""
    root, seconds = Path(arguments[0]), float(arguments[1]) if len(arguments) > 1 else 2.0
    work = [(*each, seconds) for each in policies(root)]
    with ProcessPoolExecutor() as pool:
        rows = list(pool.map(row, work, chunksize=4))
    sys.stdout.write(page(rows))


if __name__ == "__main__":
    main(sys.argv[1:])
