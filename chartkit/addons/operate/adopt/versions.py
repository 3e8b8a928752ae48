"""The versions that run in an environment."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from chartkit.addons.operate.adopt.engine import chart_version, elsewhere, engine_tags
from chartkit.addons.operate.adopt.model import Estate, Outcome, Row
from chartkit.addons.operate.adopt.options import AdoptOptions
from chartkit.errors import InputError
from chartkit.kyverno import releases
from chartkit.kyverno.matrix import installed_by, matrix
from chartkit.kyverno.versions import Release, Version, parse_release, parse_version
from chartkit.model import Resource

_EKS: Final = "-eks"


@dataclass(frozen=True, slots=True)
class Versions:
    """kyverno, kubernetes: what runs there; release: Kyverno's with its patch, None where nothing
    says it; eks: whether the cluster is Amazon's; chart: the Helm
    chart that installed Kyverno, None where nothing says it; elsewhere: whether Kyverno is where
    chartkit's release would not take its place."""

    kyverno: Version
    kubernetes: Version
    eks: bool
    chart: Version | None
    release: Release | None = None
    elsewhere: bool = False

    @property
    def has_engine(self) -> bool:
        """Return whether chartkit's chart installs this Kyverno."""
        return not self.elsewhere and self.kyverno in releases.current().serves


def find_versions(estate: Estate, options: AdoptOptions) -> tuple[Versions, list[Row]]:
    """Return the versions of an environment, with the rows that say where they come from.

    Options override what is there. A trial without files assumes the newest version where nothing
    tells one; otherwise raise InputError.
    """
    rows: list[Row] = []
    chart = _chart(estate, options)
    kyverno, release = _kyverno(estate, options, chart, rows)
    kubernetes, eks = _kubernetes(estate, options, kyverno, rows)
    other = next(filter(None, map(elsewhere, estate.engine)), "")
    if other:
        rows.append(_elsewhere(other, estate))
    return Versions(kyverno, kubernetes, eks, chart, release, bool(other)), rows


def _elsewhere(place: str, estate: Estate) -> Row:
    message = f"is in {place}, and chartkit's charts install it as kyverno/kyverno: two would run"
    hint = "engine: false leaves it there; remove it before you set engine: true"
    return Row(Outcome.LEFT, "Kyverno", message, estate.engine[0].location, hint, estate.name)


def _chart(estate: Estate, options: AdoptOptions) -> Version | None:
    if options.chart_version is not None:
        return parse_version(options.chart_version, "Kyverno's chart")
    found = [each.chart for each in estate.values] + [chart_version(each) for each in estate.engine]
    return next((each for each in found if each is not None), None)


def _kyverno(
    estate: Estate, options: AdoptOptions, chart: Version | None, rows: list[Row]
) -> tuple[Version, Release | None]:
    if options.kyverno is not None:
        return parse_version(options.kyverno, "Kyverno"), parse_release(options.kyverno)
    found: dict[Version, Row] = {}
    releases_found: dict[Version, Release | None] = {}
    for deployment in estate.engine:
        for tag in engine_tags(deployment):
            version = parse_version(tag, "Kyverno")
            message = f"runs as Deployment {deployment.namespace}/{deployment.name}"
            found.setdefault(version, _row(estate, f"Kyverno {tag}", message, deployment))
            releases_found.setdefault(version, parse_release(tag))
    if not found and chart is not None:
        for version in _installed_by(chart):
            found[version] = _row(estate, f"Kyverno {version}", f"is what chart {chart} installs")
    if not found:
        hint = "give --kyverno VERSION, or name a manifest of Kyverno's Deployments"
        message = f"nothing says which Kyverno runs in {estate.name}"
        if not options.dry_run:
            raise InputError(message, hint=hint)
        version = max(releases.current().serves)
        rows.append(_assumed(estate, f"Kyverno {version}", message, hint))
        return version, None
    newest = max(found)
    rows += [
        row if version == newest else replace(row, outcome=Outcome.LEFT)
        for version, row in sorted(found.items())
    ]
    return newest, releases_found.get(newest)


def _row(estate: Estate, subject: str, message: str, resource: Resource | None = None) -> Row:
    place = resource.location if resource is not None else None
    return Row(Outcome.TAKEN, subject, message, place, "", estate.name)


def _installed_by(chart: Version) -> Iterator[Version]:
    """Yield the Kyverno that a version of its chart installs."""
    if chart in installed_by():
        yield installed_by()[chart]


def _assumed(estate: Estate, subject: str, message: str, hint: str) -> Row:
    return Row(Outcome.LEFT, subject, f"is assumed: {message}", None, hint, estate.name)


def _kubernetes(
    estate: Estate, options: AdoptOptions, kyverno: Version, rows: list[Row]
) -> tuple[Version, bool]:
    given = options.eks if options.eks is not None else options.kubernetes
    if given is not None:
        return parse_version(given, "Kubernetes"), options.eks is not None
    if not estate.cluster_version:
        hint = "give --kubernetes VERSION, or --eks VERSION"
        message = f"nothing says which Kubernetes runs in {estate.name}"
        if not options.dry_run:
            raise InputError(message, hint=hint)
        row = matrix().get(kyverno)
        version = row.newest if row is not None else max(each.newest for each in matrix().values())
        rows.append(_assumed(estate, f"Kubernetes {version}", message, hint))
        return version, False
    version = parse_version(estate.cluster_version, "Kubernetes")
    subject = f"Kubernetes {version}"
    message = f"the API server is {estate.cluster_version}"
    rows.append(_row(estate, subject, message))
    return version, _EKS in estate.cluster_version
