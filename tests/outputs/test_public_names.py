"""Type checkers know the public names, which load on first use, from a stub.

It follows from the registry: ``python tests/outputs/test_public_names.py`` writes it.
"""

from pathlib import Path

import partwise
from partwise.outputs.registry import public_names

STUB = Path(partwise.__file__).parent / "outputs" / "public_names.pyi"


def stub() -> str:
    names = sorted(public_names().items(), key=lambda item: item[::-1])
    lines = [f"from {module} import {name} as {name}" for name, module in names]
    head = "# written by tests/outputs/test_public_names.py from the registry"
    return "\n".join([head, "", *lines, ""])


def test_the_stub_is_that_of_the_registry():
    assert STUB.read_text(encoding="utf-8") == stub(), f"run python {__file__}"


if __name__ == "__main__":
    STUB.write_text(stub(), encoding="utf-8")
