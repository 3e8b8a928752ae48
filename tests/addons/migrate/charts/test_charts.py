"""Charts whose templates are policies get both forms, behind a value."""

import json
from pathlib import Path

import pytest

from chartkit.addons.migrate.charts.lines import merged
from chartkit.addons.migrate.charts.normal import normal
from chartkit.addons.migrate.charts.proof import render
from chartkit.errors import RenderError
from chartkit.model import Body, Location
from tests.addons.migrate.charts.small import (
    HOST_PID,
    TARGET,
    VALUES,
    migrated,
    new_policies,
    policy,
    rule,
    write_chart,
)
from tests.data import beside, from_table, tables


def test_both_forms_stand_behind_the_switch(tmp_path: Path) -> None:
    chart = write_chart(tmp_path / "c", {"p.yaml": policy(rule(HOST_PID))})
    before = render(chart, {}, TARGET)
    migration = migrated(chart)
    assert not migration.left
    assert render(chart, {}, TARGET) == before
    (new,) = new_policies(chart)
    assert (new["kind"], new["metadata"]["name"]) == ("ValidatingPolicy", "release-p")
    assert new["spec"]["validationActions"] == ["Audit"]
    (enforced,) = new_policies(chart, action="Enforce")
    assert enforced["spec"]["validationActions"] == ["Deny"]


def test_both_report_side_by_side(tmp_path: Path) -> None:
    chart = write_chart(tmp_path / "c", {"p.yaml": policy(rule(HOST_PID))})
    migrated(chart)
    old, new = new_policies(chart, policyType="both", action="Enforce")
    assert old["spec"]["validationFailureAction"] == "Enforce"
    assert new["spec"]["validationActions"] == ["Audit"]
    assert new["spec"]["failurePolicy"] == "Ignore"


def test_values_schema_and_readme_name_the_switch(tmp_path: Path) -> None:
    chart = write_chart(tmp_path / "c", {"p.yaml": policy(rule(HOST_PID))})
    schema = {"type": "object", "properties": {"action": {"type": "string"}}}
    (chart / "values.schema.json").write_text(json.dumps(schema, indent=4))
    readme = "# c\n\n| Key | Type | Default | Description |\n|---|---|---|---|\n"
    (chart / "README.md").write_text(f"{readme}| action | string | x | y |\n| z | a | b | c |\n")
    migrated(chart)
    values = (chart / "values.yaml").read_text()
    assert "# Audit or Enforce\naction: Audit" in values
    assert "policyType: ClusterPolicy\n" in values
    switch = json.loads((chart / "values.schema.json").read_text())["properties"]["policyType"]
    assert switch["enum"] == ["ClusterPolicy", "ValidatingPolicy", "both"]
    lines = (chart / "README.md").read_text().splitlines()
    assert [line.split(" ")[1] for line in lines[4:]] == ["action", "policyType", "z"]


def test_a_chart_with_both_forms_stays_as_it_is(tmp_path: Path) -> None:
    chart = write_chart(tmp_path / "c", {"p.yaml": policy(rule(HOST_PID))})
    migrated(chart)
    again = migrated(chart, write=False)
    assert not again.texts
    assert not again.left
    assert again.has(Location(str(chart / "templates" / "p.yaml")))


def test_lists_of_values_become_lists_in_cel(tmp_path: Path) -> None:
    deny = (
        '      deny:\n        conditions:\n          all:\n          - key: "{{ `{{` }} '
        'request.object.metadata.name {{ `}}` }}"\n            operator: AnyNotIn\n'
        "            value:\n            {{- toYaml .Values.allow | nindent 12 }}\n"
    )
    chart = write_chart(tmp_path / "c", {"p.yaml": policy(rule(deny))})
    assert not migrated(chart).left
    text = (chart / "templates" / "p.yaml").read_text()
    assert 'fits" (dict "text" "object.metadata.name" "values" .Values.allow)' in text
    (new,) = new_policies(chart, allow=["it's", 'a "b"', "{{ x }}", "z*"])
    expression = new["spec"]["validations"][0]["expression"]
    assert json.dumps(["it's", 'a "b"', "{{ x }}"], separators=(",", ":")) in expression
    assert 'object.metadata.name.startsWith("z")' in expression


def test_a_range_repeats_what_it_repeats(tmp_path: Path) -> None:
    pattern = (
        "      pattern:\n        metadata:\n          labels:\n"
        '            {{- range $label := .Values.allow }}\n            {{ $label }}: "?*"\n'
        "            {{- end }}\n"
    )
    chart = write_chart(tmp_path / "c", {"p.yaml": policy(rule(pattern))})
    assert not migrated(chart).left
    assert "{{- range $label := .Values.allow }}" in (chart / "templates/p.yaml").read_text()
    (new,) = new_policies(chart, allow=["a", "b", "c.d/e"])
    assert len(new["spec"]["validations"]) == 3


def test_an_exclusion_of_values_is_a_match_condition(tmp_path: Path) -> None:
    exclude = "    exclude:\n      {{- toYaml .Values.exclude | nindent 6 }}\n"
    chart = write_chart(tmp_path / "c", {"p.yaml": policy(rule(HOST_PID, exclude))})
    assert not migrated(chart).left
    (new,) = new_policies(chart)
    (condition,) = new["spec"]["matchConditions"]
    assert condition["expression"].count("kube-system") == 1
    with pytest.raises(RenderError, match="exclude with clusterRoles has no form"):
        new_policies(chart, exclude={"any": [{"clusterRoles": ["admin"]}]})


