"""Adoption of files: what a project has afterwards, and what is said of the rest."""

import json
from pathlib import Path
from textwrap import indent

import pytest

from chartkit.addons.operate.adopt.model import Estate, Piece
from chartkit.addons.operate.adopt.run import take_exceptions
from chartkit.documents.reader import parse_yaml, read_file
from chartkit.kyverno import releases
from chartkit.model import Resource
from chartkit.project.project import read_project
from tests.addons.operate.adopt.conftest import EXCEPTION, POLICY, VERSIONS, WORKLOAD, Team
from tests.data import beside, from_table
from tests.files import write_files

_TEXTS = beside(__file__)


@pytest.mark.slow
def test_a_policy_keeps_its_text_its_comments_and_its_actions(team: Team) -> None:
    team.write(legacy__policies=POLICY)
    code, body = team.adopt("legacy", *VERSIONS)
    assert code == 0
    assert (team.folder / "out/policies/require-team/require-team.yaml").read_text() == POLICY
    [(_, message)] = team.rows(body, "taken")
    assert message.endswith("its own action stays: Audit, Enforce in payments-*")
    project = read_project(team.folder / "out")
    assert str(project.environments["prd"].release) == "1.18.1"


@pytest.mark.slow
def test_what_the_charts_change_is_announced(team: Team) -> None:
    """Everything that `diff` finds between what was there and the charts has a row."""
    team.write(legacy__policies=POLICY)
    _, body = team.adopt("legacy", *VERSIONS)
    assert [subject for subject, _ in team.rows(body, "changed")] == ["metadata"]
    assert team.run("render", "--project", "out")[0] == 0
    code, out, _ = team.run("diff", "--project", "out", "--against", "legacy", "-o", "json")
    changes = json.loads(out)["comparisons"][0]["changes"]
    own = [each for each in changes if each["kind"] == "ClusterPolicy"]
    paths = [field["path"] for each in own for field in each["fields"]]
    assert code == 0
    assert paths
    assert all(path.startswith(("metadata.labels", "metadata.annotations")) for path in paths)


@pytest.mark.slow
def test_violations_of_today_are_known(team: Team) -> None:
    team.write(apps__a=WORKLOAD.replace("NAME", "new"), legacy__policies=POLICY)
    _, body = team.adopt("legacy", "apps", *VERSIONS)
    assert ("baseline", "1 violation added to the baseline") in team.rows(body, "taken")
    [entry] = read_file(team.folder / "out/baselines/prd.yaml")[0].body["violations"]
    assert entry["object"] == "apps/v1/Deployment/shop/new"
    code, out, _ = team.run("render", "--project", "out", "-o", "json")
    assert code == 0, out


