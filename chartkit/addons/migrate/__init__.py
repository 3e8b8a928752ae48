"""From the policies of kyverno.io to those of policies.kyverno.io: the inventory, the plan, and
the conversion of each rule.

It imports `scan`, `engine`, `helm` and below; `addons/migrate/values` moves values files.
"""
