{{/* What policies of policies.kyverno.io make of values. */}}

{{/*
A condition in CEL that holds for requests which are not excluded; empty where nothing is. Takes
exclude (as a ClusterPolicy has it), and namespace and object (in CEL).
*/}}
{{- define "CHART.notExcluded" -}}
{{- $facts := . -}}
{{- $tests := list -}}
{{- range include "CHART.filters" .exclude | fromJsonArray -}}
{{- $tests = append $tests (include "CHART.filter" (merge (dict "filter" .) $facts)) -}}
{{- end -}}
{{- with $tests -}}
!({{ join (empty $facts.exclude.all | ternary " || " " && ") . }})
{{- end -}}
{{- end -}}

{{/* The filters of an exclude, as JSON. */}}
{{- define "CHART.filters" -}}
{{- $exclude := . | default dict -}}
{{- if and $exclude.any $exclude.all -}}
{{- fail "exclude has any and all, of which Kyverno takes one" -}}
{{- end -}}
{{- $filters := concat ($exclude.any | default list) ($exclude.all | default list) -}}
{{- if omit $exclude "any" "all" -}}
{{- $filters = append $filters (omit $exclude "any" "all") -}}
{{- end -}}
{{- toJson $filters -}}
{{- end -}}

{{/* Whether a filter fits, in CEL. Takes filter, namespace and object. */}}
{{- define "CHART.filter" -}}
{{- $resources := .filter.resources | default dict -}}
{{- range concat (keys (omit .filter "resources" "subjects")) (keys (omit $resources "name" "names" "namespaces")) -}}
{{- fail (printf "exclude with %s has no form in a policy of policies.kyverno.io here: set policyType: ClusterPolicy" .) -}}
{{- end -}}
{{- $name := printf "%[1]s.metadata.?name.orValue(%[1]s.metadata.?generateName.orValue(''))" .object -}}
{{- $tests := list -}}
{{- with $resources.name -}}
{{- $tests = append $tests (include "CHART.fits" (dict "text" $name "values" (list .))) -}}
{{- end -}}
{{- with $resources.names -}}
{{- $tests = append $tests (include "CHART.fits" (dict "text" $name "values" .)) -}}
{{- end -}}
{{- with $resources.namespaces -}}
{{- $tests = append $tests (include "CHART.fits" (dict "text" $.namespace "values" .)) -}}
{{- end -}}
{{- with .filter.subjects -}}
{{- $users := list -}}
{{- range . -}}
{{- $users = append $users (include "CHART.subject" .) -}}
{{- end -}}
{{- $tests = append $tests (printf "(%s)" (join " || " $users)) -}}
{{- end -}}
{{- join " && " $tests | default "false" -}}
{{- end -}}

{{/* Whether the user is a subject, in CEL. */}}
{{- define "CHART.subject" -}}
{{- $user := "request.userInfo.?username.orValue('')" -}}
{{- if eq .kind "Group" -}}
request.userInfo.?groups.orValue([]).exists(group, {{ include "CHART.fits" (dict "text" "group" "values" (list .name)) }})
{{- else if eq .kind "ServiceAccount" -}}
{{- include "CHART.fits" (dict "text" $user "values" (list (printf "system:serviceaccount:%s:%s" .namespace .name))) -}}
{{- else -}}
{{- include "CHART.fits" (dict "text" $user "values" (list .name)) -}}
{{- end -}}
{{- end -}}

{{/* Whether a text is one of some, which may have wildcards, in CEL. Takes text and values,
and wild, where another text is for wildcards. */}}
{{- define "CHART.fits" -}}
{{- $text := .wild | default .text -}}
{{- $plain := list -}}
{{- $tests := list -}}
{{- range .values | default list -}}
{{- $middle := . | trimPrefix "*" | trimSuffix "*" -}}
{{- if not (regexMatch "[*?]" .) -}}
{{- $plain = append $plain . -}}
{{- else if regexMatch "^[*]+$" . -}}
{{- $tests = append $tests "true" -}}
{{- else if eq . "?*" -}}
{{- $tests = append $tests (printf "%s != ''" $text) -}}
{{- else if regexMatch "[*?]" $middle -}}
{{- $tests = append $tests (printf "%s.matches(%s)" $text (include "CHART.regularExpression" . | toJson)) -}}
{{- else if and (hasPrefix "*" .) (hasSuffix "*" .) -}}
{{- $tests = append $tests (printf "%s.contains(%s)" $text (toJson $middle)) -}}
{{- else -}}
{{- $tests = append $tests (printf "%s.%s(%s)" $text (hasPrefix "*" . | ternary "endsWith" "startsWith") (toJson $middle)) -}}
{{- end -}}
{{- end -}}
{{- if eq (len $plain) 1 -}}
{{- $tests = prepend $tests (printf "%s == %s" .text (first $plain | toJson)) -}}
{{- else if $plain -}}
{{- $tests = prepend $tests (printf "%s in %s" .text (toJson $plain)) -}}
{{- end -}}
({{ join " || " $tests | default "false" }})
{{- end -}}

