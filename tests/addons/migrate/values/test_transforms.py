"""How single values change: what stood in an old file, and what is in the new one."""

import textwrap
from collections.abc import Iterator

import pytest

from chartkit.addons.migrate.values.report import as_json, as_text
from chartkit.errors import InputError
from chartkit.kyverno.releases import current
from chartkit.model import Json
from tests.addons.migrate.values.values import asked, body, document, migrated, outcomes, refused
from tests.data import from_table

_TAG = f"v{current().version}.3"

MARK = "installCRDs: true\n"
"""Makes a file one of chart 2."""

CASES: list[tuple[str, Json]] = [
    (
        "image: {repository: mirror.example/kyverno/kyverno}",
        {"global.image.registry": "mirror.example"},
    ),
    (
        "image: {registry: localhost:5000, repository: kyverno/kyverno}",
        {"global.image.registry": "localhost:5000"},
    ),
    (
        "image: {repository: acme/kyverno}",
        {
            "admissionController.container.image.registry": "docker.io",
            "admissionController.container.image.repository": "acme/kyverno",
        },
    ),
    (
        "image: {repository: a.example/kyverno/kyverno}\n"
        "initImage: {repository: b.example/kyverno/kyvernopre}",
        {
            "global.image.registry": "a.example",
            "admissionController.initContainer.image.registry": "b.example",
            "admissionController.initContainer.image.repository": "kyverno/kyvernopre",
        },
    ),
    ("image: {repository: ghcr.io/kyverno/kyverno, tag: v1.9.2}", {}),
    (f"image: {{tag: {_TAG}}}", {"admissionController.container.image.tag": _TAG}),
    (
        f"image: {{tag: {_TAG}-acme.2}}",
        {"admissionController.container.image.tag": f"{_TAG}-acme.2"},
    ),
    (
        "image: {pullSecrets: [one, {name: two}]}",
        {"global.imagePullSecrets": [{"name": "one"}, {"name": "two"}]},
    ),
    ("mode: ha", {"admissionController.replicas": 3}),
    ("mode: standalone", {}),
    ("mode: ha\nreplicaCount: 1", {"admissionController.replicas": 1}),
    (
        "envVarsInit: {A: 1, B: true}",
        {
            "admissionController.initContainer.extraEnvVars": [
                {"name": "A", "value": "1"},
                {"name": "B", "value": "true"},
            ]
        },
    ),
    ("config: {existingConfig: ''}", {}),
    ("config: {excludeUsername: 'a, b'}", {"config.excludeUsernames": ["a", "b"]}),
    (
        "config: {excludeGroupRole: ['system:nodes,x']}",
        {"config.excludeGroups": ["system:nodes", "x"]},
    ),
    ("config: {generateSuccessEvents: 'false'}", {"config.generateSuccessEvents": False}),
    ("config: {webhooks: []}", {}),
    (
        "extraArgs: ['-v=2', '--webhookTimeout', '9']",
        {
            "features.logging.verbosity": 2,
            "admissionController.container.extraArgs.webhookTimeout": 9,
        },
    ),
    ("extraArgs: ['--backgroundScan=false']", {"features.backgroundScan.enabled": False}),
    (
        "extraArgs: ['--backgroundScan=30m']",
        {"features.backgroundScan.backgroundScanInterval": "30m"},
    ),
    ("extraArgs: ['--autogenInternals=false']", {}),
    ("extraArgs: ['--exceptionNamespace={{ include \"kyverno.namespace\" . }}']", {}),
    ("antiAffinity: {topologyKey: kubernetes.io/hostname}", {}),
    ("tolerations: null\nnodeSelector:", {}),
    ("webhooksCleanup: {image: 'bitnami/kubectl:1.23'}", {}),
    ("testImage: {repository: busybox, pullPolicy: Always}", {"test.image.pullPolicy": "Always"}),
    (
        "rbac: {create: true, serviceAccount: {create: true}}",
        {
            "admissionController.rbac.create": True,
            "backgroundController.rbac.create": True,
            "cleanupController.rbac.create": True,
            "reportsController.rbac.create": True,
        },
    ),
]


def flat(values: Json, path: str = "") -> dict[str, Json]:
    if isinstance(values, dict) and values:
        return {
            name: value
            for key, inner in values.items()
            for name, value in flat(inner, f"{path}.{key}".lstrip(".")).items()
        }
    return {path: values} if path else {}


