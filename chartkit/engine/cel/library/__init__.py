"""The functions of CEL, one library a module, each with its declarations, docs and examples."""
