"""A progress bar as pooch wants it: `total`, `update`, `reset`, `close`."""

import time


class Bar:
    """One file's progress on standard error, drawn once its size is known."""

    def __init__(self, name: str) -> None:
        # rich, since pooch's own bar needs tqdm, which nothing else here does.
        from rich.console import Console
        from rich.progress import Progress

        self._progress = Progress(console=Console(stderr=True))
        self._task = self._progress.add_task(name, total=None)

    @property
    def total(self) -> float | None:
        """Bytes to come."""
        return self._progress.tasks[0].total

    @total.setter
    def total(self, n_bytes: int) -> None:
        self._progress.update(self._task, total=n_bytes)
        self._progress.start()

    def update(self, n_bytes: int) -> None:
        """Count bytes that came."""
        self._progress.advance(self._task, n_bytes)

    def reset(self) -> None:
        """Start counting again; pooch does so before it fills the bar."""
        self._progress.reset(self._task)

    def close(self) -> None:
        """Leave the bar as it stands."""
        self._progress.stop()


class Deadline:
    """A bar, or none, that ends a download which takes too long as a whole.

    Requests has limits for the time without an answer alone: a server that sends a
    byte now and then would hold a download for ever.
    """

    def __init__(self, seconds: float, bar: Bar | None) -> None:
        self._seconds = seconds
        self._end = time.monotonic() + seconds
        self._bar = bar
        self.total: int | None = None

    def update(self, n_bytes: int) -> None:
        """Count bytes that came; raises requests' `Timeout` when it is too late."""
        from requests import Timeout

        if time.monotonic() > self._end:
            raise Timeout(f"not complete after {self._seconds:g} seconds")
        if self._bar is not None:
            if self._bar.total is None and self.total:
                self._bar.total = self.total
            self._bar.update(n_bytes)

    def reset(self) -> None:
        """Start counting again; pooch does so before it fills the bar."""
        if self._bar is not None:
            self._bar.reset()

    def close(self) -> None:
        """Leave the bar as it stands."""
        if self._bar is not None:
            self._bar.close()
