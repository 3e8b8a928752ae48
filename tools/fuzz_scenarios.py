"""What `tools/fuzz_commands.py` mutates: every command with real files and arguments."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

_ROOT: Final = Path(__file__).parents[1]
_CASES: Final = _ROOT / "tests" / "cases"
_POLICIES: Final = _ROOT / "profiles" / "policies"
_INPUTS: Final = Path(__file__).parent / "fuzz_inputs"
_LIMIT: Final = 20_000


@dataclass(frozen=True, slots=True)
class Scenario:
    """A command in a folder.

    name: for reports; arguments: of which one list is taken; files: text by path; fixed: paths
    that are left as they are; changes_arguments: whether arguments are mutated (those that are no
    name of a file); environment: variables.
    """

    name: str
    arguments: Sequence[Sequence[str]]
    files: Mapping[str, str]
    fixed: frozenset[str] = frozenset()
    changes_arguments: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)


def _input(name: str) -> str:
    return (_INPUTS / name).read_text("utf-8")


def _lines(name: str) -> list[str]:
    return _input(name).splitlines()


def _texts(folder: Path, *patterns: str) -> dict[str, str]:
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
KUBECONFIG: Final = _input("kubeconfig.yaml")
STANDARD: Final = _input("standard.yaml")
_RECORDING: Final = {
    "rec/recording.json": json.dumps(
        {
            "format": 1,
            "namespace": "",
            "answers": {
                "/apis": "000001.json",
                "/api/v1": "000002.json",
                "/api/v1/namespaces?limit=500": "000003.json",
                "/api/v1/pods?limit=500": "000004.json",
            },
        }
    ),
    "rec/000001.json": json.dumps(
        {"path": "/apis", "body": {"kind": "APIGroupList", "groups": []}}
    ),
    "rec/000002.json": _yaml(
        {
            "path": "/api/v1",
            "body": {
                "kind": "APIResourceList",
                "resources": [
                    {"name": "pods", "kind": "Pod", "namespaced": True, "verbs": ["list"]},
                    {
                        "name": "namespaces",
                        "kind": "Namespace",
                        "namespaced": False,
                        "verbs": ["list"],
                    },
                ],
            },
        }
    ),
    "rec/000003.json": _yaml(
        {"body": {"kind": "NamespaceList", "items": [{"metadata": {"name": "default"}}]}}
    ),
    "rec/000004.json": _yaml(
        {
            "body": {
                "kind": "PodList",
                "metadata": {"continue": ""},
                "items": [
                    {"metadata": {"name": "a", "namespace": "default"}, "spec": {"containers": []}}
                ],
            }
        }
    ),
}
_CHART: Final = {
    "chart/Chart.yaml": "apiVersion: v2\nname: c\nversion: 1.0.0\nappVersion: '1'\n",
    "chart/values.yaml": "name: x\nreplicas: 1\n",
    "chart/templates/a.yaml": OBJECTS.replace("name: a,", "name: {{ .Values.name }},"),
}
_OUTPUTS: Final = ("text", "json", "policyreport", "openreports", "junit", "markdown")


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
    judged = ["-p", "p.yaml", "objects.yaml", "-o"]
    asked: tuple[list[str], ...] = ([], ["--exceptions", "e.yaml", "--userinfo", "u.yaml"])
    found = [
        Scenario(
            f"scan {name}",
            [
                *(["scan", *judged, output, *options] for output in _OUTPUTS for options in extra),
                *(
                    ["preview", *judged, output, *more]
                    for output in ("text", "json")
                    for more in asked
                ),
            ],
            {**base, "p.yaml": text},
        )
        for name, text in (("rules", POLICY), ("cel", CEL))
    ]
    return [
        *found,
        Scenario(
            "scan json",
            [["scan", "--json", "-p", "p.yaml", "a.json"]],
            {"p.yaml": JSON_POLICY, "a.json": '{"a": 1, "b": [null]}'},
        ),
        Scenario(
            "scan recording",
            [["scan", "rec", "-p", "p.yaml"], ["scan", "rec", "-p", "p.yaml", "--reports"]],
            {**_RECORDING, "p.yaml": POLICY},
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
                [
                    "scan",
                    "-p",
                    "p.yaml",
                    "objects.yaml",
                    "--set",
                    "a=b",
                    "--param",
                    "x=1",
                    "--at",
                    "now",
                    "-n",
                    "n",
                ],
                ["scan", "objects.yaml", "-p", "p.yaml", "-o", "json=out.json"],
            ],
            {**base, "p.yaml": POLICY},
            frozenset({"objects.yaml"}),
            changes_arguments=True,
        ),
    ]


def _tests() -> list[Scenario]:
    arguments = [
        ["test", ".", *options]
        for options in (
            [],
            ["--detailed", "--coverage"],
            ["-o", "json"],
            ["-o", "junit"],
            ["-o", "markdown"],
        )
    ]
    return [
        Scenario(f"test {folder.name}", arguments, _texts(folder, "*.yaml", "*.json"))
        for folder in sorted(_CASES.iterdir())
        if folder.is_dir()
    ]


def _checks() -> list[Scenario]:
    checks = [["policies", "check", "own"], ["policies", "check", "own", "-o", "json"]]
    return [
        Scenario(one.name.replace("policies", "check"), checks, one.files) for one in _libraries()
    ]


def _libraries() -> list[Scenario]:
    names = (
        "restricted/disallow-capabilities-strict",
        "eks-best-practices/add-job-ttl",
        "eks-best-practices/add-namespace-quota",
    )
    found = []
    for name in names:
        files = {
            f"own/{name}/{each}": text for each, text in _texts(_POLICIES / name, "*.yaml").items()
        }
        short = name.rpartition("/")[2]
        project = {"chartkit.yaml": PROJECT, "mine.yaml": PROFILE, "standard.yaml": STANDARD}
        found.append(
            Scenario(
                f"policies {short}",
                [
                    ["policies", "list"],
                    ["policies", "list", "-o", "json"],
                    ["policies", "search", "capabilities"],
                    ["policies", "show", short],
                    ["policies", "show", name, "-o", "json"],
                    ["policies", "add", short, "--profile", "mine.yaml"],
                    ["policies", "new", "a/b", "--kind", "validate"],
                    ["policies", "coverage", "--standard", "standard.yaml"],
                    ["policies", "coverage", "--standard", "cis", "--project", "."],
                    ["policies", "vendor", "own", "--name", "lib"],
                ],
                {**files, **project},
            )
        )
    return found


def _values() -> list[Scenario]:
    return [
        Scenario(
            "values migrate",
            [
                ["values", "migrate", "o.yaml"],
                ["values", "migrate", "o.yaml", "--report", "json"],
                ["values", "migrate", "o.yaml", "--write"],
                ["values", "migrate", "o.yaml", "--chart", "kyverno-policies"],
            ],
            {"o.yaml": OLD},
        ),
        Scenario(
            "compat",
            [["check-compat"], ["check-compat", "-o", "json"], ["check-compat", "chart"]],
            {"chartkit.yaml": PROJECT, **_CHART},
        ),
        Scenario(
            "words",
            [
                ["check-compat", "--kyverno", "1.19", "--kubernetes", "1.34"],
                ["plan", "--from", "1.12/1.27", "--to", "1.19/1.35"],
                ["explain", "CK001"],
                ["explain", "failed calling webhook"],
                ["policies", "search", "capabilities"],
                ["policies", "show", "disallow-capabilities"],
                ["init", "new", "--kubernetes", "1.34"],
                ["init", "new", "--profile", "pss-restricted"],
            ],
            {"objects.yaml": OBJECTS},
            changes_arguments=True,
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
        Scenario("eval jmespath", jmespath, files, changes_arguments=True),
        Scenario("eval cel", cel, files, changes_arguments=True),
    ]


def _first(text: str) -> str:
    return text.partition("---")[0]


def _charts() -> list[Scenario]:
    project = {"chartkit.yaml": PROJECT, "mine.yaml": PROFILE}
    objects = {"objects.yaml": OBJECTS}
    properties = {"name": {"type": "string", "pattern": "^x"}, "replicas": {"$ref": "#/$defs/n"}}
    defined = {"type": "object", "properties": properties, "$defs": {"n": {"type": "integer"}}}
    schema = {**_CHART, "chart/values.schema.json": json.dumps(defined), "v.yaml": "name: y\n"}
    return [
        Scenario(
            "scan profile",
            [["scan", "objects.yaml"], ["preview", "objects.yaml", "-p", "eks-best-practices"]],
            objects,
        ),
        Scenario(
            "values lint",
            [
                ["values", "lint", "v.yaml"],
                ["values", "lint", "v.yaml", "--ha", "-o", "json"],
                ["values", "lint", "v.yaml", "--fix"],
            ],
            {"v.yaml": ENGINE},
        ),
        Scenario("lint chart", [["values", "lint", "--chart", "chart", "v.yaml"]], schema),
        Scenario(
            "scan chart",
            [["scan", "chart"], ["scan", "chart", "-f", "v.yaml"]],
            {**_CHART, "v.yaml": "name: y\n"},
        ),
        Scenario(
            "render",
            [
                ["render"],
                ["render", "--check", "-o", "json"],
                ["diff", "--from", "dev", "--to", "prd"],
            ],
            project,
        ),
        Scenario(
            "vendor chart",
            [["vendor", "chart", "kyverno", "--version", "1.0.0", "--from", "chart"]],
            {**project, **_CHART},
        ),
    ]


FAST: Final = (*_scans(), *_tests(), *_libraries(), *_values(), *_expressions())
"""What runs in the process itself."""
WITH_HELM: Final = (*_charts(), *_checks())
"""What starts Helm, too."""