@pytest.mark.slow
@pytest.mark.parametrize(
    "values",
    ["podSecurityStandard: baseline", "podSecurityStandard: custom\npodSecurityPolicies: [NAME]"],
)
def test_violations_of_policies_that_values_select_are_in_the_baseline(
    team: Team, values: str
) -> None:
    """The render that follows passes, with Enforce as well, and knows objects without a name."""
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {META, namespace: shop}\nspec: {hostNetwork: true,"
    pod += ' containers: [{name: a, image: "r.example.com/a:1"}]}\n'
    two = f"{pod.replace('META', 'name: a')}---\n{pod.replace('META', 'generateName: b-')}"
    selected = f"{values}\nvalidationFailureAction: Enforce\n"
    team.write(legacy__v=selected.replace("NAME", "disallow-host-namespaces"), apps__pods=two)
    code, body = team.adopt("legacy", "apps", *VERSIONS)
    assert code == 0
    [message] = [text for subject, text in team.rows(body, "taken") if subject == "baseline"]
    assert "of 2 objects added to the baseline" in message
    code, out, _ = team.run("render", "--project", "out", "-o", "json")
    assert code == 0, out


@pytest.mark.slow
def test_exceptions_hold_for_the_baseline(team: Team) -> None:
    team.write(
        apps__a=WORKLOAD.replace("NAME", "old"), legacy__policies=POLICY, legacy__old=EXCEPTION
    )
    _, body = team.adopt("legacy", "apps", *VERSIONS)
    assert not (team.folder / "out/baselines").exists()
    assert "out/baselines/prd.yaml" not in body["files"]
    assert (team.folder / "out/exceptions/prd/shop.old.kyverno.yaml").read_text() == EXCEPTION


@pytest.mark.slow
def test_an_exception_for_nothing_is_a_note(team: Team) -> None:
    gone = EXCEPTION.replace("ruleNames: [team]", "ruleNames: [team, autogen-team, gone]")
    team.write(legacy__policies=POLICY, legacy__old=gone)
    _, body = team.adopt("legacy", *VERSIONS)
    notes = team.rows(body, "note")
    assert ("PolicyException shop/old", "names what is not there: require-team/gone") in notes


_HOST_PATH = _TEXTS["host-path"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (POLICY.replace("validate:", "validat:"), "Kyverno refuses it"),
        (POLICY.replace("require-team", "Require_Team"), "cannot be the name of a policy"),
        (
            "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: x\n",
            "Kyverno refuses it: spec",
        ),
        (
            "apiVersion: kyverno.io/v2beta1\nkind: GlobalContextEntry\nmetadata: {name: a}\n"
            "spec: {kubernetesResource: {resource: pods, version: v1}}\n",
            "no chart of chartkit's carries this kind",
        ),
        (POLICY.replace("A team is needed.", "'{{ .Values.team }} is needed.'"), "Helm code"),
    ],
)
def test_what_cannot_be_taken_has_a_row_and_fails(team: Team, text: str, reason: str) -> None:
    team.write(legacy__policies=POLICY.replace("require-team", "other"), legacy__wrong=text)
    code, body = team.adopt("legacy", *VERSIONS)
    [(_, message)] = team.rows(body, "left")
    assert reason in message
    assert code == 1
    assert (team.folder / "out/policies/other/other.yaml").is_file()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["policy", "metadata", "parameters", "cel", "kustomization"])
def test_a_policy_can_have_the_name_of_a_file_of_the_librarys_format(team: Team, name: str) -> None:
    team.write(legacy__p=POLICY.replace("require-team", name))
    code, body = team.adopt("legacy", *VERSIONS)
    assert (code, team.rows(body, "left")) == (0, [])
    assert team.run("render", "--project", "out")[0] == 0


@pytest.mark.slow
@pytest.mark.parametrize("metadata", ["x", "[x]", "{name: a, labels: x}", "{name: [a]}", "3", "~"])
@pytest.mark.parametrize("kind", ["kyverno.io/v1/ClusterPolicy", "kyverno.io/v2/PolicyException"])
def test_metadata_of_another_type_is_a_row(team: Team, metadata: str, kind: str) -> None:
    group, _, name = kind.rpartition("/")
    text = f"apiVersion: {group}\nkind: {name}\nmetadata: {metadata}\n"
    team.write(legacy__p=POLICY, legacy__x=text)
    code, body = team.adopt("legacy", *VERSIONS, "--dry-run")
    [row] = [each for each in body["rows"] if each["outcome"] == "left"]
    assert (code, row["location"]) == (1, "legacy/x.yaml:1")


@pytest.mark.slow
def test_files_that_are_no_objects_have_a_row(team: Team) -> None:
    team.write(
        legacy__p=POLICY, legacy__notes="a: b\n", legacy__pss="podSecurityStandard: restricted\n"
    )
    code, body = team.adopt("legacy", *VERSIONS)
    assert (code, team.rows(body, "left")) == (0, [])
    message = "is neither an object nor values of Kyverno's chart"
    assert ("file legacy/notes.yaml", message) in team.rows(body, "note")
    assert _profiles(team) == ["pss-restricted", "./profiles/adopted.yaml"]


def _profiles(team: Team) -> list[str]:
    found = read_file(team.folder / "out/chartkit.yaml")[0].body["environments"]["prd"]["profiles"]
    return [str(each) for each in found]


