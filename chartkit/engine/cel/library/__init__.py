"""The functions and macros of CEL, one library a module, each with its docs and examples."""
