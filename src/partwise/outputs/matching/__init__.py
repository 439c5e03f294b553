"""Matchings of the items of two sides."""
