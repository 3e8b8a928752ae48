{{/* Helpers that decide the form of a policy (policyType). Do not edit or override them: values are the interface. */}}
{{/*
Which form the policies have: policyType, or what the Kyverno version asks for.
*/}}

{{/* The form that is asked for: ValidatingPolicy from Kyverno 1.17 on where nobody says. */}}
{{- define "kyverno-policies.type" -}}
{{- if .Values.policyType -}}
{{- .Values.policyType -}}
{{- else -}}
{{- ge (include "kyverno-policies.release" . | int) 1017 | ternary "ValidatingPolicy" "ClusterPolicy" -}}
{{- end -}}
{{- end -}}

{{/*
The form that one policy gets; of both the one that acts. Takes root and name. A policy that the library has in no such form
comes as ClusterPolicy, one whose CEL an API server has not as ValidatingPolicy where Kyverno serves
that, and an upstream policy in the form of its file; NOTES says so.
*/}}
{{- define "kyverno-policies.form" -}}
{{- $type := include "kyverno-policies.type" .root -}}
{{- $about := include "kyverno-policies.about" . | fromJson -}}
{{- $kind := $about.cel -}}
{{- $clusterKind := eq (toString $about.cleanup) "true" | ternary "CleanupPolicy" "ClusterPolicy" -}}
{{- if $about.upstream -}}
{{- $about.form -}}
{{- else if or (not $kind) (has $type (list "ClusterPolicy" "both")) -}}
{{- $clusterKind -}}
{{- else if and (eq $type "ValidatingAdmissionPolicy") (ne $kind "ValidatingPolicy") -}}
{{- $clusterKind -}}
{{- else if and (eq $type "ValidatingAdmissionPolicy") $about.asksKyverno -}}
{{- ge (include "kyverno-policies.release" .root | int) 1014 | ternary "ValidatingPolicy" $clusterKind -}}
{{- else -}}
{{- $type -}}
{{- end -}}
{{- end -}}

{{/*
"true" where a ValidatingPolicy in Audit stands next to the ClusterPolicy (policyType: both). Policies
that change or generate objects, or verify images, would do so twice.
*/}}
{{- define "kyverno-policies.doubled" -}}
{{- $about := include "kyverno-policies.about" . | fromJson -}}
{{- and (eq (include "kyverno-policies.type" .root) "both") (not $about.upstream) (eq (toString $about.cel) "ValidatingPolicy") -}}
{{- end -}}

{{/* vpolExclude and vpolExcludeByPolicy as exclude blocks, as far as they can be: a JSON list. */}}
{{- define "kyverno-policies.vpolFilters" -}}
{{- $any := list -}}
{{- range compact (list .root.Values.vpolExclude (index (.root.Values.vpolExcludeByPolicy | default dict) .name)) -}}
{{- with .excludeNamespaces -}}
{{- $any = append $any (dict "resources" (dict "namespaces" .)) -}}
{{- end -}}
{{- with .excludeSubjects -}}
{{- $any = append $any (dict "subjects" .) -}}
{{- end -}}
{{- end -}}
{{- if $any -}}{{- list (dict "any" $any) | toJson -}}{{- else -}}[]{{- end -}}
{{- end -}}

{{/* vpolExclude and vpolExcludeByPolicy.NAME: the items of one of their lists, as JSON. Takes key too. */}}
{{- define "kyverno-policies.vpolItems" -}}
{{- $key := .key -}}
{{- $found := list -}}
{{- range list .root.Values.vpolExclude (index (.root.Values.vpolExcludeByPolicy | default dict) .name) -}}
{{- $found = concat $found (index (. | default dict) $key | default list) -}}
{{- end -}}
{{- toJson $found -}}
{{- end -}}

{{/*
The policy's match conditions in CEL that values give, as JSON. Rules have none of their own in
this list: they stand under the rule's name.
*/}}
{{- define "kyverno-policies.matchConditions" -}}
{{- $byPolicy := index (.root.Values.policyMatchConditions | default dict) .name -}}
{{- $excluding := include "kyverno-policies.vpolItems" (merge (dict "key" "matchConditions") .) | fromJsonArray -}}
{{- concat $excluding (.own.matchConditions | default $byPolicy | default list) | toJson -}}
{{- end -}}

{{/* Fails where values say of a ClusterPolicy what only a policy in CEL can hold. */}}
{{- define "kyverno-policies.refuseCel" -}}
{{- $why := "is for policies in CEL (policyType ValidatingPolicy or ValidatingAdmissionPolicy), and this one comes as ClusterPolicy" -}}
{{- $given := list -}}
{{- $all := has (include "kyverno-policies.type" .root) (list "ClusterPolicy" "both") -}}
{{- $values := .root.Values -}}
{{- if or .own.auditAnnotations (index ($values.auditAnnotationsByPolicy | default dict) .name) (and $all $values.auditAnnotations) -}}
{{- $given = append $given "auditAnnotations" -}}
{{- end -}}
{{- $excluding := list (index ($values.vpolExcludeByPolicy | default dict) .name) ($all | ternary $values.vpolExclude nil) -}}
{{- range compact $excluding -}}
{{- if or .excludeResourceRules .matchConditions -}}
{{- $given = append $given "vpolExclude with excludeResourceRules or matchConditions" -}}
{{- end -}}
{{- end -}}
{{- $conditions := list .own.matchConditions (index ($values.policyMatchConditions | default dict) .name) -}}
{{- range .policy.spec.rules -}}
{{- $conditions = append $conditions (index ($values.policyMatchConditions | default dict) .name) -}}
{{- end -}}
{{- if compact $conditions -}}
{{- $given = append $given "matchConditions (give policyPreconditions)" -}}
{{- end -}}
{{- with $given -}}
{{- fail (printf "policy %s: %s %s" $.name (first .) $why) -}}
{{- end -}}
{{- end -}}

{{/*
Fails where values say of a policy in CEL what only a ClusterPolicy can hold. Takes rules: the
names of the policy's rules.
*/}}
{{- define "kyverno-policies.refusePlain" -}}
{{- $preconditions := .root.Values.policyPreconditions | default dict -}}
{{- $given := list .own.preconditions (index $preconditions .name) -}}
{{- range .rules -}}
{{- $given = append $given (index $preconditions .) -}}
{{- end -}}
{{- if compact $given -}}
{{- fail (printf (print "policy %s: policyPreconditions are written in JMESPath, which a policy in "
  "CEL cannot hold; give policyMatchConditions, or set policyType: ClusterPolicy") .name) -}}
{{- end -}}
{{- $background := ternary .own.background .root.Values.background (hasKey .own "background") -}}
{{- if and (eq .form "ValidatingAdmissionPolicy") (eq (toString $background) "false") -}}
{{- fail (printf (print "policy %s: background: false is for Kyverno's policies: the API server "
  "looks at requests alone, so that a ValidatingAdmissionPolicy has no background scan to switch off")
  .name) -}}
{{- end -}}
{{- end -}}
