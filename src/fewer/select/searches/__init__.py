"""How a search walks from subset to subset, whatever it maximises: each search one small module."""
