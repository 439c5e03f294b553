"""The base class of estimators that parse sentences."""

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

        Compares winner and runner-up, and shows the `top` largest shares of the lead:
        of arcs, or of rules and features. Then the training sentences that decide:
        the anchors of a kernel, or sentences of which a wrong tree ŷ has weight α in
        the dual.
        """
        self._check_fitted()
        refuse_several(x)
        return self.model_.explain([x], top=top)
