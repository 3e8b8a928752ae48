"""The patches of MutatingPolicies: apply configurations and JSON patches."""
