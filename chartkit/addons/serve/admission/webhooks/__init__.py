"""The webhooks that Kyverno's controller makes of policies (`pkg/controllers/webhook`), and those
of a server in a cluster.
"""
