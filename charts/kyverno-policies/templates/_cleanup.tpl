{{/* Helpers that render policies that delete on a schedule. Do not edit or override them: values are the interface. */}}
{{/*
A policy that deletes on a schedule, as kyverno.io has it: a ClusterCleanupPolicy, or CleanupPolicy
for one namespace. Its text, with its metadata and with what values exclude and ask before.
*/}}
{{- define "kyverno-policies.renderCleanup" -}}
{{- $text := include "kyverno-policies.body" . -}}
{{- if $text -}}
{{- $call := merge (dict "policy" (include "kyverno-policies.object"
  (dict "name" .name "text" $text) | fromJson) "release"
  (include "kyverno-policies.release" .root | int)) (include "kyverno-policies.call" . | fromJson) . -}}
{{- include "kyverno-policies.requireVersion" $call -}}
{{- include "kyverno-policies.refuseCel" $call -}}
{{- $values := .root.Values -}}
{{- if eq $values.policyKind "Policy" -}}
{{- $_ := set $call.policy "kind" "CleanupPolicy" -}}
{{- end -}}
{{- include "kyverno-policies.describe" (merge (dict "namespaced" (eq $call.policy.kind "CleanupPolicy") "annotations" dict) $call) -}}
{{- $spec := $call.policy.spec -}}
{{- $own := $call.own.exclude | default (index ($values.policyExclude | default dict) .name) -}}
{{- $given := compact (concat (list $values.exclude $own) (include "kyverno-policies.vpolFilters" . | fromJsonArray)) -}}
{{- range $block := $given -}}
{{- range concat (list $block) ($block.any | default list) ($block.all | default list) -}}
{{- include "kyverno-policies.refuseRequests" (dict "name" $.name "filter" .) -}}
{{- end -}}
{{- end -}}
{{- if $given -}}
{{- $joined := include "kyverno-policies.joinExcludes" (dict "blocks" (prepend $given $spec.exclude) "name" .name "rule" "spec") -}}
{{- $_ := set $spec "exclude" (fromJson $joined) -}}
{{- end -}}
{{- with $call.own.preconditions | default (index ($values.policyPreconditions | default dict) .name) -}}
{{- $joined := include "kyverno-policies.joinPreconditions" (dict "blocks" (list $spec.conditions .) "name" $.name "rule" "spec") -}}
{{- $_ := set $spec "conditions" (fromJson $joined) -}}
{{- end -}}
{{- toYaml $call.policy -}}
{{- end -}}
{{- end -}}

{{/*
Fails where a filter asks for what only requests have: what is deleted on a schedule comes with no
request, so that the filter would keep nothing. Takes name and filter.
*/}}
{{- define "kyverno-policies.refuseRequests" -}}
{{- if or .filter.subjects .filter.roles .filter.clusterRoles -}}
{{- fail (printf "policy %s: users, groups and roles are excluded from it, and what deletes on a schedule knows of no user" .name) -}}
{{- else if (.filter.resources | default dict).operations -}}
{{- fail (printf "policy %s: operations are excluded from it, and what deletes on a schedule looks at no request" .name) -}}
{{- end -}}
{{- end -}}
