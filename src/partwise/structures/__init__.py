"""Output spaces: a sub-package each, with its compiled programs beside it."""
