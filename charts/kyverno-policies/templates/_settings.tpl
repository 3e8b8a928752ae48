{{/* Helpers that read the settings of a policy from the values. Do not edit or override them: values are the interface. */}}
{{/*
What the values say of one policy. Each takes root (the chart's context) and name (the policy's).
The nearest word counts: policies.NAME, then the value ending in ByPolicy, then the one for all.
*/}}

{{/*
What the chart knows of the policy, as JSON. group: baseline, restricted or another category;
standard: whether it is a control of the Pod Security Standards; minimum: the oldest Kyverno that
has its fields; upstream: whether it is an upstream policy (without metadata.yaml), whose own fields stay
where values do not name it (then form: its form in the chart, kind, apiGroup, code: whether it has
Helm code, bindings: their number); cel: the kind of its form in CEL, with
celMinimum and pods (whether it speaks of Pods alone, so that it is extended to their controllers);
shared: the parameters that `parameters` sets; defaults; annotations.
*/}}
{{- define "kyverno-policies.about" -}}
{{- include (printf "kyverno-policies.about.%s" .name) .root -}}
{{- end -}}

{{/* policies.NAME as JSON, an empty object where there is none. */}}
{{- define "kyverno-policies.own" -}}
{{- index (.root.Values.policies | default dict) .name | default dict | toJson -}}
{{- end -}}

{{/* "true" where the policy is installed. */}}
{{- define "kyverno-policies.enabled" -}}
{{- $values := .root.Values -}}
{{- $own := include "kyverno-policies.own" . | fromJson -}}
{{- $group := (include "kyverno-policies.about" . | fromJson).group -}}
{{- $standard := $values.podSecurityStandard | default "baseline" -}}
{{- $listed := and (eq $standard "custom") (has .name ($values.podSecurityPolicies | default list)) -}}
{{- if kindIs "bool" $own.enabled -}}
{{- $own.enabled -}}
{{- else if eq $group "baseline" -}}
{{- or $listed (has $standard (list "baseline" "restricted")) -}}
{{- else if eq $group "restricted" -}}
{{- or $listed (eq $standard "restricted") (has .name ($values.includeRestrictedPolicies | default list)) -}}
{{- else -}}
{{- has .name ($values.includeOtherPolicies | default list) -}}
{{- end -}}
{{- end -}}

{{/* An action as Kyverno writes it now: Audit or Enforce. Takes the text. */}}
{{- define "kyverno-policies.canonicalAction" -}}
{{- $action := title (lower .) -}}
{{- if eq $action "Force" -}}
{{- fail (printf "'%s' is not an action; did you mean Enforce?" .) -}}
{{- else if not (has $action (list "Audit" "Enforce")) -}}
{{- fail (printf "'%s' is not an action; it is Audit or Enforce" .) -}}
{{- end -}}
{{- $action -}}
{{- end -}}

{{/*
The policy's action, Audit or Enforce. Empty for an upstream policy that keeps its own:
validationFailureAction counts for it only where keepOwnActions is false.
*/}}
{{- define "kyverno-policies.action" -}}
{{- $own := include "kyverno-policies.own" . | fromJson -}}
{{- $byPolicy := index (.root.Values.validationFailureActionByPolicy | default dict) .name -}}
{{- $upstream := not (empty (include "kyverno-policies.about" . | fromJson).upstream) -}}
{{- $keeps := and $upstream (ne (toString .root.Values.keepOwnActions) "false") -}}
{{- with coalesce $own.action $byPolicy (ternary "" .root.Values.validationFailureAction $keeps) (ternary "" "Audit" $keeps) -}}
{{- include "kyverno-policies.canonicalAction" . -}}
{{- end -}}
{{- end -}}

