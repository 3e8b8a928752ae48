{{/* Helpers that fit the fields of a policy to the Kyverno version. Do not edit or override them: values are the interface. */}}
{{/*
data/fields.json has the fields of a ClusterPolicy's spec, data/cel.json those of the kinds in CEL,
by the Kyverno version that brought them (since: 1012 for 1.12). default: what the API server writes
where they are missing; without: the value that an older version, which drops them, has anyway;
optional: an older version may go without them.
*/}}

{{/*
Writes the defaults of a policy's fields out, and takes out what its Kyverno does not have. Takes,
beside the policy, fields: the rows.
*/}}
{{- define "kyverno-policies.applyFields" -}}
{{- $call := . -}}
{{- range .fields -}}
{{- if or (lt $call.release (int .since)) (hasKey . "default") -}}
{{- include "kyverno-policies.applyField" (dict "node" $call.policy.spec "steps" .path "field" .
  "release" $call.release "name" $call.name) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* One field, below a node: steps are the keys still to go, `*` every item of a list or value of a map. */}}
{{- define "kyverno-policies.applyField" -}}
{{- $call := . -}}
{{- $step := first .steps -}}
{{- $rest := rest .steps -}}
{{- if eq $step "*" -}}
{{- if or (kindIs "slice" .node) (kindIs "map" .node) -}}
{{- range .node -}}
{{- include "kyverno-policies.applyField" (dict "node" . "steps" $rest "field" $call.field "release" $call.release "name" $call.name) -}}
{{- end -}}
{{- end -}}
{{- else if not (kindIs "map" .node) -}}
{{- else if $rest -}}
{{- if hasKey .node $step -}}
{{- include "kyverno-policies.applyField" (dict "node"
  (index .node $step) "steps" $rest "field" .field "release" .release "name" .name) -}}
{{- end -}}
{{- else if hasKey .node $step -}}
{{- if lt .release (int .field.since) -}}
{{- if or .field.optional (and (hasKey .field "without") (eq (toJson .field.without) (toJson (index .node $step)))) -}}
{{- $_ := unset .node $step -}}
{{- else -}}
{{- $path := join "." .field.path | replace ".*" "[]" -}}
{{- fail (printf (print "policy %s: spec.%s needs Kyverno %s; the version here would drop it "
  "without a word (kyvernoVersion)") .name $path .field.version) -}}
{{- end -}}
{{- end -}}
{{- else if and (hasKey .field "default") (ge .release (int .field.since)) -}}
{{- $_ := set .node $step .field.default -}}
{{- end -}}
{{- end -}}
