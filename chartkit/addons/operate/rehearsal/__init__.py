"""The rehearsal of an upgrade of Kyverno: each fact of its releases is asked of objects, and those
that concern one are reported, with what the objects do today and what to do first.

It imports `addons/migrate`, which knows what becomes of the policies of kyverno.io.
"""
