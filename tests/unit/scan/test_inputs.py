"""What is scanned, with which values, and the cluster around a policy's examples."""

import gzip
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from chartkit.documents.reader import read_text, resources
from chartkit.engine import Request, evaluate
from chartkit.engine.cel_policies import fields
from chartkit.engine.cli_files.admissions import NO_VALUES
from chartkit.engine.ports.world import OFFLINE
from chartkit.errors import CompileError, InputError, NoSource
from chartkit.model import Diagnostic, Location, Resource
from chartkit.scan.ineffective import overlooked
from chartkit.scan.inputs import ChartOptions, read_inputs
from chartkit.scan.inputs.folders import walk
from chartkit.scan.policies import compile_all, load_policies
from chartkit.scan.user_inputs import read_exceptions
from chartkit.scan.user_settings import read_user_inputs
from chartkit.scan.verdicts import example_world, judge
from tests.data import beside
from tests.errors import error_of
from tests.unit.engine.policies import obj, policy_resource, rule

_TEXTS = beside(__file__)

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\n"


def test_a_file_that_is_removed_during_a_run_is_no_broken_link(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(POD)
    (tmp_path / "b.yaml").write_text(POD)
    (tmp_path / "c.yaml").symlink_to("gone.yaml")
    rows: list[Diagnostic] = []
    for _ in walk(tmp_path, rows.append):
        (tmp_path / "b.yaml").unlink()
    hints = ["it was removed meanwhile: run again", "the link is broken"]
    assert [row.hint for row in rows] == hints


def test_values_without_a_chart_are_refused(tmp_path: Path) -> None:
    (tmp_path / "pods").mkdir()
    (tmp_path / "pods" / "pod.yaml").write_text(POD, "utf-8")
    values = ChartOptions(values=(tmp_path / "values.yaml",))
    for paths in ([str(tmp_path / "pods" / "pod.yaml")], [str(tmp_path / "pods")], ["-"]):
        with pytest.raises(InputError, match=r"values.yaml: no chart is scanned that takes it"):
            read_inputs(paths, io.StringIO(POD), print, values)
        assert len(read_inputs(paths, io.StringIO(POD), print, ChartOptions())) == 1


def test_values_are_for_a_chart_anywhere_below(tmp_path: Path) -> None:
    templates = tmp_path / "deep" / "chart" / "templates"
    templates.mkdir(parents=True)
    (templates.parent / "Chart.yaml").write_text("apiVersion: v2\nname: c\nversion: 1.0.0\n")
    (templates / "pod.yaml").write_text(POD.replace("web", "'{{ .Values.name }}'"), "utf-8")
    (tmp_path / "values.yaml").write_text("name: mine\n", "utf-8")
    values = ChartOptions(values=(tmp_path / "values.yaml",))
    found = read_inputs([str(tmp_path / "deep")], io.StringIO(), print, values)
    assert [each.name for each in found] == ["mine"]


def test_charts_find_the_aggregation_that_every_cluster_serves(tmp_path: Path) -> None:
    (tmp_path / "templates").mkdir()
    (tmp_path / "Chart.yaml").write_text("apiVersion: v2\nname: c\nversion: 1.0.0\n")
    group = "apiregistration.k8s.io"
    template = tmp_path / "templates" / "service.yaml"
    template.write_text(
        f'{{{{ $new := .Capabilities.APIVersions.Has "{group}/v1" }}}}\n'
        f'apiVersion: {group}/{{{{ $new | ternary "v1" "v1beta1" }}}}\n'
        "kind: APIService\nmetadata: {name: a}\n",
        "utf-8",
    )
    (service,) = read_inputs([str(tmp_path)], io.StringIO(), print, ChartOptions())
    assert service.api_version == f"{group}/v1"
    # Charts that tell a cluster by it are rendered as `helm template` does.
    template.write_text(
        f'{POD}{{{{ if .Capabilities.APIVersions.Has "{group}/v1" }}}}no{{{{ end }}}}'
    )
    assert _names([str(tmp_path)]) == ["web"]


def _names(paths: list[str]) -> list[str]:
    return [each.name for each in read_inputs(paths, io.StringIO(), print, ChartOptions())]


def test_quoted_patterns_are_what_they_match(tmp_path: Path) -> None:
    for name in ("a/one.yaml", "a/b/two.yaml", "a/b/c.yml", "a/.hidden/no.yaml", "a/x[1].yaml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(POD.replace("web", Path(name).stem.strip("[1]")))
    assert _names([f"{tmp_path}/a/**/*.yaml"]) == ["two", "one", "x"]
    assert _names([f"{tmp_path}/a/*.yaml"]) == ["one", "x"]
    assert _names([f"{tmp_path}/*"]) == ["c", "two", "one", "x"]
    # A path that there is is not a pattern.
    assert _names([f"{tmp_path}/a/x[1].yaml"]) == ["x"]
    with pytest.raises(InputError, match="no file or folder matches the pattern"):
        _names([f"{tmp_path}/z*.yaml"])
    with pytest.raises(InputError, match="no such file or folder"):
        _names([f"{tmp_path}/z.yaml"])


def test_the_metadata_of_a_chart_is_no_manifest(tmp_path: Path) -> None:
    file = tmp_path / "Chart.yaml"
    file.write_text("apiVersion: v2\nname: shop\nversion: 0.1.0\n")
    error = error_of(InputError, _names, [str(file)])
    assert str(error) == f"{file}:1: is a chart's metadata (scan its folder, {tmp_path})"
    file.write_text(POD)
    assert _names([str(file)]) == ["web"]


def test_compressed_files_and_ndjson_of_a_folder_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.yaml.gz").write_bytes(gzip.compress(POD.encode()))
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}}
    (tmp_path / "b.ndjson").write_text(f"{json.dumps(pod)}\n" * 2)
    (tmp_path / "c.jsonl.gz").write_bytes(gzip.compress(json.dumps(pod).encode()))
    (tmp_path / "d.tar.gz").write_bytes(b"no manifest")
    assert _names([str(tmp_path)]) == ["web", "x", "x", "x"]