@from_table("more", "reason")
def test_what_has_no_place_stays_and_is_named(tmp_path: Path, more: str, reason: str) -> None:
    chart = write_chart(tmp_path / "c", {"p.yaml": policy(rule(HOST_PID, more))})
    migration = migrated(chart)
    ((location, text),) = migration.left
    assert text.startswith(reason)
    line = (chart / "templates/p.yaml").read_text().splitlines()[location.line - 1]
    assert "toYaml" in line
    assert not migration.texts


@from_table("rules", "values", "given", "wanted")
def test_parts_of_values_have_a_place(
    tmp_path: Path, rules: str, values: str, given: Body, wanted: list[str]
) -> None:
    values = f"enabled: true\naction: Enforce\n{values}"
    chart = write_chart(tmp_path / "c", {"p.yaml": policy(rules)}, values)
    assert migrated(chart).left == []
    new = json.dumps(new_policies(chart, **given))
    assert [part for part in wanted if part not in new] == []


def test_values_that_the_new_form_has_not_stop_helm(tmp_path: Path) -> None:
    more = (
        "    {{- with .Values.conditions }}\n    preconditions:\n"
        "      {{- toYaml . | nindent 6 }}\n    {{- end }}\n"
    )
    chart = write_chart(tmp_path / "c", {"p.yaml": policy(rule(HOST_PID, more))})
    assert migrated(chart).refused
    assert new_policies(chart)
    conditions = {"all": [{"key": "a", "operator": "Equals", "value": "a"}]}
    with pytest.raises(RenderError, match="conditions is set: preconditions from values"):
        new_policies(chart, conditions=conditions)


def test_wildcards_that_kyverno_would_read_stop_helm(tmp_path: Path) -> None:
    pattern = (
        '      pattern:\n        metadata:\n          name: "{{ join " | " .Values.allow }}"\n'
    )
    chart = write_chart(tmp_path / "c", {"p.yaml": policy(rule(pattern))})
    assert not migrated(chart).left
    assert new_policies(chart)
    with pytest.raises(RenderError, match="allow has operators or numbers"):
        new_policies(chart, allow=["!a"])


def test_named_templates_are_carried_out(tmp_path: Path) -> None:
    helpers = (
        '{{- define "small.rule" -}}\n- name: {{ .name }}\n  match:\n    any:\n    - resources:\n'
        "        kinds: {{ toYaml .kinds | nindent 8 }}\n  validate:\n    message: {{ .text }}\n"
        "    pattern:\n      spec:\n        =(hostPID): false\n{{- end -}}\n"
    )
    include = (
        '  {{- include "small.rule" (dict "name" "r" "kinds" (list "Pod") "text" '
        ".Values.action) | nindent 2 }}\n"
    )
    chart = write_chart(tmp_path / "c", {"_h.tpl": helpers, "p.yaml": policy(include)})
    assert not migrated(chart).left
    (new,) = new_policies(chart)
    assert new["spec"]["validations"][0]["message"] == "Audit"


def test_a_named_template_has_the_metadata(tmp_path: Path) -> None:
    helper = '{{- define "meta" }}\nmetadata:\n  name: {{ .name }}\n{{- end }}\n'
    text = policy(rule(HOST_PID)).replace(
        "metadata:\n  name: {{ .Release.Name }}-p\n", '{{- include "meta" (dict "name" "q") }}\n'
    )
    chart = write_chart(tmp_path / "c", {"_h.tpl": helper, "p.yaml": text})
    assert migrated(chart).left == []
    assert [new["metadata"]["name"] for new in new_policies(chart)] == ["q"]


@pytest.mark.parametrize("sign", ["<=", "> "])
def test_a_size_behind_a_sign_is_a_size(tmp_path: Path, sign: str) -> None:
    limits = f'{{limits: {{memory: "{sign}{{{{ .Values.size }}}}"}}}}'
    lines = f"      pattern: {{spec: {{containers: [{{resources: {limits}}}]}}}}\n"
    folder = write_chart(tmp_path / "c", {"p.yaml": policy(rule(lines))}, f"{VALUES}size: 2Gi\n")
    assert not migrated(folder).left
    text = (folder / "templates" / "p.yaml").read_text()
    assert "quantity({{ .Values.size | quote }})" in text
    assert '{{- fail "size has characters that no number has' in text


def test_a_number_behind_a_sign_is_a_number(tmp_path: Path) -> None:
    lines = "      pattern:\n        spec:\n          priority: '<{{ .Values.most }}'\n"
    folder = write_chart(tmp_path / "c", {"p.yaml": policy(rule(lines))}, f"{VALUES}most: 100\n")
    assert not migrated(folder).left
    assert "< {{ .Values.most }}" in (folder / "templates" / "p.yaml").read_text()


_GENERATED = beside(__file__)["generated"]


@pytest.mark.parametrize("quoted", ["{{ .Values.pods | quote }}", '"{{ .Values.pods }}"'])
def test_a_text_that_is_generated_stays_a_text(tmp_path: Path, quoted: str) -> None:
    template = policy(_GENERATED.replace("QUOTED", quoted))
    folder = write_chart(tmp_path / "c", {"p.yaml": template}, f"{VALUES}pods: '10'\n")
    assert not migrated(folder).left
    assert (
        "\n            pods: {{ .Values.pods | quote }}\n"
        in (folder / "templates" / "p.yaml").read_text()
    )