@pytest.mark.parametrize(("text", "wanted"), CASES, ids=[text for text, _ in CASES])
def test_transforms_values(text: str, wanted: dict[str, Json]) -> None:
    migration = migrated(f"{text}\n{MARK}", "2.3" if "mode" in text or "topology" in text else None)
    found = flat(body(migration))
    assert found.pop("crds.install") is True
    assert found == wanted
    assert refused(migration.text) == []


@from_table("text", "key", named_by="text")
def test_transforms_asks_the_user(text: str, key: str) -> None:
    migration = migrated(f"{text}\n{MARK}")
    assert asked(migration) == {key}
    assert not migration.is_whole
    (step,) = [step for step in migration.steps if step.key == key and step.outcome == "asked"]
    assert step.do
    assert step.line
    # What is left to people is in the new file: where it was, where it goes, or as a comment.
    told = set(leaves(body(migration)))
    value: Json = document(f"{text}\n").body
    for part in key.partition("[")[0].split("."):
        value = value[part]
    flag = key.partition("[")[2].removesuffix("]")
    left = {each for each in leaves(value) if each.startswith(flag)}
    assert left <= told | set(commented(migration.text))


def leaves(value: Json) -> Iterator[str]:
    """The scalars of a value, and keys that say which, as text."""
    if isinstance(value, dict):
        value = list(value.values())
    for each in value if isinstance(value, list) else ():
        yield from leaves(each)
    if not isinstance(value, dict | list):
        yield str(value)


def commented(text: str) -> Iterator[str]:
    lines = [line[4:] for line in text.splitlines() if line.startswith("#   ")]
    yield from leaves(document("\n".join(lines)).body if lines else {})


def test_what_is_left_to_people_is_kept_with_its_comments() -> None:
    migration = migrated(
        "webhooksCleanup:\n  # Our mirror.\n  image:\n    registry: mirror.example\n    tag: '1'\n"
        "  enabled: true\n",
        "3.3",
    )
    assert migration.text == (
        "webhooksCleanup:\n  enabled: true\n\n"
        "# TODO: decide about webhooksCleanup.image.registry, webhooksCleanup.image.tag. Mirror "
        "ghcr.io/kyverno/readiness-checker, and say where it is in webhooksCleanup.image.\n"
        "# Our mirror.\n#   webhooksCleanup:\n#     image:\n#       registry: mirror.example\n"
        "#       tag: '1'\n"
    )
    assert migration.kept == ("webhooksCleanup.image.registry", "webhooksCleanup.image.tag")
    assert migrated(migration.text, "3.9").text == migration.text


@from_table("text", "wanted", named_by="text")
def test_values_of_chart_three(text: str, wanted: dict[str, Json]) -> None:
    migration = migrated(f"{text}\nnamespaceOverride: kyverno\n")
    found = flat(body(migration))
    assert found.pop("namespaceOverride") == "kyverno"
    assert found == wanted
    assert migration.is_whole


DEFAULTS = """\
Event,*,*|*,kube-system,*|*,kube-public,*|*,kube-node-lease,*|Node,*,*|APIService,*,*|TokenReview,*,*
SubjectAccessReview,*,*|SelfSubjectAccessReview,*,*|Binding,*,*|ReplicaSet,*,*
"""


def filters(*without: str, extra: tuple[str, ...] = ()) -> str:
    listed = [each for each in DEFAULTS.replace("\n", "|").split("|") if each]
    rows = [f"  - '[{each}]'" for each in (*listed, *extra) if each not in without]
    return "\n".join(["config:", "  resourceFilters:", *rows, MARK])


def test_filters_taken_out() -> None:
    values = body(migrated(filters("ReplicaSet,*,*", "*,kube-public,*")))
    assert values["config"]["resourceFiltersExclude"] == [
        "[*/*,kube-public,*]",
        "[ReplicaSet,*,*]",
        "[ReplicaSet/?*,*,*]",
    ]


def test_filters_of_kube_system_taken_out() -> None:
    values = body(migrated(filters("*,kube-system,*")))["config"]
    assert values["resourceFiltersExclude"] == ["[*/*,kube-system,*]"]
    assert values["webhooks"] == {"namespaceSelector": {"matchExpressions": []}}


