"""Compatibility of Kyverno with Kubernetes: the matrix, its verdicts and their findings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date
from enum import StrEnum
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

from chartkit.errors import InputError
from chartkit.kyverno.releases import BUILT_IN, ReleaseData
from chartkit.kyverno.versions import Release, Version, parse_release, parse_version
from chartkit.model import Body, Diagnostic, Location, Severity

RULE_UNSUPPORTED = "CK101"
RULE_END_OF_LIFE = "CK102"
RULE_RANGE = "CK103"
RULE_ADMISSION = "CK104"
RULE_UNDECLARED = "CK106"
RULE_AGE = "CK107"
_ACCEPT = '`compatibility: {accept: "reason"}` in its environment goes on nevertheless'
ADMISSION_POLICIES = Version(1, 30)
"""The oldest Kubernetes that serves ValidatingAdmissionPolicy as v1."""
CLUSTERS_ANNOTATION = "chartkit/kubernetes"
"""The annotation of Chart.yaml that names the clusters which the chart supports."""


class Support(StrEnum):
    """The support of a Kubernetes version by a Kyverno version."""

    SUPPORTED = "supported"
    ABOVE = "above"
    BELOW = "below"
    UNDECLARED = "undeclared"
    """Newer than what any Kyverno supports: upstream has not declared the pair yet."""


class Compatibility(NamedTuple):
    """One Kyverno version: the clusters it supports, both ends included; None: date not known.
    charts: the version of its Helm chart that installs each of its releases, oldest first."""

    kyverno: Version
    oldest: Version
    newest: Version
    released: date | None
    end_of_life: date | None
    charts: Mapping[Release, str]

    @property
    def newest_release(self) -> tuple[Release, str] | None:
        """Its newest release with the version of its Helm chart; None where none is known."""
        return max(self.charts.items(), default=None)

    def support(self, kubernetes: Version) -> Support:
        """Return the support of a cluster's version."""
        if kubernetes < self.oldest:
            return Support.BELOW
        return Support.ABOVE if kubernetes > self.newest else Support.SUPPORTED

    @property
    def clusters(self) -> str:
        """The supported clusters in words: `1.33–1.35`."""
        return f"{self.oldest}–{self.newest}"


class Verdict(NamedTuple):
    """The support of one pair of versions. end_of_life: whether the Kyverno version's support has
    ended; fitting: the Kyverno versions that support the cluster, oldest first."""

    compatibility: Compatibility
    kubernetes: Version
    support: Support
    end_of_life: bool
    fitting: tuple[Version, ...]

    @property
    def supported(self) -> bool:
        """True if the pair is supported; a version past its end of life may be."""
        return self.support is Support.SUPPORTED


@cache
def matrix(data: ReleaseData = BUILT_IN) -> Mapping[Version, Compatibility]:
    """Every known Kyverno version, oldest first."""
    rows = map(_row, data.section("kyverno"))
    return MappingProxyType({row.kyverno: row for row in rows})


@cache
def installed_by(data: ReleaseData = BUILT_IN) -> Mapping[Version, Version]:
    """Return the Kyverno version that each minor version of its Helm chart installs."""
    older = data.section("olderCharts").items()
    return {parse_version(chart, ""): parse_version(app, "") for chart, app in older} | {
        parse_version(chart, ""): row.kyverno
        for row in matrix(data).values()
        for chart in row.charts.values()
    }


def compatibility(
    kyverno: Version, location: Location | None = None, data: ReleaseData = BUILT_IN
) -> Compatibility:
    """Return the row of a Kyverno version; raise InputError for one that is not known."""
    row = matrix(data).get(kyverno)
    if row is None:
        from chartkit.kyverno.known_faults import announced

        if kyverno in announced(data):
            hint = f"`chartkit check-compat --kyverno {kyverno}` shows what it changes"
            raise InputError(str(announced(data)[kyverno]), location, hint)
        listed = list(matrix(data))
        hint = f"known are {listed[0]} to {listed[-1]}; `versions:` in chartkit.yaml adds others"
        installed = installed_by(data).get(kyverno)
        if installed is not None:
            hint = f"{kyverno} is a version of its Helm chart, which installs Kyverno {installed}"
        raise InputError(f"Kyverno {kyverno} is not known", location, hint)
    return row


def judge(
    kyverno: Version,
    kubernetes: Version,
    today: date,
    location: Location | None = None,
    data: ReleaseData = BUILT_IN,
) -> Verdict:
    """Return the verdict on a pair; raise InputError for a version that is not known."""
    if kubernetes.major != 1:
        hint = "Kubernetes versions begin with 1, such as 1.34"
        raise InputError(f"Kubernetes {kubernetes} is not known", location, hint)
    row = compatibility(kyverno, location, data)
    return Verdict(
        row,
        kubernetes,
        support(row, kubernetes, data),
        row.end_of_life is not None and row.end_of_life <= today,
        fitting_kyverno(kubernetes, data),
    )


def support(row: Compatibility, kubernetes: Version, data: ReleaseData = BUILT_IN) -> Support:
    """Return the support of a cluster by a Kyverno version: undeclared, instead of above, where the
    version supports the newest cluster that any does."""
    newest = max(other.newest for other in matrix(data).values())
    level = row.support(kubernetes)
    return Support.UNDECLARED if level is Support.ABOVE and row.newest == newest else level


def fitting_kyverno(kubernetes: Version, data: ReleaseData) -> tuple[Version, ...]:
    """The Kyverno versions that support a cluster, oldest first."""
    rows = matrix(data).values()
    return tuple(row.kyverno for row in rows if row.support(kubernetes) is Support.SUPPORTED)


