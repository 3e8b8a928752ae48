"""The report as one page of HTML: findings grouped by rule, below the counts of all. It needs no
network, and no script to be read."""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from chartkit import __version__
from chartkit.addon import port
from chartkit.model import Body, Location, Places, Resource, RuleResult, Status
from chartkit.report.finding import Finding, FindingFormat
from chartkit.report.html.tally import LEGEND, Tally, owner_of, place_of
from chartkit.report.model import INCOMPLETE, Acceptance, ReportOptions, summary
from chartkit.report.spool import SortedSpool, SpoolPart
from chartkit.safe_text import shown, shown_lines
from chartkit.wording import shortened

_FOLDER: Final = Path(__file__).parent
_WIDTH: Final = 160
"""The most characters that are shown of a line of source."""
_SHAPES: Final = 100
"""The most shapes of findings that are kept."""
_GAP: Final = Markup("\0")
"""The gap that each finding of a shape fills with its own text."""
_SHAPE: Final = (
    "state", "kind", "place", "owner", "severity", "action", "message", "hint", "field",
    "acceptance",
)  # fmt: skip
"""The texts that findings of one shape share, as the template names them."""


@dataclass(frozen=True, slots=True)
class Heading:
    """The heading of a page. environments: what the environments of its findings are; totals:
    numbers in place of those of findings, by what they count."""

    title: str = "Policy report"
    environments: str = "environment"
    totals: Mapping[str, int] = field(default_factory=dict)


class HtmlWriter(FindingFormat):
    """A page with totals, environments or namespaces side by side, tables of counts, and the
    failures of each rule with their places and lines."""

    most_places: ClassVar[int | None] = None

    def __init__(self, options: ReportOptions, heading: Heading | None = None) -> None:
        super().__init__(options)
        self._heading = heading or Heading()
        self._texts: SortedSpool[tuple[str, str]] = SortedSpool()
        self._tally = Tally(options.owner_label)
        self._shapes: dict[tuple[Any, ...], Sequence[str]] = {}
        self._sources = _Sources()
        page = options.playground
        self._links: Callable[[Body, Resource], str] | None = (
            port("playground", "links", "--playground")(page) if page else None
        )

    def _finding(
        self, resource: Resource, result: RuleResult, acceptance: Acceptance | None
    ) -> Finding:
        finding = super()._finding(resource, result, acceptance)
        if self._links is None:
            return finding
        return replace(finding, link=self._links(self._options.facts(result).body, resource))

    def write(self, finding: Finding) -> None:
        self._tally.add(finding)
        key = finding.rule.kind, finding.rule.id
        # A finding as HTML: most of it is the same for many findings.
        owner_label, location = self._options.owner_label, finding.location
        resource, acceptance = finding.resource, finding.acceptance
        source = self._sources.around(location)
        shape = (
            bool(source),
            str(acceptance.state) if acceptance else finding.result,
            resource.kind if resource else "",
            place_of(finding),
            owner_of(finding, owner_label) if owner_label else "",
            finding.rule.severity,
            finding.action,
            finding.message,
            finding.hint,
            finding.field,
            str(acceptance) if acceptance else "",
        )
        parts = self._shapes.get(shape)
        if parts is None:
            if len(self._shapes) >= _SHAPES:
                self._shapes.clear()
            parts = self._shapes[shape] = _parts(*shape)
        start, after_subject, after_location, after_others, end = parts
        subject = escape(shown(finding.subject or str(location or "")))
        file = escape(str(location)) if location is not None else ""
        others = "".join(f"<br><code>{escape(shown(str(item)))}</code>" for item in finding.others)
        row = (
            f"{start}{subject}{after_subject}{file}{after_location}{others}"
            f"{after_others}{source}{end}"
        )
        more = ""
        if finding.why:
            text = escape("\n".join(map(shown, finding.why)))
            more = f"<details><summary>Why</summary><pre>{text}</pre></details>"
        if finding.link:
            more += f'<p><a href="{escape(finding.link)}" rel="noreferrer">Open and try</a></p>'
        self._texts.write(key, f"{row.removesuffix('</li>')}{more}</li>" if more else row)

    def part(self) -> tuple[SpoolPart[tuple[str, str]], Tally]:
        tally, self._tally = self._tally, Tally(self._options.owner_label)
        return self._texts.part(), tally.settled()

    def append(self, part: tuple[SpoolPart[tuple[str, str]], Tally]) -> None:
        texts, tally = part
        self._texts.append(texts)
        self._tally.merge(tally)

    def finish(self, counts: Counter[Status]) -> Iterator[str]:
        """Yield the page, ending with a newline."""
        assets = (_FOLDER / name for name in ("style.css", "script.js"))
        style, script = (Markup(asset.read_text("utf-8")) for asset in assets)
        tally = self._tally
        rules = tally.in_order
        by_severity = tally.by_severity()
        heading = self._heading
        counted = heading.environments if any(tally.environments) else "namespace"
        yield from (
            _templates()
            .get_template("page.html.j2")
            .generate(
                style=style,
                script=script,
                hashes=[_digest(style), _digest(script)],
                version=__version__,
                time=self._options.now.isoformat(timespec="seconds"),
                title=heading.title,
                incomplete=INCOMPLETE if self._options.course.is_incomplete else "",
                totals=heading.totals or _totals(tally, counts),
                total=sum(rule_tally.total for rule_tally in rules),
                counted=counted,
                tally=tally,
                legend=[(at, name) for at, name in enumerate(LEGEND) if by_severity[name]],
                controls=tally.controls(self._options.policies.values()),
                rules=rules,
                severities=dict.fromkeys(rule_tally.rule.severity for rule_tally in rules),
                # The findings of a rule stay on disk until the page is written.
                rows=lambda key: map(Markup, self._texts.pieces(key)),
            )
        )
        yield "\n"


