"""The course of a run: a bar or lines while it goes on, and a picture of it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from ._optimizer import Tangor
from ._report import Report

__all__ = ["History"]

T = TypeVar("T")


class History:
    """Keeps the reports of an optimizer, one in every so many steps.

        history = History(optimizer, every=10)
        for batch in history.watch(loader):
            optimizer.step(lambda: loss_and_constraints(model, batch))
        history.plot().savefig("run.png")
    """

    def __init__(self, optimizer: Tangor, every: int = 10) -> None:
        if every < 1:
            raise ValueError(f"every must be a number of steps, at least 1, not {every!r}")
        self.optimizer, self.every = optimizer, every
        self.reports: list[Report] = []

    def add(self) -> Report:
        """Takes the report of now."""
        report = self.optimizer.report()
        self.reports.append(report)
        return report

    def watch(self, loader: Iterable[T], show: bool = True) -> Iterator[T]:
        """The batches of the loader. With tqdm a bar tells how the run goes, without it a line now and then."""
        bar, length = _bar(loader) if show else None, len(loader) if hasattr(loader, "__len__") else 0  # type: ignore[arg-type]
        try:
            for number, batch in enumerate(loader, start=1):
                yield batch
                if number % self.every == 0 or number == length:
                    report = self.add()
                    if bar is not None:
                        bar.set_postfix_str(report.line())
                    elif show:
                        print(report.line(), file=sys.stderr)
                if bar is not None:
                    bar.update()
        finally:
            if bar is not None:
                bar.close()

    def plot(self) -> Any:
        """Loss, residuals of the estimates and constraints against samples, or batches where samples were not counted; a figure of matplotlib."""
        try:
            from matplotlib.figure import Figure
        except ImportError as error:
            raise ImportError("a picture needs matplotlib, which is not installed: pip install matplotlib") from error
        if not self.reports:
            raise ValueError("there is nothing to draw yet: no report was taken")
        counted = self.reports[-1].samples > 0
        at = [report.samples if counted else report.batches for report in self.reports]
        figure = Figure(figsize=(7, 8), layout="constrained")
        loss, residuals, constraints = figure.subplots(3, sharex=True)
        loss.plot(at, [report.loss for report in self.reports])
        loss.set_ylabel("loss of the batch")
        for name in ("stationarity", "feasibility", "complementarity"):
            residuals.semilogy(at, [getattr(report, name) or float("nan") for report in self.reports], label=name)
        residuals.set_ylabel("residuals of the estimates")
        residuals.legend()
        for name in self.reports[-1].constraints:
            constraints.plot(at, [report.constraints[name] for report in self.reports], label=name)
        constraints.set_ylabel("constraints")
        constraints.set_xlabel("samples" if counted else "batches")
        if self.reports[-1].constraints:
            constraints.legend()
        return figure


def _bar(loader: Iterable[Any]) -> Any:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm(total=len(loader) if hasattr(loader, "__len__") else None)  # type: ignore[arg-type]