@pytest.mark.slow
def test_files_that_cannot_be_read_are_rows_and_everything_else_is_taken(team: Team) -> None:
    charted = {"legacy__chart__Chart": "apiVersion: v2\nname: c\nversion: 0.0.1\n"}
    team.write(
        legacy__p=POLICY,
        legacy__broken="apiVersion: v1\nkind: ConfigMap\nmetadata: {name: [}\n",
        legacy__code=POLICY.replace("message: A team", "message: {{ .Values.team }} A team"),
        legacy__config="a: [\n",
        legacy__notes="a: b\n",
        legacy__more="- a\n",
        legacy__part__kustomization="kind: Component\nresources: [pod.yaml]\n",
        legacy__part__pod="apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n",
        legacy__chart__templates__c="{{ fail }}\n",
        **charted,
    )
    (team.folder / "legacy/main.jsonnet").write_text("{}\n")
    code, body = team.adopt("legacy", *VERSIONS, "--dry-run")
    unread = {row["location"] for row in body["rows"] if row["outcome"] == "unread"}
    assert code == 2
    assert unread == {
        "legacy/broken.yaml:3:19",
        "legacy/chart/templates/c.yaml:1:3",
        "legacy/code.yaml:14:19",
    }
    assert body["summary"]["unread"] == 3
    [message] = [text for subject, text in team.rows(body, "note") if subject == "2 files"]
    assert message.endswith("chart: legacy/config.yaml, legacy/notes.yaml")
    notes = dict(team.rows(body, "note"))
    assert notes["path legacy/main.jsonnet"] == "is Jsonnet and is not read"
    assert notes["path legacy/part/kustomization.yaml"].startswith("is a component that no")
    _, _, err = team.run("adopt", "legacy", *VERSIONS, "--folder", "out")
    assert err.startswith("next: correct what is unread, or list it below exclude: in")
    assert err.endswith("; then chartkit render --project out\n")
    assert "policies/require-team/require-team.yaml" in body["files"]


@pytest.mark.slow
def test_values_of_chart_2_are_known_by_their_keys(team: Team) -> None:
    team.write(legacy__p=POLICY, legacy__v="replicaCount: 3\nconfig: {resourceFilters: []}\n")
    _, body = team.adopt("legacy", *VERSIONS, "--dry-run")
    assert "engine/prd.yaml" in body["files"]
    team.write(legacy__v="replicaCount: 3\nimage: {tag: v1}\n")  # Of any chart.
    _, body = team.adopt("legacy", *VERSIONS, "--dry-run")
    assert "engine/prd.yaml" not in body["files"]


@pytest.mark.slow
def test_two_policies_of_one_name_are_one_where_they_are_equal(team: Team) -> None:
    other = POLICY.replace("?*", "a*")
    team.write(legacy__a=POLICY, legacy__b=POLICY.replace("# Who", "# The one who"))
    assert team.adopt("legacy", *VERSIONS)[0] == 0
    team.write(legacy__b=other)
    code, body = team.adopt("legacy", *VERSIONS, "--force")
    [(_, message)] = team.rows(body, "left")
    assert code == 1
    assert "another policy of this name is in use" in message


@pytest.mark.slow
def test_environments_differ_in_actions_alone(team: Team) -> None:
    plain = "".join(
        line
        for line in POLICY.splitlines(keepends=True)
        if "Overrides" not in line and "payments" not in line
    )
    enforced = plain.replace("Audit", "Enforce")
    only_qa = plain.replace("require-team", "only-qa")
    team.write(prd__p=plain, qa__p=enforced, qa__q=only_qa)
    code, _ = team.adopt("--env", "prd=prd", "--env", "qa=qa", *VERSIONS)
    project = read_project(team.folder / "out")
    assert code == 0
    assert project.environments["qa"].policies["require-team"].action == "Enforce"
    assert "require-team" not in project.environments["prd"].policies
    assert project.environments["prd"].policies["only-qa"].enabled is False


@pytest.mark.slow
def test_a_policy_that_differs_between_environments_is_left(team: Team) -> None:
    team.write(prd__p=POLICY, qa__p=POLICY.replace("?*", "a*"))
    code, body = team.adopt("--env", "prd=prd", "--env", "qa=qa", *VERSIONS)
    assert code == 1
    field = "spec.rules.team.validate.pattern.metadata.labels.team"
    message = f"differs from that of prd, which the project has, in {field}"
    assert team.rows(body, "left") == [("ClusterPolicy require-team", message)]


@pytest.mark.slow
def test_clusters_of_an_environment_share_what_they_have_in_common(team: Team) -> None:
    team.write(legacy__p=POLICY)
    team.adopt("legacy", "--env", "prd/east", "--env", "prd/west", "--env", "qa", *VERSIONS)
    body = read_file(team.folder / "out/chartkit.yaml")[0].body["environments"]
    assert body == {"prd": {"clusters": {"east": {}, "west": {}}}, "qa": {}}
    assert list(read_project(team.folder / "out").environments) == ["prd/east", "prd/west", "qa"]


