"""Scenarios of projects, policy libraries and charts."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Final

from tools.fuzz_scenarios import (
    ENGINE,
    EXCEPTION,
    KUBECONFIG,
    OBJECTS,
    POLICY,
    PROFILE,
    PROJECT,
    RECORDING,
    STANDARD,
    Scenario,
    texts,
)

_POLICIES: Final = Path(__file__).parents[1] / "profiles" / "policies"
_LIBRARY: Final = (
    "restricted/disallow-capabilities-strict",
    "eks-best-practices/add-job-ttl",
    "eks-best-practices/add-namespace-quota",
)
_SHARED: Final = {"own/parameters.yaml": (_POLICIES / "parameters.yaml").read_text("utf-8")}
_FILES: Final = {"chartkit.yaml": PROJECT, "mine.yaml": PROFILE}
_ADOPT: Final = ("adopt", "--folder", "out", "--kyverno", "1.18", "--kubernetes", "1.34")
_PROMOTIONS: Final = """\
apiVersion: chartkit.dev/v1
kind: Promotions
promotions:
  - date: '2026-01-02'
    environment: dev
    policies:
      p:
        before: {action: Audit}
        evidence: {objects: 1}
"""
_AUDITED: Final = """\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: p}
spec:
  validationFailureAction: Audit
  rules:
    - name: r
      match: {any: [{resources: {kinds: [Pod, ConfigMap, Deployment]}}]}
      validate: {message: a team, pattern: {metadata: {labels: {team: "?*"}}}}
"""
_INHERITING: Final = """\
exceptionRules: {annotations: [owner], maxDays: 9}
defaults:
  {kyverno: "1.19", eks: "1.34", exceptions: [e.yaml], parameters: {podSecurityVersion: v1.30}}
environments:
  prd:
    action: Audit
    engineValues: [v.yaml]
    exclude: [{namespaces: [kube-system], reason: own}]
    actions: [{namespaces: ["pay-*"], action: Enforce}]
    policies:
      disallow-host-path:
        parameters: {}
        actions: [{namespaceSelector: {matchLabels: {a: b}}, action: Audit}]
    clusters:
      east: {region: eu-central-1}
      west: {kubernetes: "1.33", baseline: null, monitoring: {mode: nodeport}, exceptions: [e.yaml]}
  qa: {extends: prd, action: Enforce, policyType: null}
"""
_REACHED: Final = {"KUBECONFIG": "kube"}


def _own(name: str) -> dict[str, str]:
    return {f"own/{name}/{each}": text for each, text in texts(_POLICIES / name, "*.yaml").items()}


def _chart(folder: str, name: str, version: str = "1.0.0") -> dict[str, str]:
    about = f"apiVersion: v2\nname: {name}\nversion: {version}\nappVersion: v1.19.0\n"
    return {
        f"{folder}/Chart.yaml": about,
        f"{folder}/values.yaml": "name: x\nreplicas: 1\n",
        f"{folder}/templates/a.yaml": OBJECTS.replace("name: a,", "name: {{ .Values.name }},"),
    }


def _with(name: str) -> str:
    """Return the profile with a policy of the project's own library."""
    return PROFILE.rstrip().removesuffix("}") + f", own/{name}: {{}}}}\n"


def _libraries() -> list[Scenario]:
    found = []
    for name in _LIBRARY:
        short = name.rpartition("/")[2]
        files = {**_own(name), **_SHARED, **_FILES, "standard.yaml": STANDARD}
        seen = [
            ["policies", "list"],
            ["policies", "list", "-o", "json"],
            ["policies", "search", "capabilities"],
            ["policies", "show", short],
            ["policies", "show", name, "-o", "json"],
            ["policies", "new", "a/b", "--kind", "validate", "--library", "own"],
        ]
        whole = [
            ["policies", "add", short, "--profile", "mine.yaml"],
            ["policies", "coverage", "--standard", "standard.yaml"],
            ["policies", "coverage", "--standard", "cis", "--project", "."],
        ]
        taken = [["policies", "vendor", "own", "--name", "lib"]]
        pages = [["policies", "docs", "own", "--output", "pages"]]
        checks = [
            ["policies", "check", "own"],
            ["policies", "check", "own", "-o", "json", "--mutate"],
        ]
        checks.append(["policies", "lint", "own"])
        found += [
            Scenario(f"policies {short}", seen, files, weight=12),
            Scenario(f"profile {short}", whole, files, weight=2),
            Scenario(f"vendor {short}", taken, files, weight=2),
            Scenario(f"pages {short}", pages, files, weight=4),
            Scenario(f"check {short}", checks, files, weight=6, starts_helm=True),
        ]
    return found


_RECORD = """\
cluster: c (127.0.0.1:1)
opened:
- {kind: MutatingWebhookConfiguration, configuration: a, uid: u, webhook: b, failurePolicy: Fail}
"""


