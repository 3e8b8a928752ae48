"""Opens a cluster that Kyverno's webhooks lock, and restores them afterwards.

All that it changes are webhook configurations, whose requests no webhook ever sees: it works while
admission is refused. `webhooks` reads them, `refusals` finds what was refused, `diagnosis` puts
both together, `change` carries it out and back, `record` keeps what there was.
"""
