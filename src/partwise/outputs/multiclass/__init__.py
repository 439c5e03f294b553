"""One of K classes for each row of a matrix."""
