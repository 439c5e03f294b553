"""Rankings: orders of the rows of a query, judged by pairs or by places."""

from partwise.structures.ranking.structure import RankedRows, Ranking

__all__ = ["RankedRows", "Ranking"]
