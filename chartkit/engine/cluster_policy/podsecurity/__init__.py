"""`validate.podSecurity`: the Pod Security Standards as Kyverno 1.19 checks them."""