def test_filters_as_they_were() -> None:
    template = (
        'ServiceAccount,{{ .Release.Namespace }},{{ template "kyverno.serviceAccountName" . }}'
    )
    migration = migrated(filters(extra=(template, "AdmissionReport,*,*")))
    assert body(migration) == {"crds": {"install": True}}
    assert outcomes(migration)["config.resourceFilters"] == "removed"


def test_filters_of_either_chart() -> None:
    text = "config:\n  resourceFilters: ['[Pod,*,*]']\n"
    migration = migrated(text)
    assert (migration.text, asked(migration)) == (text, {"config.resourceFilters"})
    assert body(migrated(text, "2.7"))["config"]["resourceFilters"] == ["[Pod,*,*]", "[Pod/?*,*,*]"]
    assert migrated(text, "3.2").steps == ()


def test_selectors_of_other_pods_stay() -> None:
    text = """
    podAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        - topologyKey: zone
          labelSelector: {matchLabels: {app: cache}}
    """
    values = body(migrated(textwrap.dedent(text) + MARK))["admissionController"]["podAffinity"]
    (term,) = values["requiredDuringSchedulingIgnoredDuringExecution"]
    assert term["labelSelector"] == {"matchLabels": {"app": "cache"}}


def test_keys_of_both_charts() -> None:
    text = "replicaCount: 3\nbackgroundController:\n  replicas: 2\n"
    with pytest.raises(InputError, match=r"has backgroundController.replicas of chart 3"):
        migrated(text)
    two = migrated(text, "2.6")
    assert body(two)["backgroundController"] == {"replicas": 2}
    assert asked(two) == {"backgroundController"}
    three = migrated(text, "3.2")
    assert body(three) == {"backgroundController": {"replicas": 2}}
    assert outcomes(three) == {"replicaCount": "removed"}


def test_given_version() -> None:
    with pytest.raises(InputError, match=r"chart 1\.9 is not known"):
        migrated(MARK, "1.9")
    assert str(migrated(MARK, "2.5").span) == "2.5"


def test_what_the_chart_refuses_is_asked_for() -> None:
    migration = migrated("replicaCount: many\ninstallCRDs: 'no'\n")
    assert asked(migration) == {"admissionController.replicas", "crds.install"}
    assert refused("openreports: {enabled: false}\n") == []
    assert refused("openreports: {enabled: false, installCrds: true}\n")


def test_comments_of_a_section_that_goes() -> None:
    text = """\
    a: 1

    # Our mirror.
    image:
      # of the registry
      registry: mirror.example  # all of them
      # of the repository
      repository: kyverno/kyverno
      tag: v1.8.0
    """
    migration = migrated(textwrap.dedent(text))
    assert migration.text == (
        "global:\n  image:\n    # Our mirror.\n    # of the registry\n    # of the repository\n"
        "    registry: mirror.example  # all of them\n\na: 1\n"
    )


def test_transforms_reports() -> None:
    migration = migrated("podLabels: {a: b}\n# gone\nimage: {tag: v1.7.0}\n")
    text = as_text(migration)
    assert (
        "line 1: podLabels → {admission,background,cleanup,reports}Controller.podLabels\n" in text
    )
    assert text.endswith("\nmoved: 1, changed: 0, removed: 1, asked: 0\n")
    steps = document(as_json(migration)).body["steps"]
    assert [(step["outcome"], step["key"], step["line"]) for step in steps] == [
        ("moved", "podLabels", 1),
        ("removed", "image.tag", 3),
    ]


@from_table("text", "wanted", named_by="text")
def test_transforms_policies(text: str, wanted: str) -> None:
    assert migrated(f"{text}\n", chart="kyverno-policies").text == wanted


def test_policies_of_keys_that_no_chart_has() -> None:
    text = "foo: 1\nbackgound: true\nbackground: false\npolicies: {mine: {x: 1}}\n"
    migration = migrated(text, chart="kyverno-policies")
    assert migration.text == text
    assert {step.key: step.do.partition(". ")[2] for step in migration.steps} == {
        "foo": "",
        "backgound": "Did you mean 'background'?",
    }
    assert not migration.is_whole


def test_policies_of_an_engine_file() -> None:
    migration = migrated(
        "podSecurityStandard: restricted\nreplicaCount: 3\n", chart="kyverno-policies"
    )
    assert migration.text == "podSecurityStandard: restricted\n"
    assert outcomes(migration) == {"replicaCount": "removed"}
