"""Binary labels of rows that optimise one measure of all of them."""
