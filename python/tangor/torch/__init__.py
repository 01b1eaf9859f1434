"""Training under constraints: the stochastic method as an optimizer for PyTorch.

    from tangor.torch import Tangor

    optimizer = Tangor(model.parameters(), constraints=2, upper=0.02)
    for x, y in loader:
        optimizer.step(lambda: (loss(model(x), y), gaps(model(x), y)))
    print(optimizer.report())
"""

import contextlib as _contextlib

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise ImportError("tangor.torch needs PyTorch, which is not installed: pip install torch") from error

# Making any optimizer of torch imports this. Where a process group is there already, the import keeps it alive: threads of gloo then outlive
# `destroy_process_group`, and may abort the process while Python exits.
with _contextlib.suppress(ImportError):
    import torch._dynamo as _dynamo  # noqa: F401

from ._certify import Bounded, Certificate, certify
from ._history import History
from ._optimizer import Tangor
from ._report import Report

__all__ = ["Bounded", "Certificate", "History", "Report", "Tangor", "certify"]
