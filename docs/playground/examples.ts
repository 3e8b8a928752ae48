/** What the page shows before anything is typed. */

export const POLICY = `apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata:
  name: require-team
spec:
  rules:
    - name: team-label
      match:
        any:
          - resources:
              kinds: [Pod]
      validate:
        failureAction: Enforce
        message: Each Pod needs the label team, so that its owner can be found.
        pattern:
          metadata:
            labels:
              team: "?*"
`;

export const OBJECTS = `apiVersion: v1
kind: Pod
metadata:
  name: web
  namespace: shop
  labels:
    app: web
    team: ""
spec:
  containers:
    - name: web
      image: registry.example/web:1.4.2
---
apiVersion: v1
kind: Pod
metadata:
  name: cart
  namespace: shop
  labels:
    app: cart
    team: blue
spec:
  containers:
    - name: cart
      image: registry.example/cart:2.0.0
`;

export const CLUSTER_POLICY = `apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata:
  name: known-registry
spec:
  background: true
  rules:
    - name: registry
      match:
        any:
          - resources:
              kinds: [Pod]
      exclude:
        any:
          - resources:
              namespaces: [kube-system]
      validate:
        failureAction: Enforce
        message: Images come from registry.example.
        pattern:
          spec:
            containers:
              - image: registry.example/*
`;

export const POD = `apiVersion: v1
kind: Pod
metadata:
  name: web
  labels:
    team: blue
spec:
  containers:
    - name: web
      image: registry.example/web:1.4.2
    - name: proxy
      image: registry.example/proxy:latest
`;

/** An expression over the Pod, by language. */
export const EXPRESSIONS: Record<string, string> = {
  jmespath: "length(spec.containers[?ends_with(image, ':latest')].name)",
  cel: "object.spec.containers.exists(c, c.image.endsWith(':latest'))",
};