def test_a_form_that_differs_is_left_out_alone(tmp_path: Path) -> None:
    # The text becomes JMESPath only when Helm prints it, which no mark shows.
    odd = policy(rule('      pattern:\n        metadata:\n          name: "{{ .Values.name }}"\n'))
    values = "enabled: true\naction: Audit\nname: '{{request.namespace}}'\n"
    templates = {"good.yaml": policy(rule(HOST_PID), name="good"), "odd.yaml": odd}
    chart = write_chart(tmp_path / "c", templates, values)
    migration = migrated(chart)
    assert {file.name for file in migration.converted} == {"good.yaml"}
    ((location, reason),) = migration.left
    assert Path(location.file).name == "odd.yaml"
    assert reason.startswith("the new form differs at /spec/validations/0/expression")
    assert len(new_policies(chart)) == 2


def test_a_template_with_a_text_of_the_conversion_stays(tmp_path: Path) -> None:
    odd = policy(rule(HOST_PID)) + "# ck-mark999x0xxx\n"
    chart = write_chart(tmp_path / "c", {"p.yaml": odd})
    ((_, reason),) = migrated(chart).left
    assert "marks values" in reason


def test_a_condition_within_another_counts(tmp_path: Path) -> None:
    settings = (
        "  {{- with .Values.failure }}\n  failurePolicy: {{ . }}\n  {{- end }}\n"
        "  background: {{ .Values.background }}\n"
    )
    values = "enabled: true\naction: Audit\nbackground: true\n"
    templates = {"p.yaml": policy(rule(HOST_PID), settings)}
    chart = write_chart(tmp_path / "c", templates, values)
    assert not migrated(chart).left
    (new,) = new_policies(chart)
    assert "failurePolicy" not in new["spec"]
    (ignoring,) = new_policies(chart, failure="Ignore", background=False)
    assert ignoring["spec"]["failurePolicy"] == "Ignore"
    assert ignoring["spec"]["evaluation"] == {"background": {"enabled": False}}


def test_policies_of_other_charts_stay(tmp_path: Path) -> None:
    chart = write_chart(tmp_path / "c", {"p.yaml": policy(rule(HOST_PID))})
    write_chart(chart / "charts" / "other", {"o.yaml": policy(rule(HOST_PID))})
    migration = migrated(chart)
    assert {file.name for file in migration.converted} == {"p.yaml"}
    assert all("charts" not in file.relative_to(chart).parts for file in migration.texts)


def test_an_item_decides_within_its_loop(tmp_path: Path) -> None:
    pattern = (
        "      pattern:\n        metadata:\n          labels:\n"
        "            {{- range $label := .Values.allow }}\n"
        '            {{- $parts := split "=" $label }}\n            {{- if $parts._1 }}\n'
        '            {{ $parts._0 }}: "{{ $parts._1 }}"\n            {{- else }}\n'
        '            {{ $parts._0 }}: "?*"\n            {{- end }}\n            {{- end }}\n'
    )
    chart = write_chart(tmp_path / "c", {"p.yaml": policy(rule(pattern))})
    assert not migrated(chart).left
    (new,) = new_policies(chart, allow=["a=b", "c"])
    first, second = (each["expression"] for each in new["spec"]["validations"])
    assert '"b"' in first.replace("'", '"')
    assert "!= ''" in second


def test_a_policy_without_values_by_default_is_proved_with_some(tmp_path: Path) -> None:
    pattern = (
        "      pattern:\n        metadata:\n          labels:\n"
        '            {{- range .Values.allow }}\n            {{ . }}: "?*"\n'
        "            {{- end }}\n"
    )
    values = "enabled: false\naction: Audit\nallow: []\n"
    chart = write_chart(tmp_path / "c", {"p.yaml": policy(rule(pattern))}, values)
    assert not migrated(chart).left
    (new,) = new_policies(chart, enabled=True, allow=["a.b/c"])
    assert len(new["spec"]["validations"]) == 1


def test_a_policy_for_one_text_of_a_value_is_proved_with_it(tmp_path: Path) -> None:
    text = policy(rule(HOST_PID)).replace(".Values.enabled", 'eq .Values.provider "aws"')
    chart = write_chart(tmp_path / "c", {"p.yaml": text}, 'provider: ""\naction: enforce\n')
    assert not migrated(chart).left
    assert len(new_policies(chart, provider="aws")) == 1
    assert not new_policies(chart, provider="gcp")


def test_texts_keep_the_line_breaks_at_their_end(tmp_path: Path) -> None:
    message = "    validate:\n      message: |\n        not\n        allowed\n"
    text = policy(rule(HOST_PID).replace("    validate:\n      message: not allowed\n", message))
    chart = write_chart(tmp_path / "c", {"p.yaml": text})
    assert not migrated(chart).left
    (new,) = new_policies(chart)
    assert new["spec"]["validations"][0]["message"] == "not\nallowed\n"


def test_a_text_at_the_end_of_a_template_keeps_its_line_break(tmp_path: Path) -> None:
    generated = (
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata:\n  name: p\nspec:\n  rules:\n"
        "  - name: r\n    match:\n      any:\n      - resources:\n          kinds: [Namespace]\n"
        "    generate:\n      apiVersion: v1\n      kind: ConfigMap\n      name: c\n"
        '      namespace: "{{ `{{` }}request.object.metadata.name{{ `}}` }}"\n'
        "      data:\n        data:\n          text: |\n            a\n            b\n"
    )
    chart = write_chart(tmp_path / "c", {"p.yaml": generated})
    assert not migrated(chart).left


