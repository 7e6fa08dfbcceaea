"""How a search goes from subset to subset, whatever it maximises."""
