{{/* Helpers for names and labels. Do not edit or override them: values are the interface. */}}
{{/* Names. Those of the controllers may be used in `config.resourceFilters`. */}}
{{- define "kyverno.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end }}

{{- define "kyverno.fullname" -}}
{{- $base := .Values.nameOverride | default .Chart.Name -}}
{{- $joined := ternary .Release.Name (list .Release.Name $base | join "-") (contains $base .Release.Name) -}}
{{- .Values.fullnameOverride | default $joined | trunc 63 | trimSuffix "-" -}}
{{- end }}

{{- define "kyverno.namespace" -}}
{{- .Values.namespaceOverride | default .Release.Namespace -}}
{{- end }}

{{- define "kyverno.version" -}}
{{- if .Values.global.templating.enabled -}}
{{- required "global.templating.version is needed when global.templating.enabled is true" .Values.global.templating.version | replace "+" "_" -}}
{{- else -}}
{{- .Chart.Version | replace "+" "_" -}}
{{- end -}}
{{- end }}

{{/* The release of Kyverno that is installed, and its minor version as a number that orders: 1018 for 1.18.2. */}}
{{- define "kyverno.appVersion" -}}
{{- printf "v%s" (.Values.kyvernoVersion | default .Chart.AppVersion | trimPrefix "v") -}}
{{- end }}

{{- define "kyverno.number" -}}
{{- $parts := splitList "." (include "kyverno.appVersion" . | trimPrefix "v") -}}
{{- add (mul 1000 (first $parts | int)) (index $parts 1 | int) -}}
{{- end }}

{{- define "kyverno.config.configMapName" -}}
{{- with .Values.config -}}
{{- if or .create .name }}{{ .name | default (include "kyverno.fullname" $) }}
{{- else }}{{ fail "config.name is needed when config.create is false" }}{{ end -}}
{{- end -}}
{{- end }}

{{- define "kyverno.config.metricsConfigMapName" -}}
{{- with .Values.metricsConfig -}}
{{- if or .create .name }}{{ .name | default (include "kyverno.fullname" $ | printf "%s-metrics") }}
{{- else }}{{ fail "metricsConfig.name is needed when metricsConfig.create is false" }}{{ end -}}
{{- end -}}
{{- end }}

{{- define "kyverno.admission-controller.name" -}}
{{- include "kyverno.name" . }}-admission-controller{{- end }}

{{- define "kyverno.admission-controller.roleName" -}}
{{- include "kyverno.fullname" . }}:admission-controller{{- end }}

{{- define "kyverno.admission-controller.serviceAccountName" -}}
{{- with .Values.admissionController.rbac -}}
{{- if or .create .serviceAccount.name }}{{ .serviceAccount.name | default (include "kyverno.admission-controller.name" $) }}
{{- else }}{{ fail "admissionController.rbac.serviceAccount.name is needed when admissionController.rbac.create is false" }}{{ end -}}
{{- end -}}
{{- end }}

{{- define "kyverno.admission-controller.serviceName" -}}
{{- include "kyverno.fullname" . | printf "%s-svc" | trunc 63 | trimSuffix "-" -}}
{{- end }}

{{- define "kyverno.background-controller.name" -}}
{{- include "kyverno.name" . }}-background-controller{{- end }}

{{- define "kyverno.background-controller.roleName" -}}
{{- include "kyverno.fullname" . }}:background-controller{{- end }}

{{- define "kyverno.background-controller.serviceAccountName" -}}
{{- with .Values.backgroundController.rbac -}}
{{- if or .create .serviceAccount.name }}{{ .serviceAccount.name | default (include "kyverno.background-controller.name" $) }}
{{- else }}{{ fail "backgroundController.rbac.serviceAccount.name is needed when backgroundController.rbac.create is false" }}{{ end -}}
{{- end -}}
{{- end }}

{{- define "kyverno.background-controller.serviceName" -}}
{{- include "kyverno.background-controller.name" . -}}
{{- end }}

{{- define "kyverno.cleanup-controller.name" -}}
{{- include "kyverno.name" . }}-cleanup-controller{{- end }}

{{- define "kyverno.cleanup-controller.roleName" -}}
{{- include "kyverno.fullname" . }}:cleanup-controller{{- end }}

{{- define "kyverno.cleanup-controller.serviceAccountName" -}}
{{- with .Values.cleanupController.rbac -}}
{{- if or .create .serviceAccount.name }}{{ .serviceAccount.name | default (include "kyverno.cleanup-controller.name" $) }}
{{- else }}{{ fail "cleanupController.rbac.serviceAccount.name is needed when cleanupController.rbac.create is false" }}{{ end -}}
{{- end -}}
{{- end }}

{{- define "kyverno.cleanup-controller.serviceName" -}}
{{- include "kyverno.cleanup-controller.name" . -}}
{{- end }}

{{- define "kyverno.reports-controller.name" -}}
{{- include "kyverno.name" . }}-reports-controller{{- end }}

{{- define "kyverno.reports-controller.roleName" -}}
{{- include "kyverno.fullname" . }}:reports-controller{{- end }}

{{- define "kyverno.reports-controller.serviceAccountName" -}}
{{- with .Values.reportsController.rbac -}}
{{- if or .create .serviceAccount.name }}{{ .serviceAccount.name | default (include "kyverno.reports-controller.name" $) }}
{{- else }}{{ fail "reportsController.rbac.serviceAccount.name is needed when reportsController.rbac.create is false" }}{{ end -}}
{{- end -}}
{{- end }}

{{- define "kyverno.reports-controller.serviceName" -}}
{{- include "kyverno.reports-controller.name" . -}}
{{- end }}