def test_numbers_and_lists_stand_in_messages(tmp_path: Path) -> None:
    lines = (
        "      pattern:\n        spec:\n          priority: '<{{ .Values.most }}'\n"
        "          nodeName: '{{ join \" | \" .Values.allow }}'\n"
    )
    message = '{{ join ", " .Values.allow }}, below {{ .Values.most }}'
    text = policy(rule(lines).replace("not allowed", message))
    folder = write_chart(tmp_path / "c", {"p.yaml": text}, f"{VALUES}most: 100\n")
    assert not migrated(folder).left
    (new,) = new_policies(folder, allow=["x", "y"], most=7)
    assert {each["message"] for each in new["spec"]["validations"]} == {"x, y, below 7"}


@pytest.mark.parametrize("between", ["if $i", "if gt $i 0", "if ne $i 0", "if ge (add1 $i) 2"])
def test_an_index_puts_signs_between_items(tmp_path: Path, between: str) -> None:
    joined = (
        f"{{{{ range $i, $it := .Values.allow }}}}{{{{ {between} }}}} | {{{{ end }}}}{{{{ $it }}}}"
    )
    pattern = f'      pattern:\n        metadata:\n          name: "{joined}{{{{ end }}}}"\n'
    chart = write_chart(tmp_path / "c", {"p.yaml": policy(rule(pattern))})
    assert not migrated(chart).left
    (new,) = new_policies(chart, allow=["a", "b", "c"])
    assert '["a","b","c"]' in new["spec"]["validations"][0]["expression"]


def test_a_loop_over_a_map_has_its_keys(tmp_path: Path) -> None:
    pattern = (
        "      pattern:\n        metadata:\n          labels:\n"
        "            {{- range $name, $value := .Values.labels }}\n"
        "            {{ $name }}: {{ $value | quote }}\n            {{- end }}\n"
    )
    values = f"{VALUES}labels: {{team: red, tier: front}}\n"
    chart = write_chart(tmp_path / "c", {"p.yaml": policy(rule(pattern))}, values)
    assert not migrated(chart).left
    (new,) = new_policies(chart, labels={"a'b": 'c"d', "e": "f", "team": None, "tier": None})
    first, second = (each["expression"] for each in new["spec"]["validations"])
    assert first.endswith('labels[?"a\'b"].orValue(\'\') == "c\\"d")')
    assert second.endswith('labels[?"e"].orValue(\'\') == "f")')
    (new,) = new_policies(chart, labels={"team": "?*", "tier": "a*"})
    first, second = (each["expression"] for each in new["spec"]["validations"])
    assert first.endswith("labels[?\"team\"].orValue('') != '')")
    assert second.endswith('labels[?"tier"].orValue(\'\').startsWith("a"))')
    with pytest.raises(RenderError, match="labels has wildcards"):
        new_policies(chart, labels={"t*": "a", "team": "b", "tier": "c"})


def test_comments_stand_behind_the_kind_and_spaces_before_colons(tmp_path: Path) -> None:
    text = policy(rule(HOST_PID)).replace(
        "apiVersion: kyverno.io/v1\n", "apiVersion : kyverno.io/v1  # old\n"
    )
    text = text.replace("ClusterPolicy\n", "ClusterPolicy # of the cluster\n")
    chart = write_chart(tmp_path / "c", {"p.yaml": text})
    assert not migrated(chart).left
    assert len(new_policies(chart)) == 1


def test_a_policy_of_the_cluster_has_no_namespace(tmp_path: Path) -> None:
    text = policy(rule(HOST_PID)).replace(
        "spec:", "  namespace: {{ .Release.Namespace }}\nspec:", 1
    )
    chart = write_chart(tmp_path / "c", {"p.yaml": text})
    assert not migrated(chart).left
    assert "namespace" not in new_policies(chart)[0]["metadata"]


def test_a_variable_that_is_set_again_is_no_constant(tmp_path: Path) -> None:
    before = (
        '{{- $action := "Audit" }}\n{{- if .Values.strict }}\n{{- $action = "Enforce" }}\n'
        "{{- end }}\n"
    )
    text = before + policy(rule(HOST_PID)).replace(".Values.action", "$action")
    chart = write_chart(tmp_path / "c", {"p.yaml": text}, f"{VALUES}strict: false\n")
    assert not migrated(chart).left
    (new,) = new_policies(chart, strict=True)
    assert new["spec"]["validationActions"] == ["Deny"]


def test_a_policy_that_stays_keeps_no_other_from_its_form(tmp_path: Path) -> None:
    odd = rule('      pattern:\n        metadata:\n          name: "{{ .Values.name }}"\n')
    left = rule(HOST_PID, "    context:\n      {{- toYaml .Values.context | nindent 6 }}\n")
    parts = [
        policy(rules, name=name)
        for name, rules in (("good", rule(HOST_PID)), ("odd", odd), ("left", left))
    ]
    values = f"{VALUES}name: '{{{{request.namespace}}}}'\ncontext: []\n"
    chart = write_chart(tmp_path / "c", {"p.yaml": "---\n".join(parts)}, values)
    migration = migrated(chart)
    reasons = [reason for _, reason in migration.left]
    assert [reason.partition(" at ")[0] for reason in reasons] == [
        "the new form differs",
        "context from values has no form in CEL",
    ]
    kinds = [(body["kind"], body["metadata"]["name"]) for body in new_policies(chart)]
    assert sorted(kinds) == [
        ("ClusterPolicy", "left"),
        ("ClusterPolicy", "odd"),
        ("ValidatingPolicy", "good"),
    ]


