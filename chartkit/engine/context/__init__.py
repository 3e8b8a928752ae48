"""The context of a rule: variables, context entries, images, and `{{ }}` resolved in it."""
