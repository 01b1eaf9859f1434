"""A network whose mean predictions differ little between two groups, trained with tangor.torch on made-up data.

Needs PyTorch: pip install torch
"""

import torch

from tangor.torch import Tangor, certify

torch.manual_seed(0)
torch.set_num_threads(1)


def people(count):
    """Features, labels and groups; the second feature depends on the group."""
    group = (torch.rand(count) < 0.4).float()
    x = torch.randn(count, 4)
    x[:, 1] += 1.5 * group
    y = (x[:, 0] + x[:, 1] + 0.5 * torch.randn(count) > 0.7).float()
    return x, y, group


SHARE = 0.4  # of the second group, known beforehand: with it the gap is unbiased on every batch


def loss_and_gap(model, batch):
    x, y, group = batch
    z = model(x).squeeze(1)
    loss = torch.nn.functional.binary_cross_entropy_with_logits(z, y)
    gap = (torch.sigmoid(z) * (group / SHARE - (1 - group) / (1 - SHARE))).mean()
    return loss, gap.reshape(1)


model = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
optimizer = Tangor(model.parameters(), constraints=1, lower=-0.05, upper=0.05, names=["gap"])
for step in range(600):
    batch = people(128)
    optimizer.step(lambda: loss_and_gap(model, batch), samples=128)
    if step % 100 == 99:
        print(optimizer.report().line())

print(optimizer.report())
print(certify(model, loss_and_gap, [people(512) for _ in range(40)], optimizer=optimizer))
