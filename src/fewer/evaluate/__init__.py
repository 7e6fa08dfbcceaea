"""How much it helped, honestly: bias-free estimates, permutation tests, stability."""
