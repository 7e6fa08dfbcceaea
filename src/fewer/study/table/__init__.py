"""What a study learns from: the table as a matrix, units of columns, weights of rows."""
