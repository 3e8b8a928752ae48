"""Patches of kustomize that follow the policies they are for.

A build's patches are applied to the legacy policies, in kustomize's order, and each result is
converted: what it changes of the new policies is the patch's new form. Nothing is translated field
by field, so a patch that follows gives what its legacy form gives, converted. May import the
migration, documents, engine, output and go.
"""
