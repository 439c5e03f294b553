"""Files to objects: each reader returns the pair X, y of its task.

Names load on first use, so that help pages of the command line need no numpy; they are
listed in `__init__.pyi`.
"""

from partwise.lazy_names import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
