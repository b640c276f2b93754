"""Objects of many kinds, for features that must work with all of them."""

from __future__ import annotations

MANY = """
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
  labels: {app: web, "example.com/part": "1"}
  annotations: {note: "a<b>&c"}
data: {"on": "yes", number: "010", lines: "a\\nb\\n", long: "%(long)s", "a.b": d, a10: x, a9: z}
---
apiVersion: v1
kind: Secret
metadata: {name: keys}
type: Opaque
data: {password: c2VjcmV0}
---
apiVersion: v1
kind: Service
metadata: {name: web, labels: {app: web}}
spec:
  selector: {app: web}
  ports: [{name: http, port: 80, targetPort: 8080}, {name: s, port: 443}]
---
apiVersion: v1
kind: Pod
metadata: {name: lonely, labels: {app: lonely}}
spec:
  nodeName: nowhere
  containers: [{name: c, image: nginx, ports: [{containerPort: 80}], env: [{name: A, value: "1"}]}]
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: robot}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: disk}
spec: {accessModes: [ReadWriteOnce], storageClassName: none, resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: LimitRange
metadata: {name: limits}
spec: {limits: [{type: Container, max: {cpu: "20"}}]}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: quota}
spec: {hard: {configmaps: "100", secrets: "50"}}
---
apiVersion: v1
kind: Endpoints
metadata: {name: outside}
subsets: [{addresses: [{ip: 192.0.2.1}], ports: [{port: 80}]}]
---
apiVersion: v1
kind: ReplicationController
metadata: {name: old}
spec:
  replicas: 0
  selector: {app: old}
  template: {metadata: {labels: {app: old}}, spec: {containers: [{name: c, image: nginx}]}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 0
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: nginx}]}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 0
  serviceName: db
  selector: {matchLabels: {app: db}}
  template: {metadata: {labels: {app: db}}, spec: {containers: [{name: c, image: redis}]}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {nodeSelector: {none: such}, containers: [{name: c, image: agent}]}
---
apiVersion: batch/v1
kind: Job
metadata: {name: once}
spec:
  suspend: true
  template: {spec: {restartPolicy: Never, containers: [{name: c, image: busybox}]}}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly}
spec:
  schedule: "0 3 * * *"
  suspend: true
  jobTemplate:
    spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: busybox}]}}}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec:
  maxReplicas: 3
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}
---
apiVersion: networking.%(groups)s/v1
kind: Ingress
metadata: {name: web}
spec: {defaultBackend: {service: {name: web, port: {number: 80}}}}
---
apiVersion: networking.%(groups)s/v1
kind: NetworkPolicy
metadata: {name: closed}
spec: {podSelector: {}}
---
apiVersion: rbac.authorization.%(groups)s/v1
kind: Role
metadata: {name: reader}
rules: [{apiGroups: [""], resources: [pods], verbs: [get, list]}]
---
apiVersion: rbac.authorization.%(groups)s/v1
kind: RoleBinding
metadata: {name: reader}
roleRef: {apiGroup: rbac.authorization.%(groups)s, kind: Role, name: reader}
subjects: [{kind: ServiceAccount, name: robot}]
---
apiVersion: coordination.%(groups)s/v1
kind: Lease
metadata: {name: leader}
spec: {holderIdentity: me, leaseDurationSeconds: 15}
"""
LONG = "a text of many words that does not fit on one line and is therefore folded somewhere " * 2


def many(group_domain: str) -> str:
    """Return manifests of more than twenty kinds for a dialect."""
    return MANY % {"groups": group_domain, "long": LONG.strip()}
