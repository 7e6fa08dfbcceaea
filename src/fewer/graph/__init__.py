"""How the columns depend on one another."""
