"""Strings of handwritten digits: real pixels, degraded, in a likely order."""

import numpy as np

from partwise.datasets._seed import RandomState, generator

# Not shuffled: neighbouring images tend to be of one hand, and a plain cut keeps
# the hands of the two subsets apart.
_N_TRAIN = 1200
_SUBSETS = {"train": slice(0, _N_TRAIN), "test": slice(_N_TRAIN, None)}

# What follows the digit d: usually d+1, sometimes d+3 (mod 10), seldom anything.
_STEPS = {1: 0.65, 3: 0.25}
_P_ANY = 0.10


def digit_strings(
    n: int = 400,
    *,
    length: tuple[int, int] = (4, 9),
    subset: str = "train",
    noise: float = 1.0,
    random_state: RandomState = 0,
) -> tuple[list[np.ndarray], list[list[str]]]:
    """Compose strings of handwritten digits whose order helps to read them.

    The pixels are those of scikit-learn's bundled digits, each image blurred,
    partly covered and speckled, so that many digits cannot be read on their own.
    The strings come from a Markov source in which a digit d is followed by
    d+1 (probability 0.65), d+3 (0.25) or any digit (0.10), modulo 10.

    Parameters
    ----------
    n : int, default=400
        Number of strings.
    length : (int, int), default=(4, 9)
        Least and greatest number of digits in a string, both included.
    subset : {"train", "test"}, default="train"
        Which images are used: the first 1,200 of the 1,797, or the others, so
        that no test image was seen in training.
    noise : float, default=1.0
        Strength of the degradation; 0 leaves the images as they are.
    random_state : int, numpy Generator or None, default=0
        Seed; equal seeds give different strings in the two subsets.

    Returns
    -------
    X : list of ndarray, shape (n_digits, 64)
        Pixels in [0, 1], row by row; see `digit_images`.
    y : list of list of str
        The digits, "0" to "9".

    Examples
    --------
    >>> X, y = digit_strings(2)
    >>> "".join(y[0]), X[0].shape
    ('678145892', (9, 64))
    """
    from sklearn.datasets import load_digits

    if subset not in _SUBSETS:
        raise ValueError(f"subset must be 'train' or 'test', not {subset!r}")
    shortest, longest = length
    if not 1 <= shortest <= longest:
        raise ValueError(f"length must be (least, greatest) from 1 up, not {length!r}")
    if noise < 0:
        raise ValueError(f"noise must not be negative, not {noise!r}")
    rng = generator(random_state, stream=list(_SUBSETS).index(subset))
    part = _SUBSETS[subset]
    pixels, targets = load_digits(return_X_y=True)
    pixels = pixels[part] / 16.0  # (n_images, 64)
    images_of = [np.flatnonzero(targets[part] == digit) for digit in range(10)]

    X, y = [], []
    for _ in range(n):
        n_digits = int(rng.integers(shortest, longest, endpoint=True))
        digits = _markov_string(n_digits, rng)
        rows = [rng.choice(images_of[digit]) for digit in digits]
        X.append(_degrade(digit_images(pixels[rows]), noise, rng).reshape(-1, 64))
        y.append([str(digit) for digit in digits])
    return X, y


def digit_images(x: np.ndarray) -> np.ndarray:
    """Shape the pixels of one string as pictures.

    Parameters
    ----------
    x : ndarray, shape (n_digits, 64)
        One item of the X of `digit_strings`.

    Returns
    -------
    ndarray, shape (n_digits, 8, 8)
        A view of the same pixels: digit, row, column.

    Examples
    --------
    >>> X, y = digit_strings(1)
    >>> digit_images(X[0]).shape
    (9, 8, 8)
    """
    return np.reshape(x, (-1, 8, 8))


def _markov_string(n_digits: int, rng: np.random.Generator) -> list[int]:
    """Draw a string of digits from the source."""
    steps = np.full(10, _P_ANY / 10)
    for step, probability in _STEPS.items():
        steps[step] += probability
    walk = rng.choice(10, size=n_digits, p=steps)
    walk[0] = rng.integers(10)
    return (np.cumsum(walk) % 10).tolist()


def _degrade(images: np.ndarray, noise: float, rng: np.random.Generator) -> np.ndarray:
    """Blur, cover and speckle each image by a random amount."""
    n_images = len(images)
    blur = np.minimum(1.0, noise * rng.uniform(0, 0.6, size=(n_images, 1, 1)))
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1)))
    windows = [padded[:, i : i + 8, j : j + 8] for i in range(3) for j in range(3)]
    degraded = (1 - blur) * images + blur * np.mean(windows, axis=0)

    # A bar of zero to three rows hides a part of the digit.
    thickness = np.minimum(8, np.rint(noise * rng.uniform(0, 3, size=n_images)))
    top = np.floor(rng.uniform(size=n_images) * (9 - thickness))
    row = np.arange(8)
    covered = (row >= top[:, None]) & (row < (top + thickness)[:, None])
    degraded[covered] = 0.0  # (n_images, 8) picks whole rows

    speckle = rng.normal(scale=0.18 * noise, size=images.shape)
    return np.clip(degraded + speckle, 0.0, 1.0)
