"""From one pair of Kyverno and Kubernetes to another: which upgrades, in which order."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from types import MappingProxyType

from chartkit.errors import InputError
from chartkit.kyverno.known_faults import Announcement, Change, announced, changes, known_faults
from chartkit.kyverno.matrix import Support, compatibility, matrix
from chartkit.kyverno.releases import BUILT_IN, ReleaseData
from chartkit.kyverno.versions import Release, Version, parse_version
from chartkit.model import Body, Diagnostic, Severity
from chartkit.report.command_report import Block, CommandReport, Heading, Markup
from chartkit.wording import counted

_MAJOR = 1


@dataclass(frozen=True, slots=True, order=True)
class Pair:
    """A Kyverno version on a cluster's version."""

    kyverno: Version
    kubernetes: Version

    def __str__(self) -> str:
        return f"Kyverno {self.kyverno} on Kubernetes {self.kubernetes}"

    def is_supported(self, data: ReleaseData = BUILT_IN) -> bool:
        row = matrix(data).get(self.kyverno)
        return row is not None and row.support(self.kubernetes) is Support.SUPPORTED


@dataclass(frozen=True, slots=True)
class Route:
    """The pairs from the first to the last, both among them; empty where no order exists.

    stuck: where no order exists, the pairs from which no step leads on; the first pair alone
    where it cannot be left at all.
    """

    pairs: tuple[Pair, ...]
    stuck: tuple[Pair, ...] = ()

    @property
    def exists(self) -> bool:
        """True if there is such an order."""
        return bool(self.pairs)

    @property
    def steps(self) -> Sequence[tuple[Pair, Pair]]:
        """Each upgrade: the pair before it and the pair after it."""
        return tuple(zip(self.pairs, self.pairs[1:], strict=False))


def check(start: Pair, target: Pair, data: ReleaseData = BUILT_IN) -> None:
    """Raises InputError for a version that is not known, and where the way leads down. A target
    that is announced is known, though no order leads to it."""
    for pair in (start, target):
        if pair is start or pair.kyverno not in announced(data):
            compatibility(pair.kyverno, None, data)
        if pair.kubernetes.major != _MAJOR:
            hint = "Kubernetes versions begin with 1, such as 1.34"
            raise InputError(f"Kubernetes {pair.kubernetes} is not known", None, hint)
    if target.kubernetes < start.kubernetes:
        message = f"Kubernetes {start.kubernetes} cannot go back to {target.kubernetes}"
        raise InputError(message, None, "a cluster's version only rises")
    if target.kyverno < start.kyverno:
        message = f"Kyverno {start.kyverno} cannot be planned back to {target.kyverno}"
        hint = "its custom resources are stored in versions that an older one does not know"
        raise InputError(message, None, hint)


def shortest(
    start: Pair, target: Pair, skip_minors: bool = False, data: ReleaseData = BUILT_IN
) -> Route:
    """The order with the fewest steps; among equals Kyverno goes before the cluster. The first pair
    need not be supported: there may be a way out of it. Raises InputError, see `check`."""
    check(start, target, data)
    came_from: dict[Pair, Pair | None] = {start: None}
    ends: list[Pair] = []
    waiting = deque([start])
    while waiting:
        pair = waiting.popleft()
        if pair == target:
            pairs: list[Pair] = []
            step: Pair | None = target
            while step is not None:
                pairs.append(step)
                step = came_from[step]
            return Route(tuple(pairs[::-1]))
        # The supported pairs one step on, none beyond the target
        following: list[Pair] = []
        newer = [version for version in matrix(data) if pair.kyverno < version <= target.kyverno]
        # The largest leap first, so that it is the one that is kept among orders of one length.
        for version in reversed(newer) if skip_minors else newer[:1]:
            if (after := Pair(version, pair.kubernetes)).is_supported(data):
                following.append(after)
        cluster = pair.kubernetes.next_minor()
        if cluster <= target.kubernetes and (after := Pair(pair.kyverno, cluster)).is_supported(
            data
        ):
            following.append(after)
        if not following:
            ends.append(pair)
        for after in following:
            if after not in came_from:
                came_from[after] = pair
                waiting.append(after)
    # The ends that no other end lies beyond, in order.
    furthest = tuple(
        sorted(
            pair
            for pair in ends
            if not any(
                other != pair
                and other.kyverno >= pair.kyverno
                and other.kubernetes >= pair.kubernetes
                for other in ends
            )
        )
    )
    return Route((), furthest)


