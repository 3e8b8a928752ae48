"""Rules read backwards: what makes an object pass, the smallest object that passes, and rules that
no object can keep together."""

from chartkit.addon import Addon

SATISFY = Addon("satisfy", ports={"fix": "chartkit.addons.satisfy.fix.command:prepare"})