def release_of(text: str) -> Release:
    """Return the release that a text names: of a version (`1.19`) its newest, or its first where
    none is known; raise InputError for a text that names none."""
    if (release := parse_release(text)) is not None:
        return release
    version = parse_version(text, "Kyverno")
    row = matrix().get(version)
    newest = row.newest_release if row is not None else None
    return newest[0] if newest is not None else Release(version.major, version.minor, 0)


def kube_version_range(
    kyverno: Iterable[Version],
    least: Version | None = None,
    data: ReleaseData = BUILT_IN,
    accepted: Iterable[Version] = (),
) -> str:
    """`>=MIN-0 <NEXT-0` over the clusters that any of these Kyverno versions supports.

    least: a cluster version that everything needs besides; accepted: older clusters that the range
    has, too.

    The `-0` admits the suffixes of vendors (`v1.34.1-eks-113cf36`), which a semver range would
    otherwise take for pre-releases and refuse. Raises InputError for a version that is not known.
    """
    rows = [compatibility(version, None, data) for version in kyverno]
    oldest = min([*(row.oldest for row in rows), *accepted])
    newest = max(row.newest for row in rows)
    if least is not None:
        oldest, newest = max(oldest, least), max(newest, least)
    return f">={oldest}-0 <{newest.next_minor()}-0"


def known_clusters(data: ReleaseData = BUILT_IN) -> list[Version]:
    """Every Kubernetes version that a known Kyverno supports, and the next one."""
    rows = matrix(data).values()
    cluster = min(row.oldest for row in rows)
    newest = max(row.newest for row in rows)
    versions = []
    while cluster <= newest.next_minor():
        versions.append(cluster)
        cluster = cluster.next_minor()
    return versions


def diagnostics(
    verdict: Verdict, location: Location | None, accepted: str = ""
) -> list[Diagnostic]:
    """A verdict's findings: an error where the pair is not supported, a warning past its end.
    accepted: why the environment takes the pair nevertheless, which makes the error a warning."""
    row = verdict.compatibility
    findings = []
    if not verdict.supported:
        rule, message = RULE_UNSUPPORTED, _outside(verdict)
        if verdict.support is Support.UNDECLARED:
            rule = RULE_UNDECLARED
        if accepted:
            message += f"; accepted: {accepted}"
        severity = Severity.WARNING if accepted else Severity.ERROR
        hint = None if accepted else _way_out(verdict)
        findings.append(Diagnostic(rule, severity, message, location, hint))
    if verdict.end_of_life:
        newer = [
            str(version) for version in verdict.fitting if version > verdict.compatibility.kyverno
        ]
        newer_versions = ", ".join(newer) or "none"
        hint = f"newer and fitting this cluster: {newer_versions}"
        findings.append(_ended(row, location, hint))
    return findings


def admission_policies(kubernetes: Version, location: Location | None) -> list[Diagnostic]:
    """An error where a cluster is too old for policies of type ValidatingAdmissionPolicy."""
    if kubernetes >= ADMISSION_POLICIES:
        return []
    message = (
        f"ValidatingAdmissionPolicy needs Kubernetes {ADMISSION_POLICIES}, and this is {kubernetes}"
    )
    hint = "say policyType: ClusterPolicy, or ValidatingPolicy with Kyverno 1.14 or later"
    return [Diagnostic(RULE_ADMISSION, Severity.ERROR, message, location, hint)]


def end_of_life(
    row: Compatibility, today: date, location: Location | None = None, data: ReleaseData = BUILT_IN
) -> list[Diagnostic]:
    """A warning where a Kyverno version's support has ended."""
    if row.end_of_life is None or row.end_of_life > today:
        return []
    return [_ended(row, location, f"the newest is {list(matrix(data))[-1]}")]


def _ended(row: Compatibility, location: Location | None, hint: str) -> Diagnostic:
    message = f"Kyverno {row.kyverno} is past its end of life ({row.end_of_life})"
    return Diagnostic(RULE_END_OF_LIFE, Severity.WARNING, message, location, hint)


def _outside(verdict: Verdict) -> str:
    row, cluster = verdict.compatibility, verdict.kubernetes
    undeclared = verdict.support is Support.UNDECLARED
    where = Support.ABOVE if undeclared else verdict.support
    message = (
        f"Kubernetes {cluster} is {where} what Kyverno {row.kyverno} supports ({row.clusters})"
    )
    if undeclared and row.newest_release is not None:
        message += f", and not declared yet by upstream as of {row.newest_release[0]}"
    return message


def _way_out(verdict: Verdict) -> str:
    if verdict.support is Support.UNDECLARED:
        declared = "`versions:` in chartkit.yaml adds a pair that upstream has declared since"
        return f"{declared}; {_ACCEPT}"
    fitting = ", ".join(map(str, verdict.fitting))
    by = f"is supported by Kyverno {fitting}" if fitting else "is supported by no known Kyverno"
    return f"Kubernetes {verdict.kubernetes} {by}; {_ACCEPT}"


def _row(body: Body) -> Compatibility:
    oldest, newest = (parse_version(text, "Kubernetes") for text in body["kubernetes"])
    charts: dict[Release, str] = {}
    for text, chart in body.get("releases", {}).items():
        release = parse_release(text)
        if release is not None:
            charts[release] = chart
    return Compatibility(
        parse_version(body["version"], "Kyverno"),
        oldest,
        newest,
        _date(body.get("released")),
        _date(body.get("endOfLife")),
        MappingProxyType(charts),
    )


def _date(text: str | None) -> date | None:
    return date.fromisoformat(text) if text else None
