"""Some columns of long rows, which stand for all of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

__all__ = ["Sample"]

# So many entries of a row, chosen at random, stand for all.
MOST = 16_384
# They come in runs, which are read faster than single ones.
RUN = 64


class Sample:
    """The same columns in every run; all of them where they are few. A sum over them times `factor` is about the sum over all."""

    def __init__(self, columns: int, device: torch.device) -> None:
        self.device = device
        self.columns: np.ndarray | None = None
        if columns > MOST:
            places = torch.randint(columns - RUN + 1, (MOST // RUN, 1), generator=torch.Generator().manual_seed(0))
            # Sorted, so that each part finds its own.
            self.columns = np.sort((places + torch.arange(RUN)).numpy().ravel())
        self.factor = 1.0 if self.columns is None else columns / MOST
        # Where they are in parts of these widths.
        self._places: dict[tuple[int, ...], list[torch.Tensor]] = {}

    def of(self, parts: Sequence[torch.Tensor]) -> torch.Tensor:
        """These columns of rows that are given in parts."""
        if self.columns is None:
            return torch.cat(list(parts), dim=1)
        widths = tuple(part.shape[1] for part in parts)
        if widths not in self._places:
            self._places[widths] = self._find(self.columns, widths)
        return torch.cat([part.index_select(1, place) for part, place in zip(parts, self._places[widths])], dim=1)

    def _find(self, columns: np.ndarray, widths: tuple[int, ...]) -> list[torch.Tensor]:
        starts = np.cumsum([0, *widths])
        edges = np.searchsorted(columns, starts)
        return [torch.as_tensor(columns[first:last] - start, device=self.device) for first, last, start in zip(edges, edges[1:], starts)]
