{{- define "service.name" -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "service.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end -}}

{{/* Labels that select the pods of a component: dict root, component. */}}
{{- define "service.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{/* The image: dict root, tag. The API and the migration have the tag of the newest version. */}}
{{- define "service.image" -}}
{{- $newest := first .root.Values.temporal.versions | default dict -}}
{{- $tag := .tag | default .root.Values.image.tag | default $newest.tag | default $newest.buildId | default .root.Chart.AppVersion -}}
{{ .root.Values.image.repository }}:{{ $tag }}
{{- end -}}

{{/* A build id as a part of a name. */}}
{{- define "service.slug" -}}
{{- . | lower | replace "." "-" | replace "_" "-" | trunc 16 | trimSuffix "-" -}}
{{- end -}}

{{- define "service.securityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{- define "service.podSecurityContext" -}}
runAsNonRoot: true
runAsUser: 1000
runAsGroup: 1000
fsGroup: 1000
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{/* What every pod's specification has beside its containers. */}}
{{- define "service.podCommon" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  {{- include "service.podSecurityContext" . | nindent 2 }}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Pods of a component on different nodes, if there are some: dict root, component. */}}
{{- define "service.spread" -}}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "service.selector" . | nindent 8 }}
{{- end -}}

{{/* Not empty if something is needed to be let in by Temporal. */}}
{{- define "service.temporalSecrets" -}}
{{- with .Values.temporal }}{{ .apiKey.existingSecret }}{{ .tls.caSecret }}{{ .tls.clientSecret }}{{ end }}
{{- end -}}

{{/* How to reach Temporal. */}}
{{- define "service.temporalEnv" -}}
{{- with .Values.temporal }}
- name: TEMPORAL_ADDRESS
  value: {{ .address | quote }}
- name: TEMPORAL_NAMESPACE
  value: {{ .namespace | quote }}
{{- if .housekeepingNamespace }}
- name: TEMPORAL_HOUSEKEEPING_NAMESPACE
  value: {{ .housekeepingNamespace | quote }}
{{- end }}
{{- if .apiKey.existingSecret }}
- name: TEMPORAL_API_KEY_FILE
  value: /run/secrets/temporal-api-key/TEMPORAL_API_KEY
{{- end }}
{{- if .tls.enabled }}
- name: TEMPORAL_TLS
  value: 'true'
{{- if .tls.serverName }}
- name: TEMPORAL_TLS_SERVER_NAME
  value: {{ .tls.serverName | quote }}
{{- end }}
{{- if .tls.caSecret }}
- name: TEMPORAL_TLS_SERVER_CA_CERT_PATH
  value: /run/secrets/temporal-ca/ca.crt
{{- end }}
{{- if .tls.clientSecret }}
- name: TEMPORAL_TLS_CLIENT_CERT_PATH
  value: /run/secrets/temporal-client/tls.crt
- name: TEMPORAL_TLS_CLIENT_KEY_PATH
  value: /run/secrets/temporal-client/tls.key
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{/* The settings and secrets of a process of the service. */}}
{{- define "service.env" -}}
{{- range $name, $value := .Values.settings }}
{{- if ne (toString $value) "" }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}
- name: METRICS_PORT
  value: {{ .Values.metrics.port | quote }}
{{- range .Values.secrets.names }}
- name: {{ . }}_FILE
  value: /run/secrets/service/{{ . }}
{{- end }}
{{ include "service.temporalEnv" . }}
{{- end -}}

{{- define "service.volumeMounts" -}}
- name: tmp
  mountPath: /tmp
- name: secrets
  mountPath: /run/secrets/service
  readOnly: true
{{- if .Values.temporal.apiKey.existingSecret }}
- name: temporal-api-key
  mountPath: /run/secrets/temporal-api-key
  readOnly: true
{{- end }}
{{- if and .Values.temporal.tls.enabled .Values.temporal.tls.caSecret }}
- name: temporal-ca
  mountPath: /run/secrets/temporal-ca
  readOnly: true
{{- end }}
{{- if and .Values.temporal.tls.enabled .Values.temporal.tls.clientSecret }}
- name: temporal-client
  mountPath: /run/secrets/temporal-client
  readOnly: true
{{- end }}
{{- end -}}

{{/* The volumes of a pod: dict root, names (the keys of the service's Secret). */}}
{{- define "service.volumes" -}}
{{- $temporal := .root.Values.temporal -}}
- name: tmp
  emptyDir:
    medium: Memory
    sizeLimit: 64Mi
- name: secrets
  secret:
    secretName: {{ .root.Values.secrets.existingSecret }}
    defaultMode: 0440
    items:
      {{- range .names }}
      - key: {{ . }}
        path: {{ . }}
      {{- end }}
{{- if $temporal.apiKey.existingSecret }}
- name: temporal-api-key
  secret:
    secretName: {{ $temporal.apiKey.existingSecret }}
    defaultMode: 0440
{{- end }}
{{- if and $temporal.tls.enabled $temporal.tls.caSecret }}
- name: temporal-ca
  secret:
    secretName: {{ $temporal.tls.caSecret }}
    defaultMode: 0440
{{- end }}
{{- if and $temporal.tls.enabled $temporal.tls.clientSecret }}
- name: temporal-client
  secret:
    secretName: {{ $temporal.tls.clientSecret }}
    defaultMode: 0440
{{- end }}
{{- end -}}

{{/* Peers of a NetworkPolicy for ranges; those of everything leave out private and reserved ones. */}}
{{- define "service.ranges" -}}
{{- range .cidrs }}
- ipBlock:
    cidr: {{ . | quote }}
    {{- if eq . "0.0.0.0/0" }}
    except: {{ toJson $.exceptIPv4 }}
    {{- else if eq . "::/0" }}
    except: {{ toJson $.exceptIPv6 }}
    {{- end }}
{{- end }}
{{- end -}}
