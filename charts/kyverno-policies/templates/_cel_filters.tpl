{{/* Helpers that write exclusions as conditions in CEL. Do not edit or override them: values are the interface. */}}
{{/*
Exclusions and namespaces of a ClusterPolicy as conditions in CEL, with the meaning that Kyverno
gives them there. Each takes facts, a map of how the policy's requests are spoken of: object,
namespace, kinds (texts in CEL; kinds has group, version, kind and subresource), extended (whether
the policy is extended to pod controllers), scheduled (whether there is an object and no request),
and name (the policy's, for messages).
*/}}

{{/* The facts of a policy. Takes name, spec, kind and extended. */}}
{{- define "kyverno-policies.celFacts" -}}
{{- $facts := dict "name" .name "extended" .extended "object" "object" "namespace"
  "(has(request.namespace) ? request.namespace : \"\")" -}}
{{- $resources := list -}}
{{- range (.spec.matchConstraints | default dict).resourceRules -}}
{{- $resources = concat $resources (.resources | default list) -}}
{{- if or (has "DELETE" .operations) (has "*" .operations) -}}
{{- $_ := set $facts "object" "(request.operation == \"DELETE\" ? oldObject : object)" -}}
{{- end -}}
{{- end -}}
{{- if .extended -}}
{{- $_ := set $facts "namespace" "request.namespace" -}}
{{- else if or (has "namespaces" $resources) (has "*" $resources) (has "*/*" $resources) -}}
{{- $_ := set $facts "namespace" (printf (print "(request.kind.kind == \"Namespace\" ? request.name "
  ": has(request.namespace) ? request.namespace : \"\")")) -}}
{{- end -}}
{{- $_ := set $facts "kinds" (list "request.kind.group" "request.kind.version" "request.kind.kind"
  "(has(request.subResource) ? request.subResource : \"\")") -}}
{{- if eq .kind "DeletingPolicy" -}}
{{- $_ := set $facts "scheduled" true -}}
{{- $_ := set $facts "object" "object" -}}
{{- $parted := "object.apiVersion.contains(\"/\")" -}}
{{- $_ := set $facts "kinds" (list (printf "(%s ? object.apiVersion.split(\"/\")[0] : \"\")"
  $parted) (printf "(%s ? object.apiVersion.split(\"/\")[1] : object.apiVersion)" $parted)
  "object.kind" "\"\"") -}}
{{- $_ := set $facts "namespace" (print "(object.kind == \"Namespace\" ? object.metadata.name : "
  "has(object.metadata.namespace) ? object.metadata.namespace : \"\")") -}}
{{- end -}}
{{- toJson $facts -}}
{{- end -}}

{{/* Whether something is excluded. Takes facts and blocks (a list of exclude blocks). */}}
{{- define "kyverno-policies.celExcluded" -}}
{{- $facts := .facts -}}
{{- $found := list -}}
{{- range compact .blocks -}}
{{- if and .any .all -}}
{{- fail (printf "policy %s: exclude has any and all, and Kyverno takes one of them" $facts.name) -}}
{{- end -}}
{{- $tests := list -}}
{{- range concat (.any | default list) (.all | default list) -}}
{{- $tests = append $tests (include "kyverno-policies.celFilter" (dict "facts" $facts "filter" .)) -}}
{{- end -}}
{{- if .all -}}
{{- $found = append $found (include "kyverno-policies.celAll" $tests) -}}
{{- else if .any -}}
{{- $found = concat $found $tests -}}
{{- else -}}
{{- $found = append $found (include "kyverno-policies.celFilter" (dict "facts" $facts "filter" (omit . "any" "all"))) -}}
{{- end -}}
{{- end -}}
{{- include "kyverno-policies.celAny" (without $found "false") -}}
{{- end -}}

