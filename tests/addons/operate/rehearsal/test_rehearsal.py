"""The rehearsal of an upgrade with a repository, a cluster, and a recording of that."""

import json
from pathlib import Path

import pytest

from chartkit.cli.main import main
from chartkit.documents.yaml_dump import dump_yaml
from chartkit.kyverno.known_faults import announced, refuses_legacy_policies
from chartkit.model import Body
from tests.addons.operate.rehearsal import estate
from tests.api_server import Api
from tests.data import beside
from tests.errors import error_of
from tests.objects import api_object
from tests.unit.network.cluster.conftest import World

_FROM = ("--from", "1.19/1.34", "--to", "1.20")
_LEGACY = {
    *(f"ClusterPolicy/{each['metadata']['name']}" for each in estate.policies()),
    *(f"PolicyException/{each['metadata']['name']}" for each in estate.exceptions()),
    "ClusterCleanupPolicy/finished-jobs",
}


def _run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    error = error_of(SystemExit, main, ["plan", *arguments])
    captured = capsys.readouterr()
    assert captured.err == ""
    return int(error.code or 0), captured.out


def _facts(out: str, step: int = -1) -> list[Body]:
    facts: list[Body] = json.loads(out)["steps"][step]["facts"]
    return facts


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return estate.write(tmp_path / "gitops")


@pytest.mark.usefixtures("repository")
def test_the_page_of_a_repository(capsys: pytest.CaptureFixture[str]) -> None:
    code, out = _run(capsys, *_FROM, "--rehearse", "gitops")
    lines = out.splitlines()
    assert code == 1
    assert len(lines) <= 90
    assert max(map(len, lines)) <= 80
    assert lines[0] == "Kyverno 1.19 → 1.20, rehearsed with 216 objects: 16 concerned"
    text = " ".join(out.split())
    for place, effect in {
        "named-ports": "stops denying (40 of 40 violate it)",
        "pinned-tags": "stops denying (0 of 20 violate it)",
        "require-team": "stops denying (3 of 160 violate it)",
        "own-registry": "stops reporting (12 of 120 violate it)",
        "namespace-defaults": "stops generating (10 there, unsynchronized)",
        "default-priority": "stops changing objects (120)",
        "default-team": "stops changing objects (30)",
    }.items():
        assert f"ClusterPolicy/{place} gitops/policies/{place}.yaml:1 {effect}" in text
    assert "legacy-web gitops/exceptions/legacy-web.yaml:1 stops exempting objects (100)" in text
    assert "finished-jobs gitops/cleanup/finished-jobs.yaml:1 stops deleting" in text
    deniers, others = out.index("ClusterPolicy/require-team"), out.index("ClusterPolicy/probes")
    assert deniers < others


