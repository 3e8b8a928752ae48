"""What `tools/fuzz_commands.py` mutates: every command with real files and arguments.

As they are here, none is refused: what is mutated gets as far as the command goes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import yaml

from chartkit.report import FORMATS

_ROOT: Final = Path(__file__).parents[1]
_CASES: Final = _ROOT / "tests" / "cases"
_INPUTS: Final = Path(__file__).parent / "fuzz_inputs"
_LIMIT: Final = 20_000


@dataclass(frozen=True, slots=True)
class Scenario:
    """A command in a folder.

    name: for reports; arguments: of which one list is taken; files: text by path; fixed: paths
    that are left as they are; changes_arguments: whether arguments are mutated (those that are no
    name of a file); environment: variables; weight: how often it is taken, against the others;
    starts_helm: whether the command, as it is here, starts Helm or loads its library; left_out:
    functions of the package that return nothing instead, for what they do takes most of the time.
    """

    name: str
    arguments: Sequence[Sequence[str]]
    files: Mapping[str, str]
    fixed: frozenset[str] = frozenset()
    changes_arguments: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)
    weight: int = 10
    starts_helm: bool = False
    left_out: tuple[str, ...] = ()


def _input(name: str) -> str:
    return (_INPUTS / name).read_text("utf-8")


def _lines(name: str) -> list[str]:
    return _input(name).splitlines()


def texts(folder: Path, *patterns: str) -> dict[str, str]:
    found = sorted(file for pattern in patterns for file in folder.rglob(pattern) if file.is_file())
    texts = {file.relative_to(folder).as_posix(): file.read_text("utf-8") for file in found}
    return {name: text for name, text in texts.items() if len(text) < _LIMIT}


def _yaml(*documents: object) -> str:
    return "\n---\n".join(json.dumps(each, indent=1) for each in documents)


EXCEPTION: Final = _input("exception.yaml")
USER: Final = _input("user.yaml")
VALUES: Final = _input("values.yaml")
CONTEXT: Final = _input("context.yaml")
OBJECTS: Final = _input("objects.yaml")
POLICY: Final = _input("policy.yaml")
CEL: Final = _input("cel.yaml")
JSON_POLICY: Final = _input("json_policy.yaml")
PROJECT: Final = _input("project.yaml")
PROFILE: Final = _input("profile.yaml")
ENGINE: Final = _input("engine_values.yaml")
OLD: Final = _input("old_values.yaml")
REPORTER: Final = _input("reporter_values.yaml")
JSON: Final = _input("payload.json")
KUBECONFIG: Final = _input("kubeconfig.yaml")
STANDARD: Final = _input("standard.yaml")
RELEASES: Final = _input("releases.yaml")
RECORDING: Final = {
    f"rec/{file.name}": file.read_text("utf-8")
    for file in sorted((_INPUTS / "recording").iterdir())
}
_OUTPUTS: Final = tuple(FORMATS)
_FINDINGS: Final = tuple(each for each in FORMATS if each not in {"policyreport", "openreports"})


def _parts(text: str) -> Iterator[tuple[str, str]]:
    """Yield policies whole, and with one document and one rule alone, which a mutation elsewhere
    does not have refused."""
    yield "all", text
    for body in yaml.load_all(text, Loader=yaml.CSafeLoader):
        rules = body["spec"].get("rules")
        for rule in rules or ():
            spec = {**body["spec"], "rules": [rule]}
            yield rule["name"], yaml.safe_dump({**body, "spec": spec}, sort_keys=False)
        if not rules:
            yield body["kind"], yaml.safe_dump(body, sort_keys=False)


def _gates() -> list[Scenario]:
    files = {
        "o.yaml": _input("suppressed.yaml"),
        "p.yaml": _input("gate_policy.yaml"),
        "b.yaml": _input("baseline.yaml"),
    }
    known = ["scan", "o.yaml", "-p", "p.yaml", "--baseline", "b.yaml"]
    select = ["--select", "severity:high", "--select", "kind:Pod", "--skip", "namespace:shop"]
    written = ["exceptions", "write", "o.yaml", "-p", "p.yaml"]
    return [
        Scenario(
            "baseline",
            [
                [*known, "--fail-on-stale"],
                [*known, "--update-baseline", "--no-suppressions"],
                [*known, "--no-suppressions", "--fail-on", "high", "-o", "json"],
            ],
            files,
            weight=20,
        ),
        Scenario("selectors", [[*known, *select]], files, changes_arguments=True),
        Scenario("exceptions write", [written, [*written, "--into", "shop"]], files, weight=20),
        Scenario(
            "exceptions",
            [
                ["exceptions", "list", "e.yaml"],
                ["exceptions", "check", "o.yaml", "-p", "p.yaml", "--exceptions", "e.yaml"],
                [*written, "--findings", "--days", "9", "--annotation", "owner=me"],
            ],
            {**files, "e.yaml": EXCEPTIONS},
            weight=20,
        ),
    ]


EXCEPTIONS: Final = """\
apiVersion: kyverno.io/v2
kind: PolicyException
metadata:
  name: web
  namespace: shop
  labels: {cleanup.kyverno.io/ttl: "2027-06-30"}