def parse_pair(text: str) -> Pair:
    """Return the Kyverno and the Kubernetes version of `1.12/1.29`; raise InputError."""
    kyverno, slash, kubernetes = text.partition("/")
    if not slash:
        newest = list(matrix().values())[-1]
        hint = f"write Kyverno's version, a slash, Kubernetes': {newest.kyverno}/{newest.newest}"
        raise InputError(f"'{text}' is not a pair of versions", None, hint)
    return Pair(parse_version(kyverno, "Kyverno"), parse_version(kubernetes, "Kubernetes"))


@dataclass(frozen=True, slots=True)
class Plan:
    """An order of upgrades, or the reasons why no order exists.

    shortcut: where no order takes one minor version at a time, the number of steps of an order that
    skips minor versions of Kyverno, None where that does not exist either; eks: whether to say the
    dates of EKS; today: what they are compared with; release: Kyverno's release where it starts,
    None where that is not known; data: the releases that are known.
    """

    start: Pair
    target: Pair
    route: Route
    shortcut: int | None
    eks: bool
    today: date
    release: Release | None = None
    data: ReleaseData = BUILT_IN


def _text(plan: Plan) -> Iterator[Block]:
    yield _title(plan)
    if not plan.route.exists:
        yield from (f"  {line}" for line in (*_reasons(plan), *_announced_lines(plan)))
        return
    width = len(str(len(plan.route.steps)))
    for number, (before, after) in enumerate(plan.route.steps, 1):
        yield f"{number:>{width}}  {_step(before, after)}"
        yield from (f"{' ' * (width + 4)}{line}" for line in _notes(plan, before, after))
    yield from (*_patch(plan), *_eks_start(plan), *_announced_lines(plan))


def _markdown(plan: Plan) -> Iterator[Block]:
    """Yield the plan as a list to work through."""
    yield Heading(_title(plan))
    if not plan.route.exists:
        reasons = (*_reasons(plan), *_announced_lines(plan))
        yield Markup("\n".join(f"- {_escaped(line)}" for line in reasons))
        return
    steps = []
    for before, after in plan.route.steps:
        steps.append(f"1. [ ] **{_step(before, after)}**")
        steps += [f"   - {_escaped(line)}" for line in _notes(plan, before, after)]
    yield Markup("\n".join(steps))
    footer = (*_patch(plan), *_eks_start(plan), *map(_escaped, _announced_lines(plan)))
    yield from map(Markup, footer)


def _value(plan: Plan) -> Body:
    """Return the plan for programs; dates are ISO 8601."""
    steps = [_step_body(plan, *step) for step in plan.route.steps]
    body: Body = {
        "from": _pair(plan.start),
        "to": _pair(plan.target),
        "possible": plan.route.exists,
        "steps": steps,
    }
    if not plan.route.exists:
        body["stuck"] = [_pair(pair) for pair in plan.route.stuck]
        body["reasons"] = list(_reasons(plan))
    body["patch"] = list(_patch(plan))
    body["announced"] = [
        {
            "version": str(announcement.version),
            "advice": announcement.advice,
            "changes": [change.as_json() for change in announcement.changes],
        }
        for announcement in _announced(plan)
    ]
    return body


def report(plan: Plan) -> CommandReport:
    """Return the plan for every format."""
    return CommandReport(
        text=lambda _width: _text(plan),
        value=lambda: _value(plan),
        rows="steps",
        markdown=lambda: _markdown(plan),
        findings=lambda: _findings(plan),
    )