@pytest.mark.slow
def test_what_all_environments_share_is_there_once(team: Team) -> None:
    team.write(legacy__p=POLICY, legacy__e=EXCEPTION, values="admissionController: {replicas: 3}\n")
    environments = ("--env", "qa", "--env", "prd/eu", "--env", "prd/us")
    _, body = team.adopt("legacy", "--values", "values.yaml", *environments, *VERSIONS)
    assert "exceptions/all/shop.old.kyverno.yaml" in body["files"]
    assert [each for each in body["files"] if each.startswith("engine/")] == ["engine/values.yaml"]
    [exception] = [row for row in body["rows"] if row["subject"] == "PolicyException shop/old"]
    assert exception["environments"] == ["qa", "prd/eu", "prd/us"]
    for each in read_project(team.folder / "out").environments.values():
        assert [named.path.name for named in each.exceptions] == ["all"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("version", "is_served"),
    [(str(each), True) for each in releases.current().serves] + [("1.16", False)],
)
def test_the_engines_chart_serves_what_runs(team: Team, version: str, is_served: bool) -> None:
    team.write(legacy__p=POLICY, values="admissionController: {replicas: 3}\n")
    asked = ("--kyverno", version, "--kubernetes", "1.33")
    _, body = team.adopt("legacy", "--values", "values.yaml", *asked)
    environment = read_project(team.folder / "out").environments["prd"]
    assert environment.engine is is_served
    assert [each.path.name for each in environment.engine_values] == ["prd.yaml"] * is_served
    unused = "engine/prd.yaml is not used while Kyverno is installed by another chart"
    assert (("engine values", unused) in team.rows(body, "note")) is not is_served


@pytest.mark.slow
def test_what_one_environment_has_otherwise_is_its_own(team: Team) -> None:
    team.write(legacy__p=POLICY, qa__e=EXCEPTION, prd__e=EXCEPTION.replace("[old]", "[older]"))
    _, body = team.adopt("legacy", "--env", "qa=qa", "--env", "prd=prd", *VERSIONS)
    assert [each for each in body["files"] if each.startswith("exceptions/")] == [
        "exceptions/prd/shop.old.kyverno.yaml",
        "exceptions/qa/shop.old.kyverno.yaml",
    ]


@pytest.mark.slow
def test_an_adoption_overwrites_nothing(team: Team) -> None:
    team.write(legacy__p=POLICY, out__chartkit="environments: {}\n")
    before = {path: path.read_text() for path in (team.folder / "out").rglob("*") if path.is_file()}
    code, _, err = team.run("adopt", "legacy", "--folder", "out", *VERSIONS)
    assert code == 2
    assert "is there already, and is not overwritten" in err
    after = {path: path.read_text() for path in (team.folder / "out").rglob("*") if path.is_file()}
    assert after == before
    assert team.adopt("legacy", *VERSIONS, "--force")[0] == 0


@pytest.mark.slow
def test_a_dry_run_writes_nothing(team: Team) -> None:
    team.write(legacy__p=POLICY)
    code, body = team.adopt("legacy", *VERSIONS, "--dry-run")
    assert code == 0
    assert "chartkit.yaml" in body["files"]
    assert not (team.folder / "out").exists()


@pytest.mark.slow
@pytest.mark.parametrize(("forbidden", "same"), [("hostPath", True), ("nfs", False)])
def test_a_name_leads_to_a_candidate_and_the_engine_decides(
    team: Team, forbidden: str, same: bool
) -> None:
    own = _HOST_PATH.replace("FORBIDDEN", forbidden)
    team.write(legacy__p=own)
    _, body = team.adopt("legacy", *VERSIONS)
    [message] = [each for _, each in team.rows(body, "note") if "disallow-host-path" in each]
    profile = (team.folder / "out/profiles/adopted.yaml").read_text()
    assert message.startswith(
        "means the same as chartkit/baseline/disallow-host-path"
        if same
        else "has the name of chartkit/baseline/disallow-host-path but means something else"
    )
    assert ("Means the same as chartkit/baseline/disallow-host-path." in profile) is same