def test_a_policy_that_does_nothing_today_ends_nothing(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rule = {
        "name": "odd",
        "match": {"any": [{"resources": {"kinds": ["Pod"]}}]},
        "validate": {"deny": {"conditions": {"all": [{"key": "a", "operator": "Is", "value": 1}]}}},
    }
    odd = {"apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy", "metadata": {"name": "odd"}}
    (repository / "odd.yaml").write_text(dump_yaml({**odd, "spec": {"rules": [rule]}}))
    error = error_of(SystemExit, main, ["plan", *_FROM, "--rehearse", "gitops"])
    captured = capsys.readouterr()
    assert error.code == 2
    assert "gitops/odd.yaml:" in captured.err
    (row,) = [
        line for line in captured.out.splitlines() if line.split()[:1] == ["ClusterPolicy/odd"]
    ]
    assert row.split()[1] == "gitops/odd.yaml:1"
    assert "stops" not in row


@pytest.mark.usefixtures("repository")
def test_what_to_do_first_is_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    _, out = _run(capsys, *_FROM, "--rehearse", "gitops", "-o", "json")
    tasks = json.loads(out)["tasks"]
    assert [task["text"].partition(" ")[0] for task in tasks] == [
        "Convert",
        "Rewrite",
        "Set",
        "Install",
        "Take",
        "Delete",
        "Upgrade",
    ]
    assert tasks[0]["commands"][-1] == "chartkit migrate policies gitops --write"
    assert tasks[1]["details"][0].startswith("ClusterPolicy/odd-nodes, rule odd-nodes (gitops/")
    assert "namespace-defaults" in tasks[2]["details"][0]
    assert tasks[4]["details"] == [
        "Flux Kustomization flux-system/guardrails: "
        "cost-centre, own-registry, probes, read-only-root",
        "Argo CD application platform: named-ports, no-privilege, pinned-tags, require-team",
    ]
    assert "kubectl delete policyexception.kyverno.io -n kyverno batch" in tasks[5]["commands"][1]


@pytest.mark.usefixtures("repository")
def test_every_refusal_of_upstream_names_every_object(capsys: pytest.CaptureFixture[str]) -> None:
    facts = _facts(_run(capsys, *_FROM, "--rehearse", "gitops", "-o", "json")[1])
    critical = [fact for fact in facts if fact["severity"] == "critical"]
    assert [fact["sources"][-1].rpartition("/")[2] for fact in critical] == [
        "17534",
        "17535",
        "17708",
        "17701",
    ]
    for fact in critical:
        assert {f"{each['kind']}/{each['name']}" for each in fact["objects"]} == _LEGACY
        assert fact["date"].startswith("2026-09-")
    origins = {each["origin"]["tool"] for each in critical[0]["objects"]}
    assert origins == {"argocd", "flux", "none"}


@pytest.mark.usefixtures("repository")
def test_nothing_left_is_nothing_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    code, out = _run(capsys, *_FROM, "--rehearse", "gitops/workloads.yaml")
    assert code == 0
    assert out.startswith("Kyverno 1.19 → 1.20, rehearsed with 200 objects: none concerned")
    assert "Do first" not in out


@pytest.mark.usefixtures("repository")
@pytest.mark.parametrize(("level", "code"), [("high", 0), ("low", 1), ("none", 0)])
def test_a_severity_decides_the_exit_code(
    level: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    pair = ("--from", "1.16/1.33", "--to", "1.17/1.33")
    assert _run(capsys, *pair, "--rehearse", "gitops", "--fail-on", level)[0] == code


@pytest.mark.usefixtures("repository")
@pytest.mark.parametrize("name", ["markdown", "sarif", "junit", "github", "ndjson", "yaml"])
def test_other_formats_name_the_objects(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    _, out = _run(capsys, *_FROM, "--rehearse", "gitops", "-o", name)
    assert "require-team" in out
    assert "17708" in out or "labels alone" in out


def test_each_step_on_the_way_is_rehearsed(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Removed versions, changed fields, and faults: what an object has, and nothing else."""
    exception = estate.exceptions()[0]
    old = {**exception, "apiVersion": "kyverno.io/v2alpha1"}
    asserts = estate.policies()[0]
    asserts["spec"]["rules"][0]["validate"] = {"message": "no", "assert": {"all": []}}
    (repository / "old.yaml").write_text(f"{dump_yaml(old)}---\n{dump_yaml(asserts)}")
    arguments = ("--from", "1.11/1.28", "--to", "1.20", "--rehearse", "gitops/old.yaml")
    with pytest.raises(SystemExit):
        main(["plan", *arguments, "-o", "json"])
    steps = json.loads(capsys.readouterr().out)["steps"]
    found = {step["to"]: [fact["text"] for fact in step["facts"]] for step in steps}
    assert any("v2alpha1" in text for text in found["1.12"])
    assert any("validate.assert" in text for text in found["1.19"])
    assert found["1.18"] == []


def test_a_cluster_and_its_recording_are_rehearsed_alike(world: World) -> None:
    for api in (
        Api("kyverno.io", "v2", "clustercleanuppolicies", "ClusterCleanupPolicy", False),
        Api("", "v1", "services", "Service", True),
    ):
        world.server.serve(api)
    kinds = ("Namespace", "Pod", "Service", "ConfigMap")
    objects = [each for each in estate.objects() if each["kind"] in kinds]
    world.server.add(*estate.policies(), *estate.exceptions(), estate.CLEANUP, *objects)
    live = _run(world.capture, *_FROM, "--cluster", "--record", "rec", "-o", "json")
    asked = len(world.server.requests)
    assert _run(world.capture, *_FROM, "--rehearse", "rec", "-o", "json")[0] == 1
    assert len(world.server.requests) == asked
    facts = _facts(live[1])
    recorded = _facts(_run(world.capture, *_FROM, "--rehearse", "rec", "-o", "json")[1])
    assert facts == recorded
    gate = facts[0]["objects"]
    assert {f"{each['kind']}/{each['name']}" for each in gate} == _LEGACY
    stops = {each["name"]: each["stops"] for each in facts[3]["objects"]}
    assert stops["require-team"] == ["denying (3 of 160 violate it)"]
    assert stops["namespace-defaults"] == ["generating (10 there, unsynchronized)"]
    text = _run(world.capture, *_FROM, "--rehearse", "rec")[1]
    assert "chartkit migrate policies rec --output new-policies" in text
    assert "--to 1.20 --cluster --fail-on high" in text


_RELEASE = beside(__file__)["release"]


def test_values_of_releases_that_objects_declare_are_asked(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    release = repository / "kyverno.yaml"
    release.write_text(_RELEASE.replace("VALUES", "upgrade: {allowLegacyPolicies: true}"))
    body = json.loads(_run(capsys, *_FROM, "--rehearse", "gitops/kyverno.yaml", "-o", "json")[1])
    found = {each["key"]: each["line"] for fact in _of(body, 0) for each in fact["values"]}
    assert found == {"features.blockLegacyPolicyAPIs": 11, "upgrade.allowLegacyPolicies": 12}
    assert body["steps"][-1]["toRead"] == []


@pytest.mark.parametrize("values", ["", "policyExceptions: {enabled: true}"])
def test_a_changed_default_is_for_those_who_do_not_set_it(
    values: str, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With Kyverno 1.13 exceptions end without a word, unless the values turn them on."""
    text = _RELEASE.replace("blockLegacyPolicyAPIs: {enabled: false}", values)
    (repository / "kyverno.yaml").write_text(text.replace("    VALUES\n", ""))
    pair = ("--from", "1.12/1.29", "--to", "1.13/1.29")
    body = json.loads(_run(capsys, *pair, "--rehearse", "gitops", "-o", "json")[1])
    ended = [fact for fact in _of(body, -1) if "exceptions end" in fact["text"]]
    assert bool(ended) is not bool(values)
    if ended:
        objects = {each["name"]: each["stops"] for each in ended[0]["objects"]}
        assert objects["legacy-web"] == ["exempting objects (100)"]
        (value,) = ended[0]["values"]
        assert value["key"] == "features.policyExceptions.enabled is not set"


def test_an_environment_brings_the_values_of_its_engine(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = repository.parent
    (project / "chartkit.yaml").write_text(
        'environments: {prd: {kyverno: "1.19.0", kubernetes: "1.34"}}\n'
    )
    engine = project / "charts" / "kyverno"
    engine.mkdir(parents=True)
    (engine / "values_prd.yaml").write_text("upgrade:\n  allowLegacyPolicies: true\n")
    sync = {
        "apiVersion": "policies.kyverno.io/v1",
        "kind": "GeneratingPolicy",
        "metadata": {"name": "copies"},
        "spec": {"evaluation": {"synchronize": {"enabled": True}}},
    }
    (repository / "copies.yaml").write_text(dump_yaml(sync))
    arguments = ("prd", "--to", "1.20", "--rehearse", "gitops/copies.yaml", "-o", "json")
    body = json.loads(_run(capsys, *arguments)[1])
    (value,) = _of(body, -1)[0]["values"]
    assert (value["key"], value["line"]) == ("upgrade.allowLegacyPolicies", 2)
    # The release that runs has a fault that the newest one of its version has not.
    (fault, *_) = _of(body, 0)
    assert fault["kind"] == "fault"
    assert fault["sources"] == ["https://github.com/kyverno/kyverno/issues/17594"]
    assert fault["advice"] == "install 1.19.1, which does not"


def _of(body: Body, step: int) -> list[Body]:
    """Return the facts of a step of those that have any."""
    facts: list[Body] = [each["facts"] for each in body["steps"] if each["facts"]][step]
    return facts


def test_options_of_a_rehearsal_need_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert error_of(SystemExit, main, ["plan", *_FROM, "--fail-on", "high"]).code == 2
    assert "add --rehearse PATH or --cluster" in capsys.readouterr().err


def test_values_of_releases_that_cannot_be_read_are_named(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    helm = {"chart": "kyverno", "helm": {"values": "a: ["}}
    application = api_object(
        "argoproj.io/v1alpha1", "Application", "kyverno", spec={"source": helm}
    )
    (repository / "argo.yaml").write_text(dump_yaml(application))
    with pytest.raises(SystemExit):
        main(["plan", *_FROM, "--rehearse", "gitops/argo.yaml"])
    assert "Application 'kyverno': values is not YAML" in capsys.readouterr().err


_STOPS: Body = {
    "kind": "changed",
    "stops": True,
    "objects": {"group": "kyverno.io", "kinds": ["ClusterPolicy"]},
}


def test_a_release_that_is_out_has_the_same_tasks(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`versions:` may release what is announced, with the changes that are known of it."""
    known = announced()[refuses_legacy_policies()].changes
    row = {
        "version": "1.20",
        "kubernetes": ["1.33", "1.36"],
        "changes": [{**_STOPS, "text": each.text} for each in known if each.stops],
    }
    (repository.parent / "known.yaml").write_text(dump_yaml({"kyverno": [row]}))
    _, out = _run(capsys, *_FROM, "--rehearse", "gitops", "--matrix", "known.yaml")
    assert "announced" not in out
    assert "Upgrade to Kyverno 1.20 once nothing is left" in " ".join(out.split())


def test_names_of_strangers_are_shown_and_quoted(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = estate.policies()[8]
    policy["metadata"]["name"] = "a; rm -rf \x1b[31m"
    (repository / "odd.yaml").write_text(dump_yaml(policy))
    with pytest.raises(SystemExit):
        main(["plan", *_FROM, "--rehearse", "gitops/odd.yaml"])
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "delete clusterpolicy.kyverno.io 'a;" in out


def test_policies_of_the_projects_chart_take_another_form_by_a_key(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repository.parent / "chartkit.yaml").write_text(
        'environments: {prd: {kyverno: "1.19", kubernetes: "1.34"}}\n'
    )
    policy = estate.policies()[0]
    policy["metadata"]["labels"] = {"helm.sh/chart": "kyverno-policies-3.9.0"}
    policy["metadata"].pop("annotations")
    (repository / "own.yaml").write_text(dump_yaml(policy))
    given = ("--to", "1.20", "--rehearse", "gitops/own.yaml", "-o", "json")
    first = json.loads(_run(capsys, "prd", *given)[1])["tasks"][0]
    assert first["text"].startswith("Set policyType: both in chartkit.yaml")
    other = json.loads(_run(capsys, *_FROM[:2], *given)[1])["tasks"][0]
    assert other["text"].startswith("Convert 1 of 1 rule")
