"""Random generators from the `random_state` of a public function."""

import numpy as np

RandomState = int | np.random.Generator | None


def generator(random_state: RandomState, stream: int = 0) -> np.random.Generator:
    """Return the generator given, or one seeded for this stream of draws."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if random_state is None:
        return np.random.default_rng()
    return np.random.default_rng([random_state, stream])
