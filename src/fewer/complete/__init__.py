"""Tables with holes: low-rank completion, PCA with missing values."""
