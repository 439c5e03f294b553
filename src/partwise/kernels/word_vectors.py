"""Groups of given word vectors by k-means."""

from __future__ import annotations

import numpy as np


def group_vectors(
    matrix: np.ndarray, counts: np.ndarray, n_clusters: int, random_state: int
) -> np.ndarray:
    """Clusters of vectors: k-means on those of the text, the nearest centre for others.

    Parameters
    ----------
    matrix : float32 array (n_words, n_dimensions)
    counts : int array (n_words,)
        Tokens of each word in the text; some are above zero.
    n_clusters : int
        At most: never more than different vectors in the text.
    random_state : int

    Returns
    -------
    int array (n_words,)
    """
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    known = matrix[counts > 0]
    n_clusters = min(n_clusters, len(np.unique(known, axis=0)))
    # several threads would add up centres in an order that changes from run to run
    with threadpool_limits(1):
        means = KMeans(n_clusters, random_state=random_state).fit(known)
        return means.predict(matrix)