def _totals(tally: Tally, counts: Counter[Status]) -> dict[str, int]:
    """Return the numbers of the page by what they count."""
    total = sum(rule_tally.total for rule_tally in tally.rules.values())
    return {
        "finding" if total == 1 else "findings": total,
        f"{'object' if tally.objects == 1 else 'objects'} with findings": tally.objects,
        **tally.accepted,
        **(summary(counts) if counts else {}),
    }


@cache
def _templates() -> Environment:
    """Return the templates, which print the texts of strangers so that they do nothing."""
    environment = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        finalize=lambda value: shown(value) if type(value) is str else value,
    )
    environment.filters |= {"lines": shown_lines, "shortened": shortened, "shown": shown}
    return environment


def _digest(text: str) -> str:
    """Return the hash by which the page's policy of content knows its own style and script."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _parts(has_source: bool, *shape: str) -> Sequence[str]:
    """The HTML of findings before, between and after their variable parts."""
    given = dict(zip(_SHAPE, shape, strict=True))
    given |= dict.fromkeys(("subject", "others", "location"), _GAP)
    given["source"] = _GAP if has_source else ""
    parts = _templates().get_template("finding.html.j2").render(given).split(str(_GAP))
    return parts if has_source else [*parts, ""]


class _Sources:
    """The lines around places as HTML, kept for one document at a time."""

    def __init__(self) -> None:
        self._places: Places | None = None
        self._known: dict[int, str] = {}

    def around(self, location: Location | None) -> str:
        """Return the lines around a location with their numbers, its own line marked."""
        if location is None or location.places is None or not location.line:
            return ""
        if location.places is not self._places:
            self._places, self._known = location.places, {}
        source = self._known.get(location.line)
        if source is None:
            first, lines = location.places.excerpt(location.line)
            # Together, since a template takes most of a page's time with one line after the other.
            texts = str(escape("\n".join(shown(line_[:_WIDTH]) for line_ in lines))).split("\n")
            numbered = enumerate(texts, first) if lines else ()
            source_lines = "".join(
                f'<span class="line here"><i>{number}</i><mark>{text}</mark></span>'
                if number == location.line
                else f'<span class="line"><i>{number}</i>{text}</span>'
                for number, text in numbered
            )
            source = self._known[location.line] = source_lines
        return source