{{/* Whether one filter of an exclude block fits. Takes facts and filter. */}}
{{- define "kyverno-policies.celFilter" -}}
{{- $facts := .facts -}}
{{- $resources := .filter.resources | default dict -}}
{{- if or .filter.roles .filter.clusterRoles -}}
{{- fail (printf (print "policy %s: exclude by roles and clusterRoles is for ClusterPolicy alone: "
  "what roles a user has cannot be asked in CEL; name users and groups under subjects, or set "
  "policyType: ClusterPolicy") $facts.name) -}}
{{- end -}}
{{- if $facts.scheduled -}}
{{- include "kyverno-policies.refuseRequests" (dict "name" $facts.name "filter" .filter) -}}
{{- end -}}
{{- $tests := list -}}
{{- with $resources.kinds -}}
{{- $tests = append $tests (include "kyverno-policies.celKinds" (dict "facts" $facts "kinds" .)) -}}
{{- end -}}
{{- with $resources.operations -}}
{{- $tests = append $tests (include "kyverno-policies.celFits" (dict "text" "request.operation" "wildcards" .)) -}}
{{- end -}}
{{- $name := printf (print "(has(%[1]s.metadata.name) && %[1]s.metadata.name != \"\" ? "
  "%[1]s.metadata.name : has(%[1]s.metadata.generateName) ? %[1]s.metadata.generateName : \"\")")
  $facts.object -}}
{{- with $resources.name -}}
{{- $tests = append $tests (include "kyverno-policies.celFits" (dict "text" $name "wildcards" (list .))) -}}
{{- end -}}
{{- with $resources.names -}}
{{- $tests = append $tests (include "kyverno-policies.celFits" (dict "text" $name "wildcards" .)) -}}
{{- end -}}
{{- with $resources.namespaces -}}
{{- $tests = append $tests (include "kyverno-policies.celFits" (dict "text" $facts.namespace "wildcards" .)) -}}
{{- end -}}
{{- with $resources.annotations -}}
{{- $annotations := include "kyverno-policies.celMap" (printf "%s.metadata.annotations" $facts.object) -}}
{{- range $key := keys . | sortAlpha -}}
{{- $tests = append $tests (include "kyverno-policies.celEntry"
  (dict "map" $annotations "key" $key "value" (index $resources.annotations $key))) -}}
{{- end -}}
{{- end -}}
{{- if hasKey $resources "selector" -}}
{{- $labels := include "kyverno-policies.celMap" (printf "%s.metadata.labels" $facts.object) -}}
{{- $tests = append $tests (include "kyverno-policies.celSelector" (dict "labels" $labels "selector" $resources.selector)) -}}
{{- end -}}
{{- if hasKey $resources "namespaceSelector" -}}
{{- $tests = append $tests (include "kyverno-policies.celNamespaceSelector"
  (dict "facts" $facts "selector" $resources.namespaceSelector)) -}}
{{- end -}}
{{- with .filter.subjects -}}
{{- $users := list -}}
{{- range . -}}
{{- $users = append $users (include "kyverno-policies.celSubject" .) -}}
{{- end -}}
{{- $tests = append $tests (include "kyverno-policies.celAny" $users) -}}
{{- end -}}
{{- if $tests -}}{{- include "kyverno-policies.celAll" $tests -}}{{- else -}}false{{- end -}}
{{- end -}}

{{/* A map that may be missing, as CEL has it. Takes its path. */}}
{{- define "kyverno-policies.celMap" -}}
(has({{ . }}) ? {{ . }} : {})
{{- end -}}

{{/* Whether a map has an entry, wildcards in both. Takes map (in CEL), key and value. */}}
{{- define "kyverno-policies.celEntry" -}}
{{- if regexMatch "[*?]" (print .key .value) -}}
{{- $key := include "kyverno-policies.celFits" (dict "text" "key" "wildcards" (list .key)) -}}
{{- $value := include "kyverno-policies.celFits" (dict "text" (printf "%s[key]" .map) "wildcards" (list .value)) -}}
{{- printf "%s.exists(key, %s)" .map (include "kyverno-policies.celAll" (list $key $value)) -}}
{{- else -}}
{{- $key := include "kyverno-policies.celLiteral" .key -}}
{{- printf "(%s in %s && %s[%s] == %s)" $key .map .map $key (include "kyverno-policies.celLiteral" .value) -}}
{{- end -}}
{{- end -}}

{{/* Whether labels fit a selector. Takes labels (in CEL) and selector. */}}
{{- define "kyverno-policies.celSelector" -}}
{{- $labels := .labels -}}
{{- $tests := list -}}
{{- $selector := .selector | default dict -}}
{{- range $key := keys ($selector.matchLabels | default dict) | sortAlpha -}}
{{- $tests = append $tests (include "kyverno-policies.celEntry"
  (dict "map" $labels "key" $key "value" (index $selector.matchLabels $key))) -}}
{{- end -}}
{{- range $selector.matchExpressions -}}
{{- $key := include "kyverno-policies.celLiteral" .key -}}
{{- $there := printf "%s in %s" $key $labels -}}
{{- $among := printf "(%s && %s[%s] in %s)" $there $labels $key (include "kyverno-policies.celLiteral" (.values | default list)) -}}
{{- $listed := has .operator (list "In" "NotIn") -}}
{{- if ne $listed (not (empty .values)) -}}
{{- /* Kubernetes refuses such a selector, and it fits nothing. */ -}}
{{- $tests = append $tests "false" -}}
{{- else if eq .operator "In" -}}
{{- $tests = append $tests $among -}}
{{- else if eq .operator "NotIn" -}}
{{- $tests = append $tests (printf "!%s" $among) -}}
{{- else if eq .operator "Exists" -}}
{{- $tests = append $tests (printf "(%s)" $there) -}}
{{- else -}}
{{- $tests = append $tests (printf "!(%s)" $there) -}}
{{- end -}}
{{- end -}}
{{- include "kyverno-policies.celAll" $tests -}}
{{- end -}}

