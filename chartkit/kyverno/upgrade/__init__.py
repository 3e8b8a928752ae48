"""From one pair of Kyverno and Kubernetes to another: which upgrades, in which order."""
