{{/* Helpers for the arguments of features. Do not edit or override them: values are the interface. */}}
{{/* The arguments of features, one flag a field. The context is the features that a controller knows */}}
{{- define "kyverno.features" -}}
{{- $kyverno := .kyverno }}
{{- with .admissionReports }}
{{- include "kyverno.flag" (list "admissionReports" .enabled) }}

{{- if .backPressureThreshold }}{{- include "kyverno.flag" (list "maxAdmissionReports" .backPressureThreshold) }}
{{- end }}
{{- end }}
{{- with .aggregateReports }}
{{- include "kyverno.flag" (list "aggregateReports" .enabled) }}

{{- end }}
{{- with .policyReports }}
{{- include "kyverno.flag" (list "policyReports" .enabled) }}

{{- end }}
{{- with .validatingAdmissionPolicyReports }}
{{- include "kyverno.flag" (list "validatingAdmissionPolicyReports" .enabled) }}

{{- end }}
{{- with .mutatingAdmissionPolicyReports }}
{{- include "kyverno.flag" (list "mutatingAdmissionPolicyReports" .enabled) }}

{{- end }}
{{- with .autoUpdateWebhooks }}
{{- include "kyverno.flag" (list "autoUpdateWebhooks" .enabled) }}

{{- end }}
{{- with .excludeBootstrapResources }}
{{- if ge $kyverno 1019 }}{{- include "kyverno.flag" (list "excludeBootstrapResources" .enabled) }}
{{- end }}
{{- end }}
{{- with .backgroundScan }}
{{- include "kyverno.flag" (list "backgroundScan" .enabled) }}

{{- include "kyverno.flag" (list "backgroundScanWorkers" .backgroundScanWorkers) }}

{{- include "kyverno.flag" (list "backgroundScanInterval" .backgroundScanInterval) }}

{{- include "kyverno.flag" (list "skipResourceFilters" .skipResourceFilters) }}

{{- end }}
{{- with .configMapCaching }}
{{- include "kyverno.flag" (list "enableConfigMapCaching" .enabled) }}

{{- end }}
{{- with .controllerRuntimeMetrics }}
{{- include "kyverno.flag" (list "controllerRuntimeMetricsAddress" .bindAddress) }}

{{- end }}
{{- with .deferredLoading }}
{{- include "kyverno.flag" (list "enableDeferredLoading" .enabled) }}

{{- end }}
{{- with .dumpPayload }}
{{- include "kyverno.flag" (list "dumpPayload" .enabled) }}

{{- end }}
{{- with .forceFailurePolicyIgnore }}
{{- include "kyverno.flag" (list "forceFailurePolicyIgnore" .enabled) }}

{{- end }}
{{- with .generateValidatingAdmissionPolicy }}
{{- include "kyverno.flag" (list "generateValidatingAdmissionPolicy" .enabled) }}

{{- end }}
{{- with .generateMutatingAdmissionPolicy }}
{{- include "kyverno.flag" (list "generateMutatingAdmissionPolicy" .enabled) }}

{{- end }}
{{- with .dumpPatches }}
{{- include "kyverno.flag" (list "dumpPatches" .enabled) }}

{{- end }}
{{- with .globalContext }}
{{- include "kyverno.flag" (list "maxAPICallResponseLength" .maxApiCallResponseLength) }}

{{- if ge $kyverno 1018 }}{{- include "kyverno.flag" (list "apiCallTimeout" .apiCallTimeout) }}
{{- end }}
{{- if ge $kyverno 1019 }}{{- include "kyverno.flag" (list "maxGlobalContextEntries" .maxGlobalContextEntries) }}
{{- end }}
{{- end }}
{{- with .logging }}
{{- include "kyverno.flag" (list "loggingFormat" .format) }}

{{- include "kyverno.flag" (list "v" .verbosity) }}

{{- end }}
{{- with .omitEvents }}
{{- if .eventTypes }}{{- include "kyverno.flag" (list "omitEvents" (join "," .eventTypes)) }}
{{- end }}
{{- end }}
{{- with .policyExceptions }}
{{- include "kyverno.flag" (list "enablePolicyException" .enabled) }}

{{- if .namespace }}{{- include "kyverno.flag" (list "exceptionNamespace" .namespace) }}
{{- end }}
{{- end }}
{{- with .protectManagedResources }}
{{- include "kyverno.flag" (list "protectManagedResources" .enabled) }}

{{- end }}
{{- with .registryClient }}
{{- include "kyverno.flag" (list "allowInsecureRegistry" .allowInsecure) }}

{{- include "kyverno.flag" (list "registryCredentialHelpers" (join "," .credentialHelpers)) }}

{{- end }}
{{- with .ttlController }}
{{- include "kyverno.flag" (list "ttlReconciliationInterval" .reconciliationInterval) }}

{{- end }}
{{- with .tuf }}
{{- if .enabled }}{{- include "kyverno.flag" (list "enableTuf" .enabled) }}
{{- end }}
{{- if .mirror }}{{- include "kyverno.flag" (list "tufMirror" .mirror) }}
{{- end }}
{{- if .root }}{{- include "kyverno.flag" (list "tufRoot" .root) }}
{{- end }}
{{- if .rootRaw }}{{- include "kyverno.flag" (list "tufRootRaw" .rootRaw) }}
{{- end }}
{{- end }}
{{- with .reporting }}
{{- include "kyverno.flag" (list "enableReporting" (include "kyverno.chosen" (list . (list "validate" "mutate" "mutateExisting" "imageVerify" "generate")))) }}
{{- with .allowedResults }}
{{- include "kyverno.flag" (list "allowedResults" (include "kyverno.chosen" (list . (list "pass" "fail" "error" "skip" "warn")))) }}
{{- end }}
{{- end }}
{{- end }}

{{/* The names whose switch is on, in their order. (list switches names) */}}
{{- define "kyverno.chosen" -}}
{{- $on := list }}
{{- range $name := index . 1 }}{{ if get (index $ 0) $name }}{{ $on = append $on $name }}{{ end }}{{ end }}
{{- join "," $on }}
{{- end }}