def test_policies_may_be_named_by_patterns(tmp_path: Path) -> None:
    policy = (
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: NAME}\n"
        "spec: {rules: []}\n"
    )
    for name in ("one", "two"):
        (tmp_path / f"{name}.yaml").write_text(policy.replace("NAME", name))
    found = load_policies([f"{tmp_path}/*.yaml"], {})
    assert [each.policy.name for each in found.policies] == ["one", "two"]
    with pytest.raises(InputError, match="no file or folder matches the pattern"):
        load_policies([f"{tmp_path}/z*.yaml"], {})


def test_what_has_no_effect_among_objects_is_named(tmp_path: Path) -> None:
    (tmp_path / "pod.yaml").write_text(POD)
    (tmp_path / "kustomization.yaml").write_text("resources: [pod.yaml]\nimages: []\n")
    exception = "apiVersion: kyverno.io/v2\nkind: PolicyException\nmetadata: {name: e}\n"
    (tmp_path / "exception.yaml").write_text(exception)
    policy = "apiVersion: policies.kyverno.io/v1\nkind: ValidatingPolicy\nmetadata: {name: v}\n"
    (tmp_path / "http.yaml").write_text(policy + "spec:\n  evaluation:\n    mode: HTTP\n")
    notes: list[Diagnostic] = []
    found = read_inputs([str(tmp_path)], io.StringIO(), notes.append)
    assert [each.name for each in found] == ["e", "v", "web"]
    notes += overlooked(found, has_exceptions=False)
    assert [str(each.location) for each in notes] == [
        f"{tmp_path}/exception.yaml:1",
        f"{tmp_path}/http.yaml:6:5",
    ]
    assert notes[0].hint == f"--exceptions {tmp_path}/exception.yaml honours it"
    assert [each.location for each in overlooked(found, has_exceptions=True)] == [notes[1].location]


def _notes(folder: Path) -> tuple[list[str], list[str]]:
    """The names of the objects in a folder, and the notes about it."""
    notes: list[Diagnostic] = []
    found = read_inputs([str(folder)], io.StringIO(), notes.append, ChartOptions())
    return [each.name for each in found], [str(each) for each in notes]


