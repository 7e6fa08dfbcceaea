"""Soft weights for columns, chosen by the criterion of the projection that follows."""