def _findings(plan: Plan) -> Iterator[Diagnostic]:
    """Yield a note for each step, or an error for each reason why no order exists."""
    if not plan.route.exists:
        for reason in (_title(plan), *_reasons(plan)):
            yield Diagnostic("no-upgrade", Severity.ERROR, reason)
    for before, after in plan.route.steps if plan.route.exists else ():
        text = "\n".join([_step(before, after), *_notes(plan, before, after)])
        yield Diagnostic("upgrade", Severity.NOTE, text)


def _title(plan: Plan) -> str:
    way = f"from {plan.start} to {plan.target}"
    if not plan.route.exists:
        return f"There is no order of upgrades {way} in which every step is a supported pair."
    count = len(plan.route.steps)
    return f"{'Nothing to do' if not count else counted(count, 'step')} {way}"


def _step(before: Pair, after: Pair) -> str:
    if before.kyverno != after.kyverno:
        return f"Kyverno {before.kyverno} → {after.kyverno} (on Kubernetes {after.kubernetes})"
    return f"Kubernetes {before.kubernetes} → {after.kubernetes} (under Kyverno {after.kyverno})"


def _notes(plan: Plan, before: Pair, after: Pair) -> Iterator[str]:
    """Return the notes on a step."""
    if before.kyverno != after.kyverno:
        for release, chart in _newest(plan, after.kyverno):
            yield f"install {release}, Helm chart {chart}"
    for version, change in _changes(plan, before, after):
        version = change.release or version
        skipped = f" (with {version})" if version != str(after.kyverno) else ""
        yield f"{change.kind}{skipped}: {change.text}"
    if plan.eks and before.kubernetes != after.kubernetes:
        yield _eks_line(plan, after)


def _newest(plan: Plan, version: Version) -> Iterator[tuple[Release, str]]:
    """Return the newest release of a minor version with its Helm chart's, if one is known."""
    release = compatibility(version, None, plan.data).newest_release
    if release is not None:
        yield release


def _patch(plan: Plan) -> Iterator[str]:
    """Return the newest release of a Kyverno that stays, and what it fixes."""
    if plan.release is None or plan.target.kyverno != plan.start.kyverno:
        return
    for release, chart in _newest(plan, plan.start.kyverno):
        if plan.release < release:
            faults = [fault for fault in known_faults(plan.data) if fault.is_in(plan.release)]
            fixed = ", ".join(fault.title for fault in faults if not fault.is_in(release))
            ends = f" fixes {fixed}" if fixed else " is the newest release"
            yield f"Kyverno {plan.release} → {release}, Helm chart {chart}:{ends}"


def _changes(plan: Plan, before: Pair, after: Pair) -> Iterator[tuple[str, Change]]:
    for version, changes_of in changes(plan.data).items():
        if before.kyverno < version <= after.kyverno:
            for change in changes_of:
                yield str(version), change


def _eks_start(plan: Plan) -> Iterator[str]:
    """Return the end of EKS' support for the cluster's first version."""
    if plan.eks:
        line = _eks_line(plan, plan.start)
        yield f"Kubernetes {plan.start.kubernetes}, where it is now, on {line}"


def _eks_line(plan: Plan, pair: Pair) -> str:
    support = eks_support(plan.data).get(pair.kubernetes)
    if support is None:
        return f"EKS: no dates are known for Kubernetes {pair.kubernetes}"
    standard, extended = (
        f"{'ended' if plan.today >= day else 'ends'} {day}"
        for day in (support.standard, support.extended)
    )
    return f"EKS: standard support {standard}, extended {extended}"


def _announced(plan: Plan) -> list[Announcement]:
    """Return the announced versions up to the target; after the newest release, the next one."""
    newest = list(matrix(plan.data))[-1]
    upcoming = list(announced(plan.data).values())
    if plan.target.kyverno == newest and plan.route.exists:
        return upcoming[:1]
    return [note for note in upcoming if note.version <= plan.target.kyverno]