def test_named_templates_of_dependencies_are_read(tmp_path: Path) -> None:
    match = '    {{- include "lib.match" . | nindent 4 }}\n'
    text = policy(rule(HOST_PID)).replace(
        "    match:\n      any:\n      - resources:\n          kinds: [Pod]\n", match
    )
    chart = write_chart(tmp_path / "c", {"p.yaml": text})
    helper = (
        '{{- define "lib.match" -}}\nmatch:\n  any:\n  - resources:\n      kinds: [Pod]\n'
        "{{- end -}}\n"
    )
    write_chart(chart / "charts" / "lib", {"_match.tpl": helper})
    assert not migrated(chart).left


def test_a_value_is_a_text_where_the_old_form_has_one(tmp_path: Path) -> None:
    labels = "labels: {a: {{ .Values.port | quote }}}"
    pattern = f"      pattern:\n        metadata:\n          {labels}\n"
    chart = write_chart(tmp_path / "c", {"p.yaml": policy(rule(pattern))}, f"{VALUES}port: 8080\n")
    migration = migrated(chart)
    assert not migration.left, migration.left
    (new,) = new_policies(chart, port=90)
    assert '== "90"' in new["spec"]["validations"][0]["expression"]


def test_a_value_that_is_true_or_false_decides(tmp_path: Path) -> None:
    pattern = "      pattern:\n        spec:\n          =(hostPID): {{ .Values.allowed }}\n"
    values = f"{VALUES}allowed: false\n"
    chart = write_chart(tmp_path / "c", {"p.yaml": policy(rule(pattern))}, values)
    assert not migrated(chart).left
    refused, allowed = (new_policies(chart, allowed=value)[0] for value in (False, True))
    assert refused["spec"]["validations"] != allowed["spec"]["validations"]
    with pytest.raises(RenderError, match="allowed is neither true nor false"):
        new_policies(chart, allowed="false")


def test_no_value_is_refused_that_the_chart_lacks(tmp_path: Path) -> None:
    pattern = (
        "      pattern:\n        spec:\n          =(hostPID): false\n"
        "          {{- if .Values.least }}\n          priority: '>{{ .Values.least }}'\n"
        "          {{- end }}\n"
    )
    chart = write_chart(tmp_path / "c", {"p.yaml": policy(rule(pattern))})
    assert not migrated(chart).left
    assert len(new_policies(chart, least=3)[0]["spec"]["validations"]) == 2


def test_policies_of_a_map_are_told_apart_by_name(tmp_path: Path) -> None:
    rules = "".join(
        f'  {{{{- {word}if eq $name "{name}" }}}}\n'
        + rule(HOST_PID.replace("hostPID", field), exclude)
        for word, name, field, exclude in (
            ("", "pid", "hostPID", ""),
            (
                "else ",
                "ipc",
                "hostIPC",
                "    {{- with $cfg.except }}\n    exclude:\n      any:\n      - resources:\n"
                "          namespaces: {{ toJson . }}\n    {{- end }}\n",
            ),
        )
    )
    text = policy(f"{rules}  {{{{- end }}}}\n", name="{{ $name }}").replace(
        ".Values.action", "$cfg.action"
    )
    text = text.replace(
        "{{- if .Values.enabled }}", "{{- range $name, $cfg := .Values.policies }}\n---"
    )
    values = "policies: {pid: {action: Audit}, ipc: {action: Audit, except: [a]}}\n"
    chart = write_chart(tmp_path / "c", {"p.yaml": text}, values)
    migration = migrated(chart)
    assert not migration.left, migration.left
    ipc, pid = new_policies(chart, policies={"ipc": {"except": ["kube-*"]}})
    assert "hostIPC" in ipc["spec"]["validations"][0]["expression"]
    assert "hostPID" in pid["spec"]["validations"][0]["expression"]
    (excluded,) = ipc["spec"]["matchConditions"]
    assert excluded["expression"] == '!((request.namespace.startsWith("kube-")))'


def test_one_of_two_conditions_is_enough(tmp_path: Path) -> None:
    condition = (
        "          {{{{- if .Values.{0} }}}}\n          =({0}): false\n          {{{{- end }}}}\n"
    )
    conditions = "".join(map(condition.format, ("hostPID", "hostIPC")))
    pattern = f"      pattern:\n        spec:\n{conditions}"
    values = f"{VALUES}hostPID: true\nhostIPC: false\n"
    chart = write_chart(tmp_path / "c", {"p.yaml": policy(rule(pattern))}, values)
    assert not migrated(chart).left
    for given, asked in (({}, "hostPID"), ({"hostPID": False, "hostIPC": True}, "hostIPC")):
        (validation,) = new_policies(chart, **given)[0]["spec"]["validations"]
        assert asked in validation["expression"]
    with pytest.raises(RenderError, match="hostPID is empty and hostIPC is empty: the pattern"):
        new_policies(chart, hostPID=False)


def test_kinds_of_values_are_named_as_the_reason(tmp_path: Path) -> None:
    text = policy(rule(HOST_PID)).replace("kinds: [Pod]", "kinds: {{ toJson .Values.allow }}")
    chart = write_chart(tmp_path / "c", {"p.yaml": text})
    ((_, reason),) = migrated(chart).left
    assert reason == "kinds from values have no form in CEL"


