"""Scorers: how part scores follow from a model."""
