"""`{{ }}` variables and `$( )` references in policy text, as Kyverno has them."""

from chartkit.engine.context.variables.template import SubstitutionError, Template, compile_template

__all__ = ["SubstitutionError", "Template", "compile_template"]
