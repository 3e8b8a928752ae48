{{/* Helpers for names and labels. Do not edit or override them: values are the interface. */}}
{{/* The chart's name in labels. */}}
{{- define "kyverno-policies.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* The labels of every policy: Helm's own, then customLabels. */}}
{{- define "kyverno-policies.labels" -}}
app.kubernetes.io/component: kyverno
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service | quote }}
app.kubernetes.io/name: {{ include "kyverno-policies.name" . | quote }}
app.kubernetes.io/part-of: {{ include "kyverno-policies.name" . | quote }}
app.kubernetes.io/version: {{ .Chart.Version | replace "+" "_" | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" | quote }}
{{- with .Values.customLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}
