"""A progress bar as pooch wants it: `total`, `update`, `reset`, `close`."""


class Bar:
    """One file's progress on standard error, drawn once its size is known."""

    def __init__(self, name: str):
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
