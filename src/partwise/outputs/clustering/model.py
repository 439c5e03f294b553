"""A trained clusterer: clusters of items, without scikit-learn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from partwise.objective import Formulation
from partwise.outputs.explanation import Explanation
from partwise.outputs.rows import ScoreModel
from partwise.protocol import Ints
from partwise.structures.clustering import Items
from partwise.structures.clustering.partitions import joined
from partwise.structures.clustering.problem import pack_links
from partwise.structures.clustering.structure import clusters


class ClusteringModel(ScoreModel):
    """Scores links; strong ones make clusters.

    Parameters
    ----------
    scoring : RowFeatureScoring
    structure : Clustering or CorrelationClustering
    weights : array (n_features,)
        The last is the threshold of a link.
    info : dict
    """

    name: ClassVar[str] = "ClusteringModel"
    structure: Any

    def training_problem(
        self,
        X: Sequence[Items],
        y: Sequence[Any] | None,
        formulation: Formulation | None = None,
        n_jobs: int = 1,
    ) -> Any:
        """The problem of documents that have a link."""
        linked = [k for k, x in enumerate(X) if len(x.pairs)]
        if not linked:
            raise ValueError("no document has a candidate link")
        documents = [X[k] for k in linked]
        links = self.scoring.featurizer.transform(stacked(documents))
        sizes = [len(x.pairs) for x in documents]
        links = links._replace(offset=np.append(0, np.cumsum(sizes)).astype(np.int64))
        items = [(x.n_items, x.pairs) for x in documents]
        same = None if y is None else [joined(y[k], X[k].pairs) for k in linked]
        return pack_links(
            self.structure, links, items, same, formulation or Formulation(), n_jobs
        )

    def predict(self, X: Sequence[Items], *, n_jobs: int = 1) -> list[Ints]:
        """Cluster of each item, an array per document."""
        labels: list[Ints] = [np.arange(x.n_items) for x in X]
        linked = [k for k, x in enumerate(X) if len(x.pairs)]
        if linked:
            problem = self.training_problem(X, None, n_jobs=n_jobs)
            cuts = problem.predict_codes(problem.expand(self.weights))
            for k, output in zip(linked, problem.outputs(cuts), strict=True):
                labels[k] = clusters(X[k], output)
        return labels

    def explain_items(self, x: Items, *, top: int = 10) -> Explanation:
        """The features of the strongest link of a document."""
        if not len(x.pairs):
            return Explanation(["items"], ["apart"], ["linked"], 0.0, 0.0)
        best = int(np.argmax(self.row_scores(x.features)))
        a, b = np.reshape(x.pairs, (-1, 2))[best].tolist()
        row = x.features[best : best + 1]
        score = float(self.row_scores(row)[0])
        winner, runner = ("linked", "apart") if score > 0 else ("apart", "linked")
        sign = 1.0 if score > 0 else -1.0
        reasons = self.contributions(
            sign * self.scoring.row_shares(row, self.weights)[0], winner, runner, top
        )
        name = f"items {a} and {b}"
        return Explanation([name], [winner], [runner], score, abs(score), reasons)


def stacked(documents: Sequence[Items]) -> Any:
    """Features of all links, one matrix."""
    matrices = [x.features for x in documents]
    if any(sparse.issparse(matrix) for matrix in matrices):
        return sparse.vstack(matrices, format="csr")
    return np.vstack(matrices)