def test_values_in_generated_texts_are_no_expressions(tmp_path: Path) -> None:
    template = policy(_GENERATED.replace("QUOTED", "{{ .Values.pods }}"))
    folder = write_chart(tmp_path / "c", {"p.yaml": template}, f"{VALUES}pods: ten\n")
    assert not migrated(folder).left
    (new,) = new_policies(folder, allow=["team-*"])
    assert "startsWith" in new["spec"]["matchConditions"][0]["expression"]
    with pytest.raises(RenderError, match="pods has what begins an expression"):
        new_policies(folder, pods="((request.userInfo))")


def test_a_duration_is_compared_as_one(tmp_path: Path) -> None:
    text = (
        "apiVersion: kyverno.io/v2\nkind: ClusterCleanupPolicy\nmetadata:\n  name: old\nspec:\n"
        "  schedule: {{ .Values.schedule | quote }}\n  match:\n    any:\n    - resources:\n"
        "        kinds: [Job]\n  conditions:\n    all:\n    - key: \"{{ `{{ time_since('', "
        "'{{ target.metadata.creationTimestamp }}', '') }}` }}\"\n      operator: GreaterThan\n"
        "      value: {{ .Values.age }}\n"
    )
    chart = write_chart(tmp_path / "c", {"p.yaml": text}, "schedule: 0 * * * *\nage: 24h\n")
    assert not migrated(chart).left
    (new,) = new_policies(chart, age="30m")
    assert new["spec"]["conditions"][0]["expression"].endswith('< time.now() - duration("30m")')
    with pytest.raises(RenderError, match="age has characters that no duration has"):
        new_policies(chart, age="a day")


@from_table("function", "message")
def test_a_message_is_in_quotes_once(tmp_path: Path, function: str, message: str) -> None:
    text = policy(rule(HOST_PID)).replace("not allowed", f"{{{{ .Values.text | {function} }}}}")
    chart = write_chart(tmp_path / "c", {"p.yaml": text}, f"{VALUES}text: refused\n")
    assert not migrated(chart).left
    (new,) = new_policies(chart, text=message)
    assert new["spec"]["validations"][0]["message"] == message


LABEL = '      pattern:\n        metadata:\n          labels:\n            team: "?*"\n'


@from_table("kinds")
def test_kinds_of_values_are_kinds_of_the_new_form(tmp_path: Path, kinds: str) -> None:
    text = policy(rule(LABEL).replace("kinds: [Pod]", kinds))
    values = f"{VALUES}kinds: [Deployment, Namespace]\n"
    chart = write_chart(tmp_path / "c", {"p.yaml": text}, values)
    assert not migrated(chart).left
    ((first, second),) = [
        new["spec"]["matchConstraints"]["resourceRules"] for new in new_policies(chart)
    ]
    assert (first["apiGroups"], first["resources"]) == (["apps"], ["deployments"])
    assert second["resources"] == ["namespaces"]
    with pytest.raises(RenderError, match="kinds is empty, or has Pod"):
        new_policies(chart, kinds=["Pod"])
    with pytest.raises(RenderError, match="a kind that _policy-types"):
        new_policies(chart, kinds=["Certificate"])


def test_operations_of_values_are_operations_of_the_new_form(tmp_path: Path) -> None:
    asked = "kinds: [Service]\n          operations: {{ toJson .Values.operations }}"
    text = policy(rule(LABEL).replace("kinds: [Pod]", asked))
    chart = write_chart(tmp_path / "c", {"p.yaml": text}, f"{VALUES}operations: [CREATE]\n")
    assert not migrated(chart).left
    (new,) = new_policies(chart, operations=["UPDATE"])
    assert new["spec"]["matchConstraints"]["resourceRules"][0]["operations"] == ["UPDATE"]
    with pytest.raises(RenderError, match="operations is empty, or has others than CREATE, UPDATE"):
        new_policies(chart, operations=["DELETE"])


def test_a_named_template_knows_the_field_that_it_fills(tmp_path: Path) -> None:
    text = policy(rule(HOST_PID)).replace("{{ .Values.action }}", '{{ include "action" . }}')
    helper = '{{- define "action" -}}\n{{- default "Audit" .Values.action -}}\n{{- end -}}\n'
    chart = write_chart(tmp_path / "c", {"p.yaml": text, "_helpers.tpl": helper})
    assert not migrated(chart).left
    (enforced,) = new_policies(chart, action="Enforce")
    assert enforced["spec"]["validationActions"] == ["Deny"]


@from_table("labels")
def test_labels_of_values_are_set(tmp_path: Path, labels: str) -> None:
    text = policy(rule("").partition("    validate:")[0].replace("Pod", "Service"))
    text = text.replace(
        "{{- end }}",
        "    mutate:\n      patchStrategicMerge:\n        metadata:\n          labels:\n"
        f"            {labels}\n{{{{- end }}}}",
    ).replace("  validationFailureAction: {{ .Values.action }}\n", "")
    chart = write_chart(tmp_path / "c", {"p.yaml": text}, "enabled: true\nlabels: {a: b, c: d}\n")
    assert not migrated(chart).left
    (new,) = new_policies(chart, labels={"a": None, "e/f": "g", "h": "i", "c": "d"})
    expression = new["spec"]["mutations"][0]["applyConfiguration"]["expression"]
    assert "".join(expression.split()).endswith('labels:{"c":"d","e/f":"g","h":"i"}}}')


