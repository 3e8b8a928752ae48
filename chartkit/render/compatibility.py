"""The answers of `check-compat` about an environment, a chart or a pair of versions."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import chain
from pathlib import Path
from typing import Any

from chartkit.documents.reader import read_file
from chartkit.errors import InputError, RenderError
from chartkit.helm.render import dry_run
from chartkit.kyverno import matrix as compat
from chartkit.kyverno.known_faults import RULE_FAULT, Change, announced, faults_of
from chartkit.kyverno.matrix import CLUSTERS_ANNOTATION
from chartkit.kyverno.releases import BUILT_IN, Facts, ReleaseData
from chartkit.kyverno.versions import Release, Version, parse_release, parse_version
from chartkit.model import Diagnostic, Explanation, Location, Severity, value_at
from chartkit.project.environment import Environment
from chartkit.project.settings import PolicyType
from chartkit.report.command_report import CommandReport
from chartkit.report.finding import diagnostic_entry
from chartkit.temporary import temporary_folder

ANNOUNCED = "announced"
_RANGE = compat.RULE_RANGE


@dataclass(frozen=True, slots=True)
class VersionCheck:
    """One thing that was checked.

    kyverno, kubernetes: None where it names none; status: `supported`, `above`, `below`,
    `undeclared`, `announced` where that Kyverno is not released, or `unknown` where there is no
    pair to judge; clusters: what the Kyverno version supports;
    fitting: the Kyverno versions that support the cluster, oldest first; data: the releases that
    are known.
    """

    name: str
    kyverno: Version | None
    kubernetes: Version | None
    status: str
    row: compat.Compatibility | None
    fitting: tuple[Version, ...]
    diagnostics: tuple[Diagnostic, ...]
    data: ReleaseData = BUILT_IN

    @property
    def supported(self) -> bool:
        """True unless a finding is an error."""
        return all(diagnostic.severity is not Severity.ERROR for diagnostic in self.diagnostics)


def pair(
    name: str,
    kyverno: Version,
    kubernetes: Version | None,
    today: date,
    location: Location | None = None,
    release: Release | None = None,
    data: ReleaseData = BUILT_IN,
    accepted: str = "",
) -> VersionCheck:
    """Return a Kyverno version, and a cluster to judge it against if there is one; release:
    Kyverno's with its patch where that is known, whose known faults are then named; accepted: why
    an environment takes the pair although it is not supported."""
    if kyverno in announced(data):
        # A Kyverno version that is not a supported pair with any cluster yet.
        announcement = announced(data)[kyverno]
        diagnostic = Diagnostic(
            compat.RULE_UNSUPPORTED,
            Severity.ERROR,
            f"{announcement}: no cluster is supported",
            location,
            announcement.advice,
        )
        fitting = () if kubernetes is None else compat.fitting_kyverno(kubernetes, data)
        return VersionCheck(
            name, kyverno, kubernetes, ANNOUNCED, None, fitting, (diagnostic,), data
        )
    faults = tuple(faults_of(release, location, data))
    if kubernetes is None:
        row = compat.compatibility(kyverno, location, data)
        ended = compat.end_of_life(row, today, location, data)
        diagnostics = (*ended, *_unknown(release, row, location), *faults)
        return VersionCheck(name, kyverno, None, "unknown", row, (), diagnostics, data)
    verdict = compat.judge(kyverno, kubernetes, today, location, data)
    row = verdict.compatibility
    diagnostics = (
        *compat.diagnostics(verdict, location, accepted),
        *_unknown(release, row, location),
        *faults,
    )
    return VersionCheck(
        name, kyverno, kubernetes, verdict.support, row, verdict.fitting, diagnostics, data
    )


def _unknown(
    release: Release | None, row: compat.Compatibility, location: Location | None
) -> tuple[Diagnostic, ...]:
    """Return a note on a release of which nothing is known."""
    if release is None or row.newest_release is None or release in row.charts:
        return ()
    message = f"nothing is known of Kyverno {release}; the newest that is known is"
    message += f" {row.newest_release[0]}"
    hint = "`versions:` in chartkit.yaml, or --matrix FILE, adds what is known of it"
    return (Diagnostic(RULE_FAULT, Severity.NOTE, message, location, hint),)


def cluster(kubernetes: Version, data: ReleaseData = BUILT_IN) -> VersionCheck:
    """Return a cluster alone: which Kyverno versions support it."""
    fitting = compat.fitting_kyverno(kubernetes, data)
    diagnostics: tuple[Diagnostic, ...] = ()
    if not fitting:
        message = f"no known Kyverno supports Kubernetes {kubernetes}"
        # The last one is beyond what any of them supports.
        first, *_, last, _ = compat.known_clusters(data)
        hint = f"the releases that chartkit knows support {first} to {last}"
        diagnostics = (Diagnostic(compat.RULE_UNSUPPORTED, Severity.ERROR, message, None, hint),)
    return VersionCheck(
        f"Kubernetes {kubernetes}", None, kubernetes, "unknown", None, fitting, diagnostics
    )


def environment(env: Environment, today: date) -> VersionCheck:
    """Return a project's environment: its pair of versions, and the form of its policies."""
    location = env.locate("kyverno")
    pair_of = (env.kyverno, env.kubernetes, today, location, env.release, env.versions)
    subject = pair(env.name, *pair_of, env.accepted)
    if env.policy_type is not PolicyType.ADMISSION:
        return subject
    diagnostics = compat.admission_policies(env.kubernetes, env.locate_policy_type())
    return replace(subject, diagnostics=(*subject.diagnostics, *diagnostics))


