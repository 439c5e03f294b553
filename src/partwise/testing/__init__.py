"""Checks for structures, solvers and outputs that you write yourself.

>>> from partwise.testing import check_structure
>>> from partwise.testing.toys import toy_chain
>>> structure, X, Y = toy_chain(seed=0)
>>> report = check_structure(structure, list(zip(X, Y)))
>>> report.skipped
('complete',)
"""

from partwise.testing.enumeration import (
    EnumeratedStructure,
    Optimum,
    brute_force_optimum,
)
from partwise.testing.errors import Report, SolverError, StructureError
from partwise.testing.outputs import OutputError, check_output
from partwise.testing.solvers import check_solver
from partwise.testing.structures import check_structure

__all__ = [
    "EnumeratedStructure",
    "Optimum",
    "OutputError",
    "Report",
    "SolverError",
    "StructureError",
    "brute_force_optimum",
    "check_output",
    "check_solver",
    "check_structure",
]
