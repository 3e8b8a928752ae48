"""The controls of standards, and the policies that cover them."""