{{/* Whether the namespace's labels fit. Takes facts and selector. Namespaces themselves never do. */}}
{{- define "kyverno-policies.celNamespaceSelector" -}}
{{- $labels := "(namespaceObject != null && has(namespaceObject.metadata.labels) ? namespaceObject.metadata.labels : {})" -}}
{{- $tests := list (include "kyverno-policies.celSelector" (dict "labels" $labels "selector" .selector)) -}}
{{- if contains "Namespace" .facts.namespace -}}
{{- $tests = prepend $tests (printf "%s != \"Namespace\"" (index .facts.kinds 2)) -}}
{{- end -}}
{{- include "kyverno-policies.celAll" $tests -}}
{{- end -}}

{{/* Whether the user is a subject. In a background scan there is no user. */}}
{{- define "kyverno-policies.celSubject" -}}
{{- $user := "(has(request.userInfo.username) ? request.userInfo.username : \"\")" -}}
{{- if eq .kind "Group" -}}
{{- $fits := include "kyverno-policies.celFits" (dict "text" "group" "wildcards" (list .name)) -}}
{{- printf "(has(request.userInfo.groups) && request.userInfo.groups.exists(group, %s))" $fits -}}
{{- else if eq .kind "ServiceAccount" -}}
{{- $account := printf "system:serviceaccount:%s:%s" (.namespace | default "") .name -}}
{{- include "kyverno-policies.celFits" (dict "text" $user "wildcards" (list $account)) -}}
{{- else -}}
{{- include "kyverno-policies.celFits" (dict "text" $user "wildcards" (list .name)) -}}
{{- end -}}
{{- end -}}

{{/*
Whether the object is of one of some kinds. Takes facts and kinds, as a ClusterPolicy names them.
Where the policy is extended, Pod stands for its controllers too.
*/}}
{{- define "kyverno-policies.celKinds" -}}
{{- $facts := .facts -}}
{{- $found := list -}}
{{- range .kinds -}}
{{- $parts := include "kyverno-policies.kindParts" . | fromJsonArray -}}
{{- $tests := list -}}
{{- $kind := index $parts 2 -}}
{{- if and $facts.extended (eq $kind "Pod") -}}
{{- $found = append $found "true" -}}
{{- else -}}
{{- range $at, $text := $facts.kinds -}}
{{- $part := index $parts $at -}}
{{- if or $part (eq $at 0) -}}
{{- $tests = append $tests (include "kyverno-policies.celFits" (dict "text" $text "wildcards" (list $part))) -}}
{{- end -}}
{{- end -}}
{{- $found = append $found (include "kyverno-policies.celAll" $tests) -}}
{{- end -}}
{{- end -}}
{{- include "kyverno-policies.celAny" $found -}}
{{- end -}}

{{/*
Group, version, kind and subresource of a kind selector, as Kyverno's ParseKindSelector takes it
apart; an empty subresource is none.
*/}}
{{- define "kyverno-policies.kindParts" -}}
{{- $pieces := splitList "/" . -}}
{{- $parts := concat (initial $pieces) (splitList "." (last $pieces)) -}}
{{- $version := "^(v[0-9]((alpha|beta)[0-9])?|[*])$" -}}
{{- if eq (len $parts) 1 -}}
{{- list "*" "*" (first $parts) "" | toJson -}}
{{- else if eq (len $parts) 2 -}}
{{- if and (eq (first $parts) "*") (eq (last $parts) "*") -}}
{{- list "*" "*" "*" "*" | toJson -}}
{{- else if and (regexMatch $version (first $parts)) (not (and (eq (first $parts) "*") (eq (lower (last $parts)) (last $parts)))) -}}
{{- list "*" (first $parts) (last $parts) "" | toJson -}}
{{- else -}}
{{- list "*" "*" (first $parts) (last $parts) | toJson -}}
{{- end -}}
{{- else if and (eq (len $parts) 3) (regexMatch $version (first $parts)) -}}
{{- list "*" (index $parts 0) (index $parts 1) (index $parts 2) | toJson -}}
{{- else if eq (len $parts) 3 -}}
{{- append $parts "" | toJson -}}
{{- else if eq (len $parts) 4 -}}
{{- toJson $parts -}}
{{- else -}}
{{- list "/" "/" "/" "" | toJson -}}
{{- end -}}
{{- end -}}

{{/*
Whether exclusions keep a rule from being extended to pod controllers: "true" for names, annotations
and selectors, for Pod among other kinds, and for kinds that are all others than Pod. Takes blocks.
*/}}
{{- define "kyverno-policies.stopsExtension" -}}
{{- $stops := false -}}
{{- $all := list -}}
{{- range compact .blocks -}}
{{- range concat (.any | default list) (.all | default list) (list (omit . "any" "all")) -}}
{{- $resources := .resources | default dict -}}
{{- $kinds := list -}}
{{- range $resources.kinds -}}
{{- $kinds = append $kinds (index (include "kyverno-policies.kindParts" . | fromJsonArray) 2) -}}
{{- end -}}
{{- $all = concat $all $kinds -}}
{{- if or $resources.name $resources.names (hasKey $resources "annotations")
  (hasKey $resources "selector") (and (gt (len $kinds) 1) (has "Pod" $kinds)) -}}
{{- $stops = true -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- or $stops (and (not (empty $all)) (not (has "Pod" $all))) -}}
{{- end -}}