def _projects() -> list[Scenario]:
    digest = hashlib.sha256(POLICY.encode()).hexdigest()
    lock = {
        "version": 1,
        "source": {"kind": "folder", "location": "own", "revision": "0" * 64},
        "files": {"a/p.yaml": f"sha256:{digest}"},
    }
    vendored = {
        "vendor/lib/chartkit.lock": json.dumps(lock),
        "vendor/lib/a/p.yaml": POLICY,
        "own/a/p.yaml": POLICY + "---\n" + POLICY,
    }
    charts = {**_chart("charts/kyverno-policies", "kyverno-policies", "3.9.0"), **_FILES}
    for name in ("dev", "prd"):
        charts[f"charts/kyverno-policies/values_{name}.yaml"] = f"name: {name}\n"
    compared = ["diff", "--from", "dev", "--to", "prd"]
    live = {**charts, "kube": KUBECONFIG}
    return [
        Scenario(
            "compat",
            [["check-compat"], ["check-compat", "-o", "json"], ["check-compat", "chart"]],
            {**_FILES, **_chart("chart", "kyverno", "3.9.0")},
            weight=30,
        ),
        Scenario(
            "environments",
            [
                ["exceptions", "list"],
                ["exceptions", "list", "--env", "prd", "-o", "json"],
                ["check-compat"],
                ["render", "prd/west", "--check"],
            ],
            {"chartkit.yaml": _INHERITING, "e.yaml": EXCEPTION, "v.yaml": ENGINE},
            weight=6,
        ),
        Scenario(
            "update",
            [["policies", "update", "lib", "--diff"], ["policies", "update", "lib", "--yes"]],
            vendored,
            weight=8,
        ),
        Scenario(
            "init",
            [
                ["init", "new", "--kubernetes", "1.34"],
                ["init", "new", "--profile", "pss-restricted"],
                ["init", "new", "--eks", "1.34", "--monitoring", "nodeport"],
            ],
            {"objects.yaml": OBJECTS},
            changes_arguments=True,
            weight=3,
        ),
        Scenario(
            "adopt",
            [
                [*_ADOPT, "p.yaml", "objects.yaml"],
                [*_ADOPT, "p.yaml", "e.yaml", "--values", "v.yaml", "-o", "json"],
                [*_ADOPT, "rec", "--env", "prd/east"],
            ],
            {
                **RECORDING,
                "p.yaml": POLICY,
                "objects.yaml": OBJECTS,
                "e.yaml": EXCEPTION,
                "v.yaml": ENGINE,
            },
            weight=3,
            starts_helm=True,
        ),
        Scenario(
            "promote",
            [
                ["promote", "--candidates", "--to", "dev", "--evidence", "objects.yaml"],
                ["promote", "--candidates", "--to", "dev", "--evidence", "rec", "--unmatched"],
                ["promote", "p", "--to", "dev", "--evidence", "objects.yaml", "--write"],
                ["promote", "p", "--to", "dev", "--back", "--write"],
            ],
            {
                **charts,
                **RECORDING,
                "charts/kyverno-policies/templates/p.yaml": _AUDITED,
                "own/p/p.yaml": _AUDITED,
                "objects.yaml": OBJECTS,
                "promotions.yaml": _PROMOTIONS,
            },
            weight=3,
            starts_helm=True,
        ),
        Scenario(
            "install",
            [["install", "dev"], ["install", "dev", "--context", "c"], ["uninstall", "dev"]],
            live,
            environment=_REACHED,
            weight=8,
            starts_helm=True,
        ),
        Scenario(
            "rescue",
            [["rescue"], ["rescue", "--restore", "--force"], ["rescue", "--yes", "-o", "json"]],
            {"kube": KUBECONFIG, "chartkit-rescue.yaml": _RECORD},
            environment=_REACHED,
            weight=8,
        ),
        Scenario(
            "publish",
            [
                ["package", "-d", "dist"],
                ["push", "oci://127.0.0.1:1/charts", "--plain-http"],
            ],
            {**charts, **_own(_LIBRARY[1]), "mine.yaml": _with(_LIBRARY[1])},
            weight=2,
            starts_helm=True,
        ),
        Scenario(
            "render",
            [
                ["render"],
                ["render", "--check", "-o", "json"],
                ["render", "--kustomize"],
                ["render", "--gitops", "flux", "--repository", "https://git.example.com/a"],
            ],
            {**_own(_LIBRARY[1]), **_FILES, "mine.yaml": _with(_LIBRARY[1])},
            weight=1,
            starts_helm=True,
        ),
        Scenario(
            "diff",
            [compared, [*compared, "-o", "json"]],
            charts,
            weight=6,
            starts_helm=True,
        ),
    ]


def _charts() -> list[Scenario]:
    properties = {"name": {"type": "string", "pattern": "^x"}, "replicas": {"$ref": "#/$defs/n"}}
    defined = {"type": "object", "properties": properties, "$defs": {"n": {"type": "integer"}}}
    chart = {**_chart("chart", "kyverno"), "v.yaml": "name: xy\n"}
    schema = {**chart, "chart/values.schema.json": json.dumps(defined)}
    lint = ["values", "lint"]
    file = [*lint, "v.yaml"]
    return [
        Scenario(
            "scan profile",
            [["scan", "objects.yaml"], ["preview", "objects.yaml", "-p", "eks-best-practices"]],
            {"objects.yaml": OBJECTS},
            weight=1,
            starts_helm=True,
        ),
        Scenario(
            "values lint",
            [file, [*file, "--ha", "-o", "json"], [*file, "--fix"]],
            {"v.yaml": ENGINE},
            weight=4,
            starts_helm=True,
        ),
        Scenario(
            "lint chart",
            [[*lint, "--chart", "chart", "v.yaml"]],
            schema,
            weight=12,
            starts_helm=True,
        ),
        Scenario(
            "scan chart",
            [["scan", "chart", "-p", "p.yaml"], ["scan", "chart", "-f", "v.yaml", "-p", "p.yaml"]],
            {**chart, "p.yaml": POLICY},
            weight=8,
            starts_helm=True,
        ),
        Scenario(
            "vendor chart",
            [["vendor", "chart", "kyverno", "--version", "1.0.0", "--from", "chart"]],
            {**_FILES, **chart},
            weight=6,
            starts_helm=True,
        ),
    ]


PROJECT_SCENARIOS: Final = (*_libraries(), *_projects(), *_charts())