@pytest.mark.slow
@pytest.mark.parametrize(("forbidden", "same"), [("hostPath", True), ("nfs", False)])
def test_a_policy_in_cel_is_compared_with_that_of_its_name(
    team: Team, forbidden: str, same: bool
) -> None:
    team.write(legacy__p=_TEXTS["host-path-in-cel"].replace("FORBIDDEN", forbidden))
    _, body = team.adopt("legacy", "--kyverno", "1.19.1", "--kubernetes", "1.34")
    [message] = [each for _, each in team.rows(body, "note") if "disallow-host-path" in each]
    named = "chartkit/baseline/disallow-host-path"
    assert message.startswith(f"{'means the same as' if same else 'has the name of'} {named}")
    assert ("no request was found" if same else "for some Pod the result here is") in message


@pytest.mark.slow
def test_candidates_that_are_not_compared_have_a_row(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chartkit.addons.operate.adopt.meaning._CANDIDATES", 0)
    team.write(legacy__p=_HOST_PATH.replace("FORBIDDEN", "hostPath"))
    _, body = team.adopt("legacy", *VERSIONS)
    [message] = [each for _, each in team.rows(body, "note")]
    assert "was not compared" in message


@pytest.mark.slow
def test_policies_that_deployers_own_have_a_note(team: Team) -> None:
    owned = POLICY.replace(
        "metadata: {name: require-team}",
        "metadata:\n  name: require-team\n  annotations:\n"
        "    argocd.argoproj.io/tracking-id: shop:kyverno.io/ClusterPolicy:kyverno/require-team",
    )
    team.write(legacy__p=owned)
    _, body = team.adopt("legacy", *VERSIONS)
    notes = dict(team.rows(body, "note"))
    assert notes["ClusterPolicy require-team"] == "is still installed by Argo CD application shop"


@pytest.mark.slow
def test_versions_that_nothing_tells_are_asked_for(team: Team) -> None:
    team.write(legacy__p=POLICY)
    code, out, err = team.run("adopt", "legacy", "--folder", "out")
    assert (code, out) == (2, "")
    assert "nothing says which Kyverno runs in prd (give --kyverno VERSION" in err
    assert not (team.folder / "out").exists()
    code, body = team.adopt("legacy", "--dry-run")
    assumed = [message for _, message in team.rows(body, "left")]
    assert (code, len(assumed)) == (1, 2)
    assert all(message.startswith("is assumed: nothing says which K") for message in assumed)


@from_table("arguments")
def test_options_that_cannot_be_used_are_one_line(team: Team, arguments: list[str]) -> None:
    team.write(legacy__p=POLICY)
    code, out, err = team.run("adopt", *arguments, "--folder", "out")
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert not Path("out").exists()


FLUX = _TEXTS["flux"]
ARGO = _TEXTS["argo"]


@pytest.mark.slow
@pytest.mark.parametrize("text", [FLUX, ARGO])
def test_values_of_releases_that_objects_declare_are_taken(team: Team, text: str) -> None:
    team.write(legacy__p=POLICY, deploy__release=text)
    _, body = team.adopt("legacy", "deploy", "--kubernetes", "1.31")
    files = [each for each in body["files"] if each.startswith("engine/")]
    values = [read_file(team.folder / "out" / each)[0].body for each in files]
    assert values == [
        {"admissionController": {"replicas": 3}},
        {"backgroundController": {"replicas": 2}},
    ]
    [kyverno] = [row for row in body["rows"] if row["subject"].startswith("Kyverno")]
    assert (kyverno["subject"], kyverno["message"]) == (
        "Kyverno 1.13",
        "is what chart 3.3 installs",
    )


_LEFT = "admissionController: {replicas: 2}\nwebhooksCleanup:\n  image: {registry: m}\n"
_FLUX_HEAD = FLUX.partition("---\n")[2].partition("  valuesFrom")[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "first", "line"),
    [
        (_LEFT, 1, 3),
        (f"USER-SUPPLIED VALUES:\n{_LEFT}", 1, 4),
        ("kyverno:\n" + indent(_LEFT, "  "), 1, 4),
        (f"{_FLUX_HEAD}  values:\n" + indent(_LEFT, "    "), 6, 9),
    ],
)
def test_a_value_that_is_left_has_its_own_line(
    team: Team, text: str, first: int, line: int
) -> None:
    team.write(legacy__p=POLICY, legacy__v=text)
    _, body = team.adopt("legacy", "--kubernetes", "1.31", "--dry-run")
    places = {row["subject"]: row["location"] for row in body["rows"]}
    assert places["engine values"] == f"legacy/v.yaml:{first}"
    assert places["engine values admissionController.replicas"] == f"legacy/v.yaml:{line - 2}"
    assert places["engine values webhooksCleanup.image.registry"] == f"legacy/v.yaml:{line}"


