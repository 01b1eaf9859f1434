"""Figures of matplotlib that a notebook shows once."""

from __future__ import annotations

import matplotlib
import matplotlib.pyplot as plt
from matplotlib.figure import Figure


class Picture(Figure):
    """A notebook shows what a cell gives, and at its end all figures of pyplot: this one is shown by whichever comes first."""

    def _ipython_display_(self) -> None:
        if "inline" in matplotlib.get_backend():
            plt.close(self)
        # IPython goes on as with any other figure.
        raise NotImplementedError