spec:
  exceptions:
    - {policyName: require-team, ruleNames: ["*"]}
  match:
    any:
      - resources: {kinds: [Pod], names: ["web*"]}
---
apiVersion: policies.kyverno.io/v1
kind: PolicyException
metadata: {name: cel, namespace: shop}
spec:
  policyRefs: [{name: require-team, kind: ValidatingPolicy}]
  matchConditions: [{name: a, expression: "object.metadata.name == 'a'"}]
  expiresAt: "2027-06-30T00:00:00Z"
"""


STORED: Final = """\
{"schemaVersion": 1, "summary": {"pass": 1, "fail": 1, "warn": 0, "error": 0, "skip": 0},
 "results": [{"policy": "p", "rule": "r", "resource": "v1/Pod/shop/web", "result": "fail",
  "message": "no", "action": "Enforce", "severity": "high", "category": "c",
  "location": "pods.yaml:3:5", "field": "spec.containers[0].image",
  "accepted": {"state": "known", "reason": "x", "until": "2027-01-31"}}]}
"""


def _reports() -> list[Scenario]:
    """Return scenarios of reports that are read back, and of queries and schemas."""
    files = {"old.json": STORED, "new.json": STORED.replace("web", "db")}
    merges = [["report", "merge", "a=old.json", "new.json", "-o", each] for each in _FINDINGS]
    diffs = [["report", "diff", "old.json", "new.json", "-o", each] for each in _FINDINGS]
    query = ["report", "merge", "old.json", "--query", "findings[?result=='fail'].resource"]
    return [
        Scenario("reports", [*merges, *diffs], files, weight=20),
        Scenario("query", [query, ["schema", "scan"]], files, changes_arguments=True),
    ]


def _scans() -> list[Scenario]:
    base = {
        "objects.yaml": OBJECTS,
        "e.yaml": EXCEPTION,
        "u.yaml": USER,
        "v.yaml": VALUES,
        "c.yaml": CONTEXT,
    }
    extra: tuple[list[str], ...] = (
        [],
        ["--detailed"],
        ["--exceptions", "e.yaml", "--userinfo", "u.yaml"],
        ["-f", "v.yaml", "--context-file", "c.yaml", "--audit-warn"],
        ["--at", "2030-01-01", "--api-defaults"],
    )
    judged = ["-p", "p.yaml", "objects.yaml"]
    asked: tuple[list[str], ...] = ([], ["--exceptions", "e.yaml", "--userinfo", "u.yaml"])
    scans = [["scan", *judged, *options, "-o", output] for output in _OUTPUTS for options in extra]
    previews = [
        ["preview", *judged, *more, "-o", output] for output in ("text", "json") for more in asked
    ]
    webhooks = [["serve", "-p", "p.yaml", "--tls-folder", "certificates", "--print-webhooks"]]
    answers = [["why", *judged, *more] for more in ([], ["-o", "json"])]
    answers += [["witness", "-p", "p.yaml", "objects.yaml"]]
    estimates = [["estimate", *judged, "-o", output] for output in ("text", "json", "markdown")]
    found = []
    for name, text in (("rules", POLICY), ("cel", CEL)):
        found.append(Scenario(f"serve {name}", webhooks, {**base, "p.yaml": text}, weight=4))
        for part, one in _parts(text):
            files = {**base, "p.yaml": one}
            found.append(Scenario(f"scan {name} {part}", scans, files, weight=8))
            found.append(Scenario(f"preview {name} {part}", previews, files, weight=4))
            found.append(Scenario(f"why {name} {part}", answers, files, weight=4))
            found.append(Scenario(f"estimate {name} {part}", estimates, files, weight=4))
    scan = ["scan", *judged]
    set_all = ["--set", "a=b", "--param", "x=1", "--at", "now", "-n", "n", "--release", "r"]
    plans = ["migrate", "plan", "p.yaml", "e.yaml"]
    return [
        *found,
        *_gates(),
        *_reports(),
        Scenario(
            "migrate plan",
            [[*plans, "-o", output] for output in ("text", "json", "markdown")],
            {"p.yaml": POLICY, "e.yaml": EXCEPTIONS},
            weight=30,
        ),
        *_migrations(),
        Scenario("migrate recording", [["migrate", "plan", "rec"]], RECORDING),
        Scenario(
            "scan json",
            [
                ["scan", "--json", "-p", "p.yaml", "a.json"],
                ["scan", "--json", "-p", "p.yaml", "a.json", "-o", "json"],
            ],
            {"p.yaml": JSON_POLICY, "a.json": JSON},
            weight=30,
        ),
        Scenario(
            "scan compressed",
            [
                ["scan", "o.yaml.gz", "-p", "p.yaml.gz", "--jobs", "1"],
                ["scan", ".", "-p", "q.yaml"],
            ],
            {"o.yaml.gz": OBJECTS, "p.yaml.gz": POLICY, "q.yaml": POLICY},
            frozenset({"q.yaml"}),
        ),
        Scenario(
            "scan recording",
            [["scan", "rec", "-p", "p.yaml"], ["scan", "rec", "-p", "p.yaml", "--reports"]],
            {**RECORDING, "p.yaml": POLICY},
            weight=50,
        ),
        Scenario(
            "kubeconfig",
            [["scan", "--cluster", "-p", "p.yaml"]],
            {"kube": KUBECONFIG, "p.yaml": JSON_POLICY},
            frozenset({"p.yaml"}),
            environment={"KUBECONFIG": "kube"},
        ),
        Scenario(
            "options",
            [
                [*scan, *set_all],
                [*scan, "-o", "json=out.json"],
                [*scan, "--policy-type", "ValidatingPolicy"],
                [*scan, "-o", "policyreport", "--report-per", "object", "--kube-version", "1.34"],
            ],
            {**base, "p.yaml": POLICY},
            frozenset({"objects.yaml"}),
            changes_arguments=True,
            weight=30,
        ),
    ]


def _migrations() -> list[Scenario]:
    command = ["migrate", "policies", "p.yaml", "e.yaml"]
    ways: tuple[list[str], ...] = (["-o", "text"], ["-o", "json"], ["-o", "markdown"], ["--write"])
    files = {"p.yaml": POLICY, "e.yaml": EXCEPTIONS}
    case = texts(_CASES / "selection", "*.yaml", "*.json")
    return [
        Scenario(
            "migrate policies", [[*command, "--no-prove", *each] for each in ways], files, weight=30
        ),
        Scenario(
            "migrate proof",
            [["migrate", "policies", "p.yaml", "--proof-seconds", "0.1", "--jobs", "1"]],
            {"p.yaml": next(one for name, one in _parts(POLICY) if name != "all")},
            weight=10,
        ),
        Scenario(
            "migrate tests",
            [["migrate", "policies", "case", "--no-prove"]],
            {f"case/{name}": text for name, text in case.items()},
            weight=10,
        ),
    ]


_WITHOUT_NEW_TEST = ("cel-deleting", "operations", "refused-policy")
"""Cases whose policies say nothing of objects that are created."""


def _tests() -> list[Scenario]:
    options: tuple[list[str], ...] = (
        [],
        ["--detailed", "--coverage"],
        ["-o", "json"],
        ["-o", "junit"],
        ["-o", "markdown"],
        ["--update", "--select", "*/*"],
    )
    found = []
    for folder in sorted(_CASES.iterdir()):
        if not folder.is_dir():
            continue
        files: dict[str, str] = {}
        own = texts(folder, "*.yaml", "*.json")
        for name in {folder.name, *re.findall(r"\.\./([\w-]+)/", "".join(own.values()))}:
            of_case = texts(_CASES / name, "*.yaml", "*.json")
            files |= {f"{name}/{each}": text for each, text in of_case.items()}
        arguments = [["test", folder.name, *each] for each in options]
        policies, objects = (f"{folder.name}/{name}.yaml" for name in ("policy", "resources"))
        if policies in files and objects in files and folder.name not in _WITHOUT_NEW_TEST:
            arguments.append(["test", "new", objects, "-p", policies, "--folder", "new"])
        found.append(Scenario(f"test {folder.name}", arguments, files, weight=11))
    return found


def _values() -> list[Scenario]:
    migrate = ["values", "migrate", "o.yaml"]
    ways = [migrate, [*migrate, "--report", "json"], [*migrate, "--write"]]
    old = sorted((_ROOT / "tests" / "unit" / "values" / "migrate" / "old").glob("*.yaml"))
    return [
        *(
            Scenario(f"values {file.stem}", ways, {"o.yaml": file.read_text("utf-8")}, weight=4)
            for file in old
        ),
        Scenario("values of arguments", ways, {"o.yaml": OLD}),
        Scenario("values by migrate", [["migrate", "values", "o.yaml"]], {"o.yaml": OLD}),
        Scenario(
            "values of policies",
            [[*migrate, "--chart", "kyverno-policies"]],
            {"o.yaml": "podSecurityStandard: default\nvalidationFailureAction: audit\n"},
        ),
        Scenario(
            "values of reporter",
            [[*migrate, "--chart", "policy-reporter"]],
            {"o.yaml": REPORTER},
        ),
        Scenario(
            "words",
            [
                ["check-compat", "--kyverno", "1.19", "--kubernetes", "1.34"],
                ["plan", "--from", "1.12/1.27", "--to", "1.19/1.35"],
                ["explain", "CK001"],
                ["completion", "bash"],
                ["explain", 'no matches for kind "ServiceMonitor"'],
            ],
            {"objects.yaml": OBJECTS},
            changes_arguments=True,
            weight=50,
        ),
    ]


def _expressions() -> list[Scenario]:
    files = {"objects.json": _first(OBJECTS)}
    jmespath = [["eval", "jmespath", text, "-i", "objects.json"] for text in _lines("jmespath.txt")]
    cel = [
        ["eval", "cel", text, "-i", "objects.json", "--env", name]
        for name in ("k8s", "vpol", "mpol", "standard")
        for text in _lines("cel.txt")
    ]
    return [
        Scenario("eval jmespath", jmespath, files, changes_arguments=True, weight=130),
        Scenario("eval cel", cel, files, changes_arguments=True, weight=150),
    ]


def _first(text: str) -> str:
    return text.partition("---")[0]


ENGINE_SCENARIOS: Final = (*_scans(), *_tests(), *_values(), *_expressions())
"""Commands that judge objects, take over values, or answer from tables."""
