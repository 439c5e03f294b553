"""The task `depparse` with a kernel: trees through training sentences."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from partwise.outputs.dependency.task import DependencyTask
from partwise.outputs.task import Data, Listing


class KernelDependencyTask(DependencyTask):
    """Dependency trees with a kernel."""

    @classmethod
    def report_facts(cls, model: Any) -> list[tuple[str, str]]:
        """What is compared, and how many training sentences are kept."""
        index = model.index
        facts = [("Arcs match by", ", ".join(model.hasher.names))]
        if index.kernel is not None:
            facts.append(("Kernel", str(index.kernel)))
            facts.append(("Training sentences kept", f"{index.n_anchors:,}"))
        return [*super().report_facts(model), *facts]

    @classmethod
    def facts(cls, model: Any) -> dict[str, Any]:
        """Relations, hash functions, kernel, anchors."""
        index = model.index
        return {
            "labels": model.labels,
            "n_features": len(model.weights),
            "match": model.hasher.names,
            "kernel": None if index.kernel is None else index.kernel.to_dict(),
            "clusters": 0 if model.clusters is None else model.clusters.n_clusters,
            "n_keys": len(index.key),
            "n_anchors": index.n_anchors,
            "trees": model.structure.get_params(),
            "labeller": model.labeller is not None,
            "support": 0 if model.support is None else len(model.support.alpha),
            "reader": model.info.get("reader", {}),
        }

    @classmethod
    def telling_parts(
        cls, model: Any, top: int
    ) -> tuple[dict[str, Any], list[Listing]]:
        """The training sentences, or the keys, with the largest coefficients."""
        index, anchors = model.index, model.index.anchors
        if not top:
            return {"sentences": []}, []
        if anchors is None:
            order = np.argsort(-np.abs(model.weights), kind="stable")[:top]
            keys = [(index.names[k], float(model.weights[k])) for k in order.tolist()]
            shown = [(f"{weight:+.4f}", name) for name, weight in keys]
            return {"keys": keys}, [Listing("keys of arcs", (), shown)]
        size = np.sqrt(np.bincount(index.anchor, model.weights**2, index.n_anchors))
        words = anchors.inputs.strings(next(iter(anchors.inputs.columns)))
        found = [
            {"row": int(anchors.row[a]), "words": words[a], "size": float(size[a])}
            for a in np.argsort(-size, kind="stable")[:top].tolist()
        ]
        rows = [
            (f"{own['size']:.4f}", str(own["row"]), " ".join(own["words"]))
            for own in found
        ]
        names = ("coefficients", "row", "")
        return {"sentences": found}, [Listing("training sentences", names, rows)]

    def explain(
        self, model: Any, data: Data, row: int, top: int
    ) -> tuple[dict[str, Any], str]:
        """The training sentences that carried the decision."""
        explanation = model.explain(data.X[row], top=top)
        told = asdict(explanation)
        told["support"] = [own._asdict() for own in explanation.support]
        return told, str(explanation)
