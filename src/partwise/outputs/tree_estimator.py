"""What estimators share that parse sentences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from partwise.outputs.kernel_fit import KernelParameters
from partwise.outputs.latent_estimator import PartlyLabelledEstimator
from partwise.readers.refusals import refuse_several


@dataclass(eq=False, repr=False, kw_only=True)
class TreeParser(KernelParameters, PartlyLabelledEstimator):
    """Base of estimators that predict trees of sentences."""

    kernel: Any = None
    match: Any = None

    def explain(self, x: Any, top: int = 10) -> Any:
        """Why the best tree of one sentence won.

        Winner against runner-up, with the `top` largest shares of the lead: of arcs, or
        of rules and features. Then the training sentences that decide: those behind the
        keys of a kernel, or of support structures of the dual, training sentences whose
        wrong tree ŷ carries weight α.
        """
        self._check_fitted()
        refuse_several(x)
        return self.model_.explain([x], top=top)

    def _has_keys(self) -> bool:
        return self.kernel is not None or self.match is not None
