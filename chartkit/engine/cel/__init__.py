"""CEL, the Common Expression Language, as Kubernetes and Kyverno have it: checked and compiled."""
