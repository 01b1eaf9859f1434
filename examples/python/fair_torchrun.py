"""The network of fair_torch.py, trained by several processes: each draws its own people, and all take the same steps.

    torchrun --nproc-per-node 2 fair_torchrun.py           every process has the whole network
    torchrun --nproc-per-node 2 fair_torchrun.py --shard   every process has a shard of it (FSDP2)

Needs PyTorch: pip install torch
"""

import sys

import torch
import torch.distributed as dist

from tangor.torch import Tangor, certify

SHARE = 0.4  # of the second group, known beforehand: with it the gap is unbiased on every batch


def people(count, generator):
    """Features, labels and groups; the second feature depends on the group."""
    group = (torch.rand(count, generator=generator) < SHARE).float()
    x = torch.randn(count, 4, generator=generator)
    x[:, 1] += 1.5 * group
    y = (x[:, 0] + x[:, 1] + 0.5 * torch.randn(count, generator=generator) > 0.7).float()
    return x, y, group


def loss_and_gap(model, batch):
    x, y, group = batch
    z = model(x).squeeze(1)
    loss = torch.nn.functional.binary_cross_entropy_with_logits(z, y)
    gap = (torch.sigmoid(z) * (group / SHARE - (1 - group) / (1 - SHARE))).mean()
    return loss, gap.reshape(1)


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
    if "--shard" in sys.argv:
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard

        fully_shard(model, mesh=init_device_mesh("cpu", (dist.get_world_size(),)))
    optimizer = Tangor(model.parameters(), constraints=1, lower=-0.05, upper=0.05, names=["gap"])
    generator = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(300):
        batch = people(128, generator)
        optimizer.step(lambda: loss_and_gap(model, batch), samples=128)
    judged = certify(model, loss_and_gap, [people(512, generator) for _ in range(20)], optimizer=optimizer)
    if dist.get_rank() == 0:
        print(optimizer.report())
        print(judged)


if __name__ == "__main__":
    dist.init_process_group("gloo")
    try:
        main()
    finally:
        dist.destroy_process_group()