def _announced_lines(plan: Plan) -> Iterator[str]:
    """Return the changes of announced versions, in full where one of them is the target."""
    for announcement in _announced(plan):
        yield f"{announcement}. {announcement.advice}"
        if plan.target.kyverno in announced(plan.data):
            yield from map(str, announcement.changes)


def _reasons(plan: Plan) -> Iterator[str]:
    """Yield the reasons why no step leads on, and what would help."""
    if plan.target.kyverno in announced(plan.data):
        yield f"which Kubernetes versions Kyverno {plan.target.kyverno} supports is not known yet"
        return
    if not plan.target.is_supported(plan.data):
        yield f"{plan.target} is not a supported pair: {_range(plan, plan.target)}"
    for pair in plan.route.stuck:
        rows = matrix(plan.data)
        next_kyverno = [minor for minor in rows if pair.kyverno < minor <= plan.target.kyverno][:1]
        wanted = [
            f"Kyverno {version} ({compatibility(version, None, plan.data).clusters})"
            for version in next_kyverno
        ]
        if pair.kubernetes < plan.target.kubernetes:
            wanted.append(f"Kubernetes {pair.kubernetes.next_minor()} ({_range(plan, pair)})")
        if wanted:
            neither = "neither " if len(wanted) > 1 else "not "
            yield f"no step leads on from {pair}: {neither}to {' nor to '.join(wanted)}"
    if plan.shortcut is not None:
        yield f"with --skip-minors there is one of {counted(plan.shortcut, 'step')}"


def _range(plan: Plan, pair: Pair) -> str:
    clusters = compatibility(pair.kyverno, None, plan.data).clusters
    return f"Kyverno {pair.kyverno} supports {clusters}"


def _pair(pair: Pair) -> Body:
    return {"kyverno": str(pair.kyverno), "kubernetes": str(pair.kubernetes)}


def _step_body(plan: Plan, before: Pair, after: Pair) -> Body:
    body: Body = {
        "upgrade": "kyverno" if before.kyverno != after.kyverno else "kubernetes",
        "from": _pair(before),
        "to": _pair(after),
        "changes": [
            {"version": version, "kind": str(change.kind), "text": change.text}
            for version, change in _changes(plan, before, after)
        ],
    }
    for release, chart in _newest(plan, after.kyverno) if before.kyverno != after.kyverno else ():
        body |= {"release": str(release), "chart": chart}
    support = eks_support(plan.data).get(after.kubernetes)
    if plan.eks and support is not None:
        body["eks"] = {
            "standardSupport": support.standard.isoformat(),
            "extendedSupport": support.extended.isoformat(),
            "ended": support.ended(plan.today) or None,
        }
    return body


def _escaped(text: str) -> str:
    """Text for Markdown: its stars and underscores as they are."""
    return text.replace("*", "\\*").replace("_", "\\_")


@dataclass(frozen=True, slots=True)
class EksSupport:
    """A Kubernetes version on Amazon EKS: the days on which its standard support, without extra
    cost, and its extended support end."""

    kubernetes: Version
    released: date
    standard: date
    extended: date

    def ended(self, today: date) -> str:
        """Return the support that has ended: empty, `standard` or `extended`."""
        if today >= self.extended:
            return "extended"
        return "standard" if today >= self.standard else ""


@cache
def eks_support(data: ReleaseData = BUILT_IN) -> Mapping[Version, EksSupport]:
    """The Kubernetes versions that EKS has or had, oldest first."""
    rows: list[EksSupport] = []
    for row in data.section("eks"):
        days = [
            date.fromisoformat(row[key])
            for key in ("released", "standardSupport", "extendedSupport")
        ]
        rows.append(EksSupport(parse_version(row["version"], "Kubernetes"), *days))
    return MappingProxyType({row.kubernetes: row for row in rows})
