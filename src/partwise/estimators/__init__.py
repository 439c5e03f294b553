"""Estimators with scikit-learn's interface; composition only."""
