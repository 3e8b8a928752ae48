"""From the policies of kyverno.io to those of policies.kyverno.io: the inventory, the plan, and
the conversion of each rule.

It imports `scan`, `engine`, `helm` and below; `addons/migrate/values` moves values files.
"""

from chartkit.addon import Addon

MIGRATE = Addon(
    "migrate",
    commands={
        "migrate": (
            "chartkit.addons.migrate.command:migrate",
            "Leave the policies of kyverno.io behind, before Kyverno refuses them.",
        ),
        "values migrate": (
            "chartkit.addons.migrate.values.command:migrate_values",
            "Migrate values of an older chart.",
        ),
    },
    ports={
        "documents": "chartkit.addons.migrate.documents:migrated",
        "exceptions": "chartkit.addons.migrate.exceptions:exceptions_in_cel",
    },
)