{{/* A list of objects in CEL. Takes their type, and items. */}}
{{- define "CHART.objects" -}}
{{- $objects := list -}}
{{- range .items -}}
{{- $fields := list -}}
{{- range $name, $value := . -}}
{{- $fields = append $fields (printf "%s: %s" $name (toJson $value)) -}}
{{- end -}}
{{- $objects = append $objects (printf "%s{%s}" $.type (join ", " $fields)) -}}
{{- end -}}
[{{ join ", " $objects }}]
{{- end -}}

{{/* The regular expression of a text with wildcards. */}}
{{- define "CHART.regularExpression" -}}
(?s)^{{ regexQuoteMeta . | replace "\\*" ".*" | replace "\\?" "." }}$
{{- end -}}

{{/*
The pod controllers that a policy is extended to, as JSON. Takes controllers (the kinds, with commas
between them) and exclude. A policy that excludes Pods by name is not extended, and one with an
exclusion of nothing not to CronJobs, which a ClusterPolicy then excludes.
*/}}
{{- define "CHART.podControllers" -}}
{{- $controllers := list -}}
{{- range splitList "," (.controllers | default "DaemonSet,Deployment,Job,StatefulSet,ReplicaSet,CronJob") -}}
{{- if has (trim .) (list "DaemonSet" "Deployment" "Job" "StatefulSet" "ReplicaSet" "CronJob") -}}
{{- $controllers = append $controllers (printf "%ss" (trim . | lower)) -}}
{{- end -}}
{{- end -}}
{{- range include "CHART.filters" .exclude | fromJsonArray -}}
{{- $resources := .resources | default dict -}}
{{- if or $resources.name $resources.names -}}
{{- $controllers = list -}}
{{- else if not (or .subjects (compact (values $resources)) $.exclude.all) -}}
{{- $controllers = without $controllers "cronjobs" -}}
{{- end -}}
{{- end -}}
{{- toJson $controllers -}}
{{- end -}}

{{/* Group, version and name of the resources of kinds. */}}
{{- define "CHART.resources" -}}
ConfigMap: /v1/configmaps
Namespace: /v1/namespaces
PersistentVolumeClaim: /v1/persistentvolumeclaims
Pod: /v1/pods
Secret: /v1/secrets
Service: /v1/services
ServiceAccount: /v1/serviceaccounts
DaemonSet: apps/v1/daemonsets
Deployment: apps/v1/deployments
ReplicaSet: apps/v1/replicasets
StatefulSet: apps/v1/statefulsets
CronJob: batch/*/cronjobs
Job: batch/*/jobs
Ingress: networking.k8s.io/*/ingresses
NetworkPolicy: networking.k8s.io/*/networkpolicies
ClusterRole: rbac.authorization.k8s.io/*/clusterroles
ClusterRoleBinding: rbac.authorization.k8s.io/*/clusterrolebindings
Role: rbac.authorization.k8s.io/*/roles
RoleBinding: rbac.authorization.k8s.io/*/rolebindings
{{- end -}}

{{/* Kinds that a policy is not about: those of except, and those that are not named above. */}}
{{- define "CHART.otherKinds" -}}
{{- $resources := include "CHART.resources" . | fromYaml -}}
{{- $except := .except -}}
{{- range .kinds | default (list "none") -}}
{{- if or (has . $except) (not (hasKey $resources .)) }} {{ . }}{{ end -}}
{{- end -}}
{{- end -}}

{{/* The resource rules of kinds, as YAML. Takes kinds and operations. */}}
{{- define "CHART.resourceRules" -}}
{{- $resources := include "CHART.resources" . | fromYaml -}}
{{- range .kinds -}}
{{- with get $resources . -}}
{{- $names := splitList "/" . -}}
- apiGroups: [{{ first $names | quote }}]
  apiVersions: [{{ index $names 1 | quote }}]
  operations: {{ toJson $.operations }}
  resources: [{{ last $names }}]
{{ end -}}
{{- end -}}
{{- end -}}
