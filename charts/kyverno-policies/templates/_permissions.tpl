{{/* Helpers for the permissions that policies need. Do not edit or override them: values are the interface. */}}
{{/*
data/permissions.json has, by policy, what Kyverno's controllers need for it beyond what Kyverno's
chart gives them: clusterPolicy for its ClusterPolicy, cel for its form in CEL. scan: only background scans
need it; guessed: the kind whose resource is named as Kubernetes would guess.
*/}}

{{/* What the policy needs in the form that it gets, as a JSON list; nothing where it is not installed. */}}
{{- define "kyverno-policies.permissionsOf" -}}
{{- $found := list -}}
{{- $form := include "kyverno-policies.form" . -}}
{{- if and (ne $form "ValidatingAdmissionPolicy") (eq
  (include "kyverno-policies.enabled" .) "true") (include "kyverno-policies.body" .) -}}
{{- $own := include "kyverno-policies.own" . | fromJson -}}
{{- $background := ternary $own.background .root.Values.background (hasKey $own "background") -}}
{{- $needed := index .needed (has $form (list "ClusterPolicy" "CleanupPolicy") | ternary "clusterPolicy" "cel") -}}
{{- if eq (include "kyverno-policies.doubled" .) "true" -}}
{{- $needed = concat $needed .needed.cel -}}
{{- end -}}
{{- range $needed -}}
{{- if not (and .scan (eq (toString $background) "false")) -}}
{{- $found = append $found . -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toJson $found -}}
{{- end -}}

{{/*
What the installed policies need, as JSON: by controller, by `group/resource`, the rule: group,
resource, verbs, guessed.
*/}}
{{- define "kyverno-policies.permissions" -}}
{{- $root := . -}}
{{- $controllers := dict -}}
{{- range $name, $needed := .Files.Get "data/permissions.json" | fromJson -}}
{{- range include "kyverno-policies.permissionsOf" (dict "root" $root "name" $name "needed" $needed) | fromJsonArray -}}
{{- if not (hasKey $controllers .controller) -}}
{{- $_ := set $controllers .controller dict -}}
{{- end -}}
{{- $rules := get $controllers .controller -}}
{{- $key := printf "%s/%s" .group .resource -}}
{{- $rule := get $rules $key | default (dict "group" .group "resource" .resource "verbs" list "guessed" (.guessed | default "")) -}}
{{- $_ := set $rule "verbs" (concat $rule.verbs .verbs | uniq | sortAlpha) -}}
{{- $_ := set $rules $key $rule -}}
{{- end -}}
{{- end -}}
{{- toJson $controllers -}}
{{- end -}}