def chart(
    folder: Path, kubernetes: Version | None, today: date, data: ReleaseData = BUILT_IN
) -> VersionCheck:
    """Return a chart's folder: the Kyverno version that its appVersion names. Besides the pair,
    Chart.yaml's kubeVersion must admit clusters that the version supports, and the cluster if one
    is given. Raise InputError where it names no Kyverno version."""
    file = folder / "Chart.yaml"
    documents = read_file(file)
    body = documents[0].body if documents else None
    if not isinstance(body, dict):
        raise InputError("must be a mapping", Location(str(file)))
    location = documents[0].locate("appVersion")
    if "appVersion" not in body:
        hint = "appVersion says which Kyverno the chart is for"
        raise InputError("names no Kyverno version", location, hint)
    kyverno = parse_version(body["appVersion"], "Kyverno", location)
    release = parse_release(body["appVersion"])
    subject = pair(str(folder), kyverno, kubernetes, today, location, release, data)
    # The clusters that a chart is for, and the keys where it says so: chartkit's charts refuse
    # others by themselves, as kubeVersion would stop Helm offline, too.
    annotations = body.get("annotations")
    path: tuple[str, ...] = ("kubeVersion",)
    if isinstance(annotations, dict) and CLUSTERS_ANNOTATION in annotations:
        path = ("annotations", CLUSTERS_ANNOTATION)
    elif "kubeVersion" not in body:
        return subject
    if subject.row is None:
        return subject
    diagnostics = _range(value_at(body, path), subject, documents[0].locate(*path))
    return replace(subject, diagnostics=(*subject.diagnostics, *diagnostics))


def _range(text: object, subject: VersionCheck, location: Location) -> list[Diagnostic]:
    row, wanted = subject.row, subject.kubernetes
    if not isinstance(text, str):
        raise InputError("a range of Kubernetes versions must be text", location)
    if row is None:
        return []
    listed = compat.known_clusters(subject.data)
    clusters = listed if wanted is None else [*listed, wanted]
    # The clusters that a range admits, asked of Helm itself.
    with temporary_folder() as parent:
        folder = parent / "range"
        folder.mkdir()
        lines = ["apiVersion: v2", "name: range", "version: 0.0.0"]
        lines.append(f"kubeVersion: {json.dumps(text)}")
        (folder / "Chart.yaml").write_text("\n".join(lines) + "\n", "utf-8", newline="\n")
        admitted = []
        for version in dict.fromkeys(clusters):
            # The chart is empty: its range is all that Helm can refuse.
            with contextlib.suppress(RenderError):
                dry_run(folder, kube_version=f"v{version}.0")
                admitted.append(version)
    if wanted is not None and wanted not in admitted:
        message = f"the chart's range {text} refuses Kubernetes {wanted}"
        return [Diagnostic(_RANGE, Severity.ERROR, message, location)]
    if not any(row.support(version) is compat.Support.SUPPORTED for version in admitted):
        message = f"the chart's range {text} admits no cluster that Kyverno {row.kyverno}"
        right = compat.kube_version_range([row.kyverno], None, subject.data)
        hint = f"it supports {row.clusters}: write {right}"
        return [Diagnostic(_RANGE, Severity.ERROR, f"{message} supports", location, hint)]
    beyond = [str(e) for e in admitted if row.support(e) is not compat.Support.SUPPORTED]
    if not beyond:
        return []
    message = f"the chart's range {text} admits Kubernetes {', '.join(beyond)} too"
    hint = f"Kyverno {row.kyverno} supports {row.clusters}"
    return [Diagnostic(_RANGE, Severity.WARNING, message, location, hint)]