{{/*
The policy's actions by namespace as a JSON list, of which the first that fits counts: its own, those
for all policies, then upstream's own.
*/}}
{{- define "kyverno-policies.actionOverrides" -}}
{{- $own := include "kyverno-policies.own" . | fromJson -}}
{{- $overrides := .root.Values.validationFailureActionOverrides | default dict -}}
{{- $specific := ternary (index $overrides .name | default list) list (empty $own.actionOverrides) -}}
{{- $result := list -}}
{{- $decided := list -}}
{{- range concat ($own.actionOverrides | default list) ($overrides.all | default list) $specific -}}
{{- $action := include "kyverno-policies.canonicalAction" .action -}}
{{- $override := merge (dict "action" $action) . -}}
{{- /* Kyverno refuses a ClusterPolicy with two actions for one namespace. */ -}}
{{- $names := list -}}
{{- range .namespaces -}}
{{- if not (has . $decided) -}}
{{- $names = append $names . -}}
{{- end -}}
{{- end -}}
{{- if .namespaces -}}
{{- $_ := set $override "namespaces" $names -}}
{{- if not .namespaceSelector -}}
{{- $decided = concat $decided $names -}}
{{- end -}}
{{- end -}}
{{- if or $names (not .namespaces) -}}
{{- $result = append $result $override -}}
{{- end -}}
{{- end -}}
{{- toJson $result -}}
{{- end -}}

{{/* The policy's severity; takes the policy's own as severity. Empty: no annotation. */}}
{{- define "kyverno-policies.severity" -}}
{{- $own := include "kyverno-policies.own" . | fromJson -}}
{{- $byPolicy := .root.Values.podSecuritySeverityByPolicy | default dict -}}
{{- if hasKey $own "severity" -}}
{{- $own.severity -}}
{{- else if hasKey $byPolicy .name -}}
{{- index $byPolicy .name -}}
{{- else if (include "kyverno-policies.about" . | fromJson).standard -}}
{{- .root.Values.podSecuritySeverity | default .severity -}}
{{- else -}}
{{- .severity -}}
{{- end -}}
{{- end -}}

{{/*
The policy's parameters as JSON: policies.NAME.parameters, then shared ones from `parameters`, then
the defaults.
*/}}
{{- define "kyverno-policies.parameters" -}}
{{- $own := include "kyverno-policies.own" . | fromJson -}}
{{- $about := include "kyverno-policies.about" . | fromJson -}}
{{- $shared := dict -}}
{{- range $about.shared -}}
{{- if not (kindIs "invalid" (index ($.root.Values.parameters | default dict) .)) -}}
{{- $_ := set $shared . (index $.root.Values.parameters .) -}}
{{- end -}}
{{- end -}}
{{- mergeOverwrite (dict) $about.defaults $shared ($own.parameters | default dict) | toJson -}}
{{- end -}}

{{/* The policy's own text with its parameters; empty where they leave nothing of it. */}}
{{- define "kyverno-policies.body" -}}
{{- if (include "kyverno-policies.about" . | fromJson).upstream -}}
{{- include "kyverno-policies.upstream" . -}}
{{- else -}}
{{- $parameters := include "kyverno-policies.parameters" . | fromJson -}}
{{- include (printf "kyverno-policies.policy.%s" .name) (dict "root" .root "parameters" $parameters) | trim -}}
{{- end -}}
{{- end -}}

{{/* "true" where the policy judges objects, so that it has an action; others change, generate or delete. */}}
{{- define "kyverno-policies.judges" -}}
{{- $about := include "kyverno-policies.about" . | fromJson -}}
{{- if and $about.cel (not $about.upstream) -}}
{{- has $about.cel (list "ValidatingPolicy" "ImageValidatingPolicy") -}}
{{- else -}}
{{- $spec := (include "kyverno-policies.body" . | fromYaml).spec | default dict -}}
{{- $judges := not (empty $spec.validations) -}}
{{- range $spec.rules -}}
{{- if or .validate .verifyImages -}}
{{- $judges = true -}}
{{- end -}}
{{- end -}}
{{- $judges -}}
{{- end -}}
{{- end -}}

{{/* The policy's annotations beside its own, as JSON. */}}
{{- define "kyverno-policies.annotations" -}}
{{- $own := include "kyverno-policies.own" . | fromJson -}}
{{- $values := .root.Values -}}
{{- $byPolicy := index ($values.customAnnotationsByPolicy | default dict) .name -}}
{{- mergeOverwrite (dict) ($values.customAnnotations | default dict)
  ($byPolicy | default dict) ($own.annotations | default dict) | toJson -}}
{{- end -}}