def test_text_of_values_that_is_a_policy_is_named(tmp_path: Path) -> None:
    text = policy("").partition("spec:")[0] + "spec:\n  {{- tpl .Values.spec . | nindent 2 }}\n"
    values = f"{VALUES}spec: |\n  rules: []\n"
    chart = write_chart(tmp_path / "c", {"p.yaml": f"{text}{{{{- end }}}}\n"}, values)
    ((place, reason),) = migrated(chart).left
    assert place.line == 7
    assert reason.endswith("is a part of the policy as text")


KEY = "-----BEGIN PUBLIC KEY-----\\nMFkwEwYHKoZIzj0CAQYI\\n-----END PUBLIC KEY-----"


@from_table("references")
def test_image_references_come_from_values(tmp_path: Path, references: str) -> None:
    images = (
        f"    verifyImages:\n    - imageReferences:{references}\n      mutateDigest: false\n"
        "      attestors:\n      - entries:\n        - keys:\n            publicKeys: |-\n"
        "              {{- .Values.key | nindent 14 }}\n"
    )
    rules = rule("").partition("    validate:")[0] + images
    values = f'{VALUES}registry: ghcr.io\nimages: ["ghcr.io/*"]\nkey: "{KEY}"\n'
    chart = write_chart(tmp_path / "c", {"p.yaml": policy(rules)}, values)
    assert not migrated(chart).left
    (new,) = new_policies(chart)
    assert new["spec"]["matchImageReferences"] == [{"glob": "ghcr.io/*"}]
    assert "MFkwEwYHKoZIzj0CAQYI" in new["spec"]["attestors"][0]["cosign"]["key"]["data"]
    with pytest.raises(RenderError, match="which this form of the policy does not read"):
        new_policies(chart, images=["nginx"], registry="nginx")
    with pytest.raises(RenderError, match="key is no public key in PEM"):
        new_policies(chart, key="k8s://x/y")


def test_a_level_of_values_is_one_of_two(tmp_path: Path) -> None:
    standard = "      podSecurity:\n        level: {{ .Values.level }}\n        version: latest\n"
    rules = rule(standard).replace("      message: not allowed\n", "")
    chart = write_chart(tmp_path / "c", {"p.yaml": policy(rules)}, f"{VALUES}level: baseline\n")
    assert not migrated(chart).left
    text = (chart / "templates" / "p.yaml").read_text()
    assert text.count('.Values.level "restricted"') == 2
    ((baseline,), (restricted,)) = (
        new_policies(chart, level=level) for level in ("baseline", "restricted")
    )
    assert len(baseline["spec"]["validations"]) < len(restricted["spec"]["validations"])
    with pytest.raises(RenderError, match="level is neither baseline nor restricted"):
        new_policies(chart, level="privileged")


def test_lines_of_a_generated_text_are_repeated(tmp_path: Path) -> None:
    generate = (
        "    generate:\n      apiVersion: networking.k8s.io/v1\n      kind: NetworkPolicy\n"
        "      name: deny\n      namespace: x\n      data:\n        spec:\n"
        "          podSelector: {}\n"
        "          egress:\n          - ports:\n            {{- range .Values.ports }}\n"
        "            - port: {{ . }}\n              protocol: UDP\n            {{- end }}\n"
    )
    rules = rule("").partition("    validate:")[0].replace("Pod", "Namespace") + generate
    text = policy(rules).replace("  validationFailureAction: {{ .Values.action }}\n", "")
    values = f"{VALUES}ports: [53, 5353]\n"
    chart = write_chart(tmp_path / "c", {"p.yaml": text}, values)
    assert not migrated(chart).left
    (new,) = new_policies(chart, ports=[1, 2, 3])
    generated = new["spec"]["generate"][0]["template"]["value"]
    assert [line.strip() for line in generated.splitlines() if "port:" in line] == [
        "- port: 1",
        "- port: 2",
        "- port: 3",
    ]


def test_blocks_of_one_condition_that_follow_each_other_are_one() -> None:
    lines = tables(__file__)["lines"]
    assert merged(lines) == [*lines[:2], *lines[4:]]


@from_table("head", "row")
def test_tables_of_values_get_a_row_in_their_own_columns(
    tmp_path: Path, head: str, row: str
) -> None:
    chart = write_chart(tmp_path / "c", {"p.yaml": policy(rule(HOST_PID))})
    rule_of = "|---" * (head.count("|") - 1) + "|"
    lines = [head, rule_of, f"| `action` {'| x ' * (head.count('|') - 2)}|"]
    (chart / "README.md").write_text("\n".join(["# c", "", *lines, "", "## License"]))
    migrated(chart)
    written = (chart / "README.md").read_text().split("\n")
    assert written[:5] == ["# c", "", *lines]
    assert written[5].startswith(row)
    assert written[5].count("|") == head.count("|")
    assert written[6:] == ["", "## License"]


def test_a_version_of_values_is_the_latest(tmp_path: Path) -> None:
    standard = (
        "      podSecurity:\n        level: baseline\n        version: {{ .Values.version }}\n"
    )
    rules = rule(standard).replace("      message: not allowed\n", "")
    chart = write_chart(tmp_path / "c", {"p.yaml": policy(rules)}, f"{VALUES}version: latest\n")
    assert not migrated(chart).left
    with pytest.raises(RenderError, match="version is another version than latest"):
        new_policies(chart, version="v1.25")


