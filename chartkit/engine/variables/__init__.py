"""`{{ }}` variables and `$( )` references in policy text, as Kyverno's `pkg/engine/variables` has them."""

from chartkit.engine.variables.template import SubstitutionError, Template, compile_template

__all__ = ["SubstitutionError", "Template", "compile_template"]