def test_what_other_programs_make_manifests_of_is_named(tmp_path: Path) -> None:
    files = ("a.jsonnet", "b/c.jsonnet", "b/d.libsonnet", "x.cue", "main.k", "helmfile.yaml")
    for name in (*files, "b/_x.tpl", "d.yaml.gotmpl", ".hidden.cue", "chart/templates/_y.tpl"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("apiVersion: v1\nkind: {{ .kind }}\n", "utf-8")
    (tmp_path / "README.md.gotmpl").write_text("# {{ .name }}\n", "utf-8")
    (tmp_path / "data.pkl").write_bytes(b"\x80\x04\x95\x00\x00")
    (tmp_path / "user.tftpl").write_text("apiVersion: v1\nkind: ${kind}\n", "utf-8")
    (tmp_path / "helmfile.d").mkdir()
    (tmp_path / "helmfile.d" / "01-apps.yaml").write_text("releases: []\n", "utf-8")
    (tmp_path / "chart" / "Chart.yaml").write_text("apiVersion: v2\nname: c\nversion: 1.0.0\n")
    (tmp_path / "library").mkdir()
    library = "apiVersion: v2\nname: l\nversion: 1.0.0\ntype: library\n"
    (tmp_path / "library" / "Chart.yaml").write_text(library)
    (tmp_path / "pod.yaml").write_text(POD, "utf-8")
    (tmp_path / "linked").symlink_to(tmp_path.parent)
    (tmp_path / "alias").symlink_to(tmp_path / "b")
    names, notes = _notes(tmp_path)
    assert names == ["web"]
    text = "\n".join(notes).replace(f"{tmp_path}/", "")
    for said in (
        "a.jsonnet: note scan-input: is Jsonnet and is not read, nor are 2 more of .jsonnet and "
        ".libsonnet (jsonnet FILE",
        "x.cue: note scan-input: is CUE and is not read (cue export --out yaml FILE | chartkit",
        "main.k: note scan-input: is KCL",
        "b/_x.tpl: note scan-input: is a template",
        "d.yaml.gotmpl: note scan-input: is a template",
        "user.tftpl: note scan-input: is a template",
        "helmfile.d/01-apps.yaml: note scan-input: the releases of Helmfile are not rendered",
        "helmfile.yaml: note scan-input: the releases of Helmfile are not rendered",
        "linked: note scan-input: links to folders are not followed",
        "chart: note scan-input: the chart renders no object",
    ):
        assert said in text
    assert text.count("the chart renders no object") == 1
    assert "alias" not in text
    assert "hidden" not in text
    assert "Pkl" not in text
    assert "_y.tpl" not in text
    assert "README" not in text
    assert text.count("helmfile.yaml") == 1


def test_assertions_of_kuttl_tests_are_no_objects_to_deploy(tmp_path: Path) -> None:
    step = tmp_path / "tests" / "scale"
    step.mkdir(parents=True)
    for name in ("00-assert.yaml", "00-install.yaml", "01-assert-web.yaml", "01-errors.yml"):
        (step / name).write_text(POD, "utf-8")
    names, notes = _notes(tmp_path)
    assert names == ["web"]
    assert notes == [
        f"{step}/00-assert.yaml: note scan-input: is an assertion of a kuttl test, not an object "
        "to deploy, and is not read, nor are 2 more of them (name it as PATH)"
    ]


def test_lists_as_api_servers_give_them(tmp_path: Path) -> None:
    metadata = {"continue": "eyJ2", "remainingItemCount": 7}
    items = [{"metadata": {"name": "one"}, "spec": {}}]
    body = {"apiVersion": "v1", "kind": "PodList", "metadata": metadata, "items": items}
    (tmp_path / "list.json").write_text(json.dumps(body), "utf-8")
    notes: list[Diagnostic] = []
    [found] = read_inputs([str(tmp_path / "list.json")], io.StringIO(), notes.append)
    assert (found.api_version, found.kind, found.name) == ("v1", "Pod", "one")
    said = "list.json:1:41: warning scan-input: the list is not whole: 7 objects are missing"
    assert said in str(notes[0])
    whole = {**body, "metadata": {}}
    (tmp_path / "list.json").write_text(json.dumps(whole), "utf-8")
    assert _notes(tmp_path) == (["one"], [])


ANSWERS = {
    "Table": {"apiVersion": "meta.k8s.io/v1", "kind": "Table", "rows": []},
    "PartialObjectMetadata": {"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata"},
    "Status": {"apiVersion": "v1", "kind": "Status", "message": "pods is forbidden"},
}


@pytest.mark.parametrize("kind", ANSWERS)
def test_answers_that_are_no_objects_are_named(tmp_path: Path, kind: str) -> None:
    (tmp_path / "answer.json").write_text(json.dumps(ANSWERS[kind]), "utf-8")
    said = f"is a {kind} of an API server, and no object"
    with pytest.raises(InputError, match=said):
        _names([str(tmp_path / "answer.json")])
    with pytest.raises(InputError, match=said):
        read_inputs(["-"], io.StringIO(json.dumps(ANSWERS[kind])), print)
    (tmp_path / "pod.yaml").write_text(POD, "utf-8")
    names, notes = _notes(tmp_path)
    assert names == ["web"]
    assert said in notes[0]


def test_a_table_of_kubectl_has_a_way_out() -> None:
    table = "NAMESPACE   NAME   READY\nshop        web    1/1\n"
    error = error_of(InputError, read_inputs, ["-"], io.StringIO(table), print)
    assert error.hint == "that is a table of kubectl: take -o json or -o yaml"


def test_objects_without_effect_are_named(tmp_path: Path) -> None:
    texts = {
        "values": "apiVersion: cli.kyverno.io/v1alpha1\nkind: Values\nmetadata: {name: v}\n",
        "flux": "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n"
        "metadata: {name: apps}\nspec: {postBuild: {substitute: {a: b}}}\n",
        "policy": "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: p}\nspec: {}\n",
        "other": "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: q}\nspec: {}\n",
        "known": "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: k}\nspec: {}\n",
        "open": "apiVersion: template.openshift.io/v1\nkind: Template\nmetadata: {name: t}\n"
        "objects: [{apiVersion: v1, kind: Pod}]\n",
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.yaml").write_text(text, "utf-8")
    found = read_inputs([str(tmp_path)], io.StringIO(), print)
    notes = "\n".join(map(str, overlooked(found, False, {("ClusterPolicy", "", "k")})))
    assert "values.yaml:1: note scan-input: Values of cli.kyverno.io has no effect here" in notes
    assert "Kustomization 'apps': its patches and substitutions are not applied" in notes
    assert "ClusterPolicy 'q' and 1 more policy judge nothing here: only scanned" in notes
    assert (
        "open.yaml:1: note scan-input: Template 't': its objects are not scanned (oc proc" in notes
    )
    assert "'k'" not in notes


def test_a_pointer_of_git_lfs_is_not_read(tmp_path: Path) -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12\n"
    (tmp_path / "kept.yaml").write_text(pointer, "utf-8")
    (tmp_path / "pod.yaml").write_text(POD, "utf-8")
    names, notes = _notes(tmp_path)
    assert names == ["web"]
    what = "error unread: is a pointer of Git LFS, and its content is not here (git lfs pull)"
    assert notes == [f"{tmp_path}/kept.yaml: {what}"]


KYVERNO = "apiVersion: cli.kyverno.io/v1alpha1\nkind: Values\nglobalValues: {color: red}\n"
EXCEPTION = _TEXTS["exception"]


def unexpected(row: Diagnostic) -> None:
    raise AssertionError(row)


def file(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, "utf-8")
    return path


def test_values_files_are_told_apart_by_what_they_are(tmp_path: Path) -> None:
    chart = file(tmp_path, "prd.yaml", "image: {tag: 1}\n")
    kyverno = file(tmp_path, "k.yaml", KYVERNO)
    inputs = read_user_inputs([chart, kyverno], ["size=3,shape=round"], None)
    assert inputs.chart_values == (chart,)
    assert inputs.values.for_resource("p", "a") == {"color": "red", "size": "3", "shape": "round"}


def test_nothing_said(tmp_path: Path) -> None:
    chart = file(tmp_path, "prd.yaml", "a: 1\n")
    inputs = read_user_inputs([chart], [], None)
    assert inputs.values is NO_VALUES
    assert inputs.user is None


def test_user_inputs_name_who_asks(tmp_path: Path) -> None:
    user = file(tmp_path, "u.yaml", "userInfo: {username: ann}\n")
    inputs = read_user_inputs([], [], user)
    assert inputs.user is not None
    assert inputs.user.name == "ann"


def test_what_is_wrong_with_statements(tmp_path: Path) -> None:
    one, two = file(tmp_path, "1.yaml", KYVERNO), file(tmp_path, "2.yaml", KYVERNO)
    with pytest.raises(InputError, match="second file of Kyverno's values"):
        read_user_inputs([one, two], [], None)
    for text in ("size", "request.object.a=1", "a=b=c"):
        with pytest.raises(InputError, match="NAME=VALUE"):
            read_user_inputs([], [text], None)
    with pytest.raises(InputError, match="no such file"):
        read_user_inputs([tmp_path / "gone.yaml"], [], None)
    with pytest.raises(InputError, match="is empty"):
        read_user_inputs([], [], file(tmp_path, "empty.yaml", ""))


def test_exceptions_come_from_files_and_folders(tmp_path: Path) -> None:
    path = file(tmp_path, "e.yaml", f"{EXCEPTION}---\napiVersion: v1\nkind: Pod\n")
    assert [one.key for one in read_exceptions([path], unexpected).exceptions] == ["kyverno/e"]
    assert [one.key for one in read_exceptions([tmp_path], unexpected).exceptions] == ["kyverno/e"]


def test_exceptions_that_are_not_there(tmp_path: Path) -> None:
    path = file(tmp_path, "p.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n")
    with pytest.raises(InputError, match="holds no PolicyException"):
        read_exceptions([path], unexpected)
    with pytest.raises(InputError, match="no such file or folder"):
        read_exceptions([tmp_path / "gone"], unexpected)
    broken = file(tmp_path, "b.yaml", EXCEPTION.replace("exceptions:", "exception:"))
    with pytest.raises(CompileError):
        read_exceptions([broken], unexpected)


def test_the_world_is_looked_at_only_where_a_policy_asks() -> None:
    inputs = read_user_inputs([], [], None)
    plain = compile_all([policy_resource()]).policies
    assert inputs.world(plain, [obj()]) is OFFLINE
    context = [{"name": "c", "configMap": {"name": "a", "namespace": "default"}}]
    asking = compile_all([policy_resource(rule(context=context))]).policies
    world = inputs.world(asking, [obj("ConfigMap")])
    assert world.api.configmap("default", "a")["kind"] == "ConfigMap"


def test_scanned_objects_answer_calls_of_the_api() -> None:
    context = [{"name": "c", "apiCall": {"urlPath": "/api/v1/namespaces/default/configmaps"}}]
    asking = compile_all([policy_resource(rule(context=context))]).policies
    world = read_user_inputs([], [], None).world(asking, [obj("ConfigMap")])
    path = "/api/v1/namespaces/default/configmaps"
    assert [one["kind"] for one in world.api.call("GET", path, None)["items"]] == ["ConfigMap"]
    with pytest.raises(NoSource):
        world.api.call("GET", "/apis/example.com/v1/things", None)


def test_global_context_entries_stand_among_the_objects() -> None:
    entry = obj("GlobalContextEntry", "kyverno.io/v2", "maps", namespace="")
    entry.body["spec"] = {"kubernetesResource": {"version": "v1", "resource": "configmaps"}}
    context = [{"name": "maps", "globalReference": {"name": "maps"}}]
    asking = compile_all([policy_resource(rule(context=context))]).policies
    world = read_user_inputs([], [], None).world(asking, [entry, obj("ConfigMap")])
    assert [one["kind"] for one in world.global_context.data("maps", "")] == ["ConfigMap"]


_BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
_CLUSTER = _TEXTS["cluster"]


def _example(folder: Path) -> Resource:
    return Resource({"kind": "Deployment"}, Location(str(folder / "good.yaml"), 1))


def test_objects_beside_an_example_are_there(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(_CLUSTER)
    world = example_world(_example(tmp_path))
    (budget,) = world.api.call("GET", _BUDGETS, None)["items"]
    assert budget["metadata"]["name"] == "web"
    assert world.api.configmap("default", "settings")["data"] == {"a": "b"}
    (listed,) = world.api.cluster("p", "").listed("policy/v1", "poddisruptionbudgets", "default")
    assert listed == budget


def test_a_file_that_changes_is_read_again(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(_CLUSTER)
    example_world(_example(tmp_path))
    (tmp_path / "cluster.yaml").write_text(_CLUSTER.replace("{a: b}", "{a: changed}"))
    world = example_world(_example(tmp_path))
    assert world.api.configmap("default", "settings")["data"] == {"a": "changed"}


def test_without_them_there_is_nobody_to_ask(tmp_path: Path) -> None:
    world = example_world(_example(tmp_path))
    assert world is OFFLINE
    with pytest.raises(NoSource):
        world.api.call("GET", _BUDGETS, None)


def test_a_broken_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text("{")
    with pytest.raises(InputError, match=r"cluster\.yaml"):
        example_world(_example(tmp_path))


def test_a_verdict_needs_no_fields(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (policy,) = compile_all([*resources(read_text(_TEXTS["cel"]))]).policies
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\ndata: {a: bad}\n"
    (given,) = resources(read_text(text, str(tmp_path / "bad.yaml")))
    request = Request(given)
    (with_fields,) = evaluate([policy], request, example_world(given))
    assert with_fields.fields == ("/data/a",)

    def fail(*_: object) -> tuple[str, ...]:
        raise AssertionError("the fields of a failure are looked for")

    monkeypatch.setattr(fields, "fields_of", fail)
    world = example_world(given, wants_fields=False)
    (without,) = evaluate([policy], request, world)
    assert without == replace(with_fields, fields=())
    assert judge([policy], (), given, world).said == "m"