def test_comments_of_values_are_as_the_others(tmp_path: Path) -> None:
    values = "## @param enabled Switch\nenabled: true\n## @param action Action\naction: Audit\n"
    chart = write_chart(tmp_path / "c", {"p.yaml": policy(rule(HOST_PID))}, values)
    migrated(chart)
    text = (chart / "values.yaml").read_text()
    assert "## @param policyType Form of the policies: " in text
    assert "# -- " not in text


def test_conditions_that_count_together_are_written_together(tmp_path: Path) -> None:
    settings = "  {{- if and .Values.a .Values.b }}\n  failurePolicy: Ignore\n  {{- end }}\n"
    more = "          {{- if .Values.b }}\n          {{- if .Values.a }}\n"
    pattern = f"{HOST_PID}{more}          =(hostIPC): false\n          {{{{- end }}}}\n"
    template = policy(rule(f"{pattern}          {{{{- end }}}}\n"), settings)
    chart = write_chart(tmp_path / "c", {"p.yaml": template}, f"{VALUES}a: false\nb: false\n")
    assert migrated(chart).left == []
    assert "{{- else if and .Values.a .Values.b }}" in (chart / "templates/p.yaml").read_text()
    for values, messages in (({"a": True}, 1), ({"b": True}, 1), ({"a": True, "b": True}, 2)):
        (new,) = new_policies(chart, **values)
        assert len(new["spec"]["validations"]) == messages
        assert (new["spec"].get("failurePolicy") == "Ignore") == (messages == 2)


def test_a_value_may_be_a_pattern_with_wildcards(tmp_path: Path) -> None:
    pattern = "      pattern:\n        metadata:\n          labels:\n"
    pattern += "            {{ .Values.key }}: c-{{ .Values.cost }}\n"
    values = f"{VALUES}cost: '????'\nkey: cost-center\n"
    chart = write_chart(tmp_path / "c", {"p.yaml": policy(rule(pattern))}, values)
    assert migrated(chart).left == []
    (new,) = new_policies(chart, cost="1*")
    assert '.startsWith("c-1")' in new["spec"]["validations"][0]["expression"]
    with pytest.raises(RenderError, match="key has wildcards"):
        new_policies(chart, key="t*")


def test_sizes_of_values_are_put_in_order(tmp_path: Path) -> None:
    deny = (
        "      deny:\n        conditions:\n          all:\n          - key: '{{ `{{ "
        "request.object.spec.resources.requests.storage }}` }}'\n"
        "            operator: GreaterThan\n            value: {{ .Values.most | quote }}\n"
    )
    template = policy(rule(deny).replace("[Pod]", "[PersistentVolumeClaim]"))
    chart = write_chart(tmp_path / "c", {"p.yaml": template}, f"{VALUES}most: 100Gi\n")
    assert migrated(chart).left == []
    (new,) = new_policies(chart, most="5Ti")
    assert 'quantity("5Ti")' in new["spec"]["validations"][0]["expression"]


def test_a_value_that_ends_a_long_line_is_not_refused(tmp_path: Path) -> None:
    rules = (
        "  - name: r\n    match: {any: [{resources: {kinds: [Pod]}}]}\n    mutate:\n"
        "      patchStrategicMerge:\n        spec:\n          dnsConfig:\n            options:\n"
        "            - name: ndots\n              value: {{ .Values.ndots | quote }}\n"
    )
    chart = write_chart(tmp_path / "c", {"p.yaml": policy(rules)}, f"{VALUES}ndots: '2'\n")
    assert migrated(chart).left == []
    assert (
        'value: "3*"'
        in new_policies(chart, ndots="3*")[0]["spec"]["mutations"][0]["applyConfiguration"][
            "expression"
        ]
    )


def test_a_named_template_may_print_the_whole_policy(tmp_path: Path) -> None:
    body = policy("    {{- .rules | nindent 2 }}\n", name="{{ .name }}").split("\n", 1)[1]
    body = body.replace(".Values.action", "$root.Values.action").removesuffix("{{- end }}\n")
    body = body.replace("metadata:\n", "metadata:\n  labels: {set: {{ $.set }}}\n")
    helper = (
        f'{{{{- define "small.policy" -}}}}\n{{{{- $root := .root -}}}}\n{body}{{{{- end }}}}\n'
    )
    rules = rule(HOST_PID).replace("\n  ", "\n")[2:]
    helper += f'{{{{- define "small.rules" -}}}}\n{rules}{{{{- end }}}}\n'
    call = '(dict "root" . "name" "a" "set" "b" "rules" (include "small.rules" .))'
    text = f'---\n{{{{ include "small.policy" {call} }}}}\n'
    chart = write_chart(tmp_path / "c", {"_p.tpl": helper, "p.yaml": text})
    ((_, reason),) = migrated(chart, write=False).left
    assert reason == '$ in "small.policy" is the argument of the include'
    (chart / "templates/_p.tpl").write_text(helper.replace("$.set", ".set"))
    before = render(chart, {}, TARGET)
    assert migrated(chart).left == []
    assert render(chart, {}, TARGET)["templates/p.yaml"] == before["templates/p.yaml"]
    assert '{{- with dict "name" "a" "set" "b" }}' in (chart / "templates/p.yaml").read_text()
    (new,) = new_policies(chart, action="Enforce")
    assert new["metadata"] == {"name": "a", "labels": {"set": "b"}}
    assert new["spec"]["validationActions"] == ["Deny"]
    assert migrated(chart, write=False).has(Location(str(chart / "templates/p.yaml")))


@from_table("one", "other")
def test_expressions_that_say_the_same_have_one_normal_form(one: str, other: str) -> None:
    assert normal(one) == normal(other)
