"""Orders of the rows of queries."""
