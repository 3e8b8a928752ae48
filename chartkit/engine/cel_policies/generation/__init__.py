"""The templates of GeneratingPolicies: YAML with expressions in it."""
