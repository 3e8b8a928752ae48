"""The parser of CEL: tokens, the tree, and syntax errors in cel-go's words."""
