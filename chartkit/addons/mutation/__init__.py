"""Changes policies, and reports which changes their examples do not show."""

from chartkit.addon import Addon

MUTATION = Addon("mutation", ports={"mutate": "chartkit.addons.mutation.run:mutate_policy"})