def report(
    subjects: Sequence[VersionCheck],
    explanations: Mapping[str, Explanation],
    facts: Facts,
    today: date,
) -> CommandReport:
    """Return subjects for every format, and how old the facts are if they are old; explanations: of
    the ids of findings."""
    age = facts.age(today)
    hint = "`chartkit facts update` takes newer facts"
    notes = [Diagnostic(compat.RULE_AGE, Severity.NOTE, age, None, hint)] if age else []
    return CommandReport(
        text=lambda _width: chain(map(as_text, subjects), map(str, notes)),
        value=lambda: {
            "facts": facts.as_json(),
            "subjects": [as_json(check) for check in subjects],
        },
        rows="subjects",
        findings=lambda: chain(notes, *(check.diagnostics for check in subjects)),
        explanations=explanations,
    )


def as_text(subject: VersionCheck) -> str:
    """Return a subject in words: the verdict, findings, and what fits."""
    pair_text = f"Kyverno {subject.kyverno} on Kubernetes {subject.kubernetes}: "
    pair_text += "not declared yet" if subject.status == "undeclared" else subject.status
    if subject.status == ANNOUNCED:
        pair_text = f"Kyverno {subject.kyverno}: announced"
    elif subject.kyverno is None or subject.kubernetes is None:
        pair_text = "which versions fit"
    named = pair_text.startswith(subject.name)
    lines = [pair_text if named else f"{subject.name}: {pair_text}"]
    lines += [f"  {line}" for line in (*subject.diagnostics, *_changes(subject))]
    if subject.row is not None:
        facts = [("released", subject.row.released), ("end of life", subject.row.end_of_life)]
        days = ", ".join(f"{name} {day}" for name, day in facts if day)
        dates = f" ({days})" if days else ""
        lines.append(f"  Kyverno {subject.row.kyverno} supports {subject.row.clusters}{dates}")
        if subject.row.newest_release is not None:
            release, version = subject.row.newest_release
            lines.append(f"  its newest release is {release} (Helm chart {version})")
    if subject.kubernetes is not None and subject.fitting:
        fitting = ", ".join(map(str, subject.fitting))
        lines.append(f"  Kubernetes {subject.kubernetes} is supported by Kyverno {fitting}")
    return "\n".join(lines)


def as_json(subject: VersionCheck) -> dict[str, Any]:
    """Return a subject for programs; dates are ISO 8601, null where they are not known."""
    row = subject.row
    return {
        "name": subject.name,
        "kyverno": _text(subject.kyverno),
        "kubernetes": _text(subject.kubernetes),
        "status": str(subject.status),
        "supported": subject.supported,
        "endOfLife": any(row.rule_id == compat.RULE_END_OF_LIFE for row in subject.diagnostics),
        "released": _text(row and row.released),
        "endOfLifeDate": _text(row and row.end_of_life),
        "supportedKubernetes": [str(row.oldest), str(row.newest)] if row else None,
        "fittingKyverno": [str(version) for version in subject.fitting],
        "releases": [
            {"version": str(release), "chart": chart}
            for release, chart in (row.charts if row is not None else {}).items()
        ],
        "announced": [change.as_json() for change in _changes(subject)],
        "findings": list(map(diagnostic_entry, subject.diagnostics)),
    }


def _changes(subject: VersionCheck) -> tuple[Change, ...]:
    """Return the changes of a version that is announced, with their sources."""
    if subject.kyverno is None or subject.status != ANNOUNCED:
        return ()
    return announced(subject.data)[subject.kyverno].changes


def _text(value: object) -> str | None:
    return None if value is None else str(value)
