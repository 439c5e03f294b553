"""The task `tag` with a kernel: labels through training tokens or sequences."""

from __future__ import annotations

from typing import Any

from partwise.outputs.sequence.task import TagTask


class KernelTagTask(TagTask):
    """Label sequences with a kernel."""

    @classmethod
    def report_facts(cls, model: Any) -> list[tuple[str, str]]:
        """What is compared, and how much of the training data is kept."""
        index = model.index
        facts = [("Labels match by", ", ".join(model.hasher.names))]
        if index.kernel is not None:
            facts.append(("Kernel", str(index.kernel)))
            facts.append(("Anchors", f"{index.n_anchors:,}"))
        return [*super().report_facts(model), *facts]

    @classmethod
    def facts(cls, model: Any) -> dict[str, Any]:
        """Labels, hash functions, kernel, anchors, chain."""
        index = model.index
        featurizer = None
        if model.featurizer is not None:
            featurizer, _ = model.featurizer.state()
        return {
            "labels": model.labels,
            "n_features": len(index.anchor),
            "featurizer": featurizer,
            "match": model.hasher.names,
            "kernel": None if index.kernel is None else index.kernel.to_dict(),
            "n_keys": len(index.key),
            "n_anchors": index.n_anchors,
            **cls.chain_facts(model),
        }
