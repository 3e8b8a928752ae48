{{/* Helpers for the ConfigMap of Kyverno. Do not edit or override them: values are the interface. */}}
{{/* What Kyverno leaves alone: the default filters less those excluded, and those added */}}
{{- define "kyverno.resourceFilters" -}}
{{- $root := . }}
{{- $filters := list }}
{{- with .Values.config }}
{{- if .resourceFilters }}
{{- $without := list }}
{{- range .resourceFiltersExclude }}{{ $without = concat $without (list . (tpl . $root)) }}{{ end }}
{{- $spared := .resourceFiltersExcludeNamespaces }}
{{- $given := .resourceFilters }}
{{- if .excludeKyvernoNamespace }}{{ $given = prepend $given (include "kyverno.namespace" $root | printf "[*/*,%s,*]") }}{{ end }}
{{- range $filter := $given }}
{{- $text := tpl $filter $root }}
{{- $keep := not (or (has $filter $without) (has $text $without)) }}
{{- range $spared }}{{ if contains (printf ",%s," .) $filter }}{{ $keep = false }}{{ end }}{{ end }}
{{- if $keep }}{{ $filters = append $filters $text }}{{ end }}
{{- end }}
{{- range .resourceFiltersInclude }}{{ $filters = append $filters (tpl . $root) }}{{ end }}
{{- range .resourceFiltersIncludeNamespaces }}{{ $filters = append $filters (printf "[*/*,%s,*]" .) }}{{ end }}
{{- end }}
{{- end }}
{{- join " " $filters }}
{{- end }}

{{/* The selectors of Kyverno's webhooks, as JSON; Kyverno's own namespace is left out on top */}}
{{- define "kyverno.webhooks" -}}
{{- $webhooks := .Values.config.webhooks | default dict }}
{{- if .Values.config.excludeKyvernoNamespace }}
{{- $own := dict "key" "kubernetes.io/metadata.name" "operator" "NotIn" "values" (list (include "kyverno.namespace" .)) }}
{{- $selector := $webhooks.namespaceSelector | default dict }}
{{- $expressions := append ($selector.matchExpressions | default list) $own }}
{{- $selector = dict "matchLabels" $selector.matchLabels "matchExpressions" $expressions }}
{{- toJson (merge (dict "namespaceSelector" $selector) (omit $webhooks "namespaceSelector")) }}
{{- else if $webhooks }}{{ toJson $webhooks }}
{{- end }}
{{- end }}
