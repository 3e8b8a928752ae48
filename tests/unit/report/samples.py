"""Results for tests of report formats: of every status, accepted ones, and hostile text."""

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

from chartkit.documents.reader import read_text, resources
from chartkit.model import Location, Resource, RuleResult, RuleType, Status
from chartkit.report import PolicyFacts, ReportOptions
from chartkit.report.formats import writer_of
from chartkit.report.model import Acceptance, Accepted, AcceptedAs
from tests.data import beside

_TEXTS = beside(__file__)
TWO_PODS: Final = _TEXTS["two-pods"]
IMAGE: Final = "/spec/containers/0/image"
PRIVILEGED: Final = "/spec/containers/0/securityContext/privileged"
Added = tuple[Resource, list[RuleResult], Accepted]

HOSTILE: Final = {
    "terminal": "\x1b[31mred\x1b[0m \x1b]0;title\x07 \x9b2J",
    "controls": "".join(map(chr, [*range(32), *range(127, 160)])),
    "direction": "\u202eevil\u202c \u2066x\u2069 \u2028 \ufeff",
    "github": "::error file=x::owned",
    "github after a line": "x\n::set-output name=a::b\r\n::error::owned",
    "azure": "##vso[task.setvariable variable=a]owned",
    "azure in a line": "text ##vso[task.complete result=Succeeded] ##[error]owned ###[x]",
    "html": "</script><script>alert(1)</script><img src=x onerror=alert(1)>",
    "attribute": '" onmouseover="alert(1)" x=\'',
    "xml": "]]> <!-- & &amp; \ufffe \uffff \x00",
    "surrogate": "\ud800 half",
    "template": "{{ 7 * 7 }} {% raw %} ${x} #{x}",
    "markdown": "| a | [x](javascript:alert(1)) ![p](http://x) @all `c` <b>",
    "formula": '=HYPERLINK("http://x","y")',
    "formula after spaces": "\t=1+1",
    "yaml": "a: b\n---\n- c: |\n  &x *x !!python/object",
    "json": '"}],"x":"\\',
    "percent": "%0A::error::owned %25 %",
    "dashes": "---\n...\n",
}


def result(status: Status, message: str, *fields: str, rule: str = "r") -> RuleResult:
    return RuleResult("p", rule, RuleType.VALIDATION, status, message, fields=fields)


def facts(name: str = "p", text: str = "") -> PolicyFacts:
    """Return facts of a policy; text: each of them, plain text by default."""
    return PolicyFacts(
        name,
        lambda _rule, _namespace: "Enforce",
        text or "high",
        text or "Pod Security",
        title=text or "Images have a digest",
        description=text or "A tag may move.",
        remediation=text or "Write the digest.",
        url="https://policies.example/p",
        controls=(text or "CIS 5.2.3",),
    )


def options(detailed: bool = False) -> ReportOptions:
    return ReportOptions({"p": facts()}, detailed, now=datetime(2026, 1, 2, tzinfo=UTC))


def samples(text: str = TWO_PODS) -> list[Added]:
    """Return results of every status for the Pods of a text."""
    known = Acceptance(AcceptedAs.KNOWN, "since 2024", "2027-01-31")
    suppressed = Acceptance(AcceptedAs.SUPPRESSED, "the agent needs it")
    results = {
        "web": [
            result(Status.FAIL, "no digest\nat all", IMAGE, PRIVILEGED),
            result(Status.FAIL, "privileged", PRIVILEGED, rule="q"),
            result(Status.FAIL, "known one", rule="known"),
            result(Status.FAIL, "let off", IMAGE, rule="suppressed"),
            result(Status.PASS, "fine", rule="z"),
        ],
        "db": [
            result(Status.WARN, "only audited"),
            result(Status.ERROR, "broken", rule="e"),
            result(Status.SKIP, "not now", rule="s"),
        ],
    }
    accepted: dict[str, Accepted] = {"web": {2: known, 3: suppressed}}
    return [
        (each, results[each.name], accepted.get(each.name, {}))
        for each in resources(read_text(text, "deploy/pods.yaml"))
    ]


def hostile(text: str) -> list[Added]:
    """Return failures whose every text is hostile."""
    metadata = {"name": text, "namespace": text, "labels": {text: text}}
    body = {"apiVersion": text, "kind": text or "Pod", "metadata": metadata}
    acceptance = Acceptance(AcceptedAs.SUPPRESSED, text, text)
    pointer = "/metadata/labels/" + text.replace("~", "~0").replace("/", "~1")
    rows = [
        RuleResult(
            text,
            text,
            RuleType.VALIDATION,
            status,
            text,
            fields=(pointer,),
            properties={text: text},
        )
        for status in (Status.FAIL, Status.ERROR, Status.FAIL, Status.PASS)
    ]
    return [(Resource(body, Location(text, 3, 1)), rows, {2: acceptance})]


def written(name: str, given: ReportOptions, added: Iterable[Added]) -> str:
    writer = writer_of(name)(given)
    counts: Counter[Status] = Counter()
    for resource, results, accepted in added:
        writer.add(resource, results, accepted)
        counts.update(each.status for each in results)
    return "".join(writer.finish(counts))