def test_notes_of_charts_that_say_the_same_are_one(team: Team) -> None:
    for name in ("a", "b", "c"):
        (team.folder / "legacy" / name).mkdir(parents=True)
        (team.folder / "legacy" / name / "Chart.yaml").write_text(f"name: {name}\nversion: 1.0.0\n")
    _, body = team.adopt("legacy", *VERSIONS, "--dry-run")
    [(subject, said)] = team.rows(body, "note")
    assert subject == "path legacy/a"
    assert said.startswith("the chart renders no object; 2 more of the kind, such as legacy/b ")


@pytest.mark.slow
def test_values_of_a_release_that_are_not_there_have_a_row(team: Team) -> None:
    team.write(legacy__p=POLICY, deploy__release=FLUX)
    _, body = team.adopt("legacy", "deploy", "--kubernetes", "1.31")
    [message] = [text for what, text in team.rows(body, "note") if "valuesFrom" in text]
    assert message.startswith("HelmRelease 'kyverno': the Secret 'gone'")


@pytest.mark.slow
def test_values_of_other_charts_are_not_those_of_the_engine(team: Team) -> None:
    team.write(legacy__p=POLICY, deploy__release=ARGO.replace("chart: kyverno", "chart: redis"))
    _, body = team.adopt("legacy", "deploy", *VERSIONS)
    assert not any(each.startswith("engine/") for each in body["files"])


@pytest.mark.parametrize("name", ["../../x", "/x", "..", "a/b", "a\0", "\ud800", "a" * 300])
def test_exceptions_whose_names_no_file_can_have(name: str) -> None:
    bodies = [parse_yaml(EXCEPTION) for _ in range(2)]
    bodies[0]["metadata"]["name"] = bodies[1]["metadata"]["namespace"] = name
    estate = Estate("prd", exceptions=[Piece(Resource(body)) for body in bodies])
    texts, rows = take_exceptions(estate, [])
    assert texts == {}
    refused, unnamed = [row.message for row in rows]
    assert refused.startswith("Kyverno refuses it: metadata.name: Invalid value: ")
    assert unnamed == "no file can have its name"


@pytest.mark.slow
def test_what_is_excluded_stays_out_of_the_project_too(team: Team) -> None:
    broken = "apiVersion: v1\nkind: Pod\nmetadata: [\n"
    team.write(
        apps__a=WORKLOAD.replace("NAME", "new"), apps__open=broken, apps__more__b=broken,
        legacy__policies=POLICY,
    )  # fmt: skip
    patterns = ("--exclude", "open.yaml", "--exclude", "/more/")
    code, body = team.adopt("legacy", "apps", *VERSIONS, *patterns)
    assert (code, team.rows(body, "unread")) == (0, [])
    [project] = read_file(team.folder / "out/chartkit.yaml")
    assert project.body["exclude"] == ["open.yaml", "/more/"]
    code, out, _ = team.run("render", "--project", "out", "-o", "json")
    assert code == 0, out


@pytest.mark.slow
def test_a_chart_of_the_name_of_kyvernos_that_depends_on_it_is_adopted(team: Team) -> None:
    chart = "name: kyverno\napiVersion: v2\nversion: 1.0.0\ndependencies: [{name: kyverno}]\n"
    own = "apiVersion: v2\nname: kyverno\nversion: 3.7.2\n"
    files = {"Chart.yaml": chart, "charts/kyverno/Chart.yaml": own, "templates/p.yaml": POLICY}
    files["values.yaml"] = "kyverno: {config: {preserve: true}}\n"
    write_files(team.folder / "legacy", files)
    _, body = team.adopt("legacy", *VERSIONS)
    taken = {subject for subject, _ in team.rows(body, "taken")}
    assert {"ClusterPolicy require-team", "engine values"} <= taken
