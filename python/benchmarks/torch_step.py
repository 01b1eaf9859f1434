"""What a step of tangor.torch costs at d = 1,000,000 parameters and m = 4 constraints, beside one of Adam on the same closure.

    python benchmarks/torch_step.py [--batch 128] [--recursion lagrangian]

The closure's forward pass is the same for all. Times are those of the processor with one thread, medians over steps; a step that compares two
batches, one in ten, has a pass more. Memory is the most that tensors of at least 256 KB hold after a pass over a batch, beside the
parameters; large batches count, too.
"""

import argparse
import gc
import statistics
import time

import torch

from tangor.torch import Tangor

WIDTH, CONSTRAINTS = 1000, 4


def make(batch):
    """A network with about 1,000,000 parameters; the constraints are mean outputs over quarters of the batch."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(492, 660), torch.nn.Tanh(), torch.nn.Linear(660, 660), torch.nn.Tanh(), torch.nn.Linear(660, 360))
    x, y = torch.randn(batch, 492), torch.randn(batch, 360)

    def closure():
        p = model(x)
        return (p - y).square().mean(), torch.stack([part.mean() for part in p.chunk(CONSTRAINTS)])

    return model, closure


def seconds(action):
    """The processor's time."""
    began = time.process_time()
    action()
    return time.process_time() - began


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--repeats", type=int, default=31)
    parser.add_argument("--recursion", choices=["rows", "lagrangian"], default="rows")
    options = parser.parse_args()
    torch.set_num_threads(1)
    model, closure = make(options.batch)
    parameters = list(model.parameters())
    d = sum(p.numel() for p in parameters)

    adam = torch.optim.Adam(parameters, lr=1e-4)

    def adam_step():
        adam.zero_grad()
        loss, c = closure()
        (loss + c.sum()).backward()
        adam.step()

    optimizer = Tangor(parameters, constraints=CONSTRAINTS, lower=-0.01, upper=0.01, first_batches=2, recursion=options.recursion)
    evaluator, known, most = optimizer._evaluator, {p.data_ptr() for p in parameters}, 0
    evaluate = evaluator.evaluate
    spent, whole = [], []

    def timed(*args):
        began = time.process_time()
        batch = evaluate(*args)
        spent.append(time.process_time() - began)
        whole.append(len(batch.parts[0]) > 1)
        return batch

    evaluator.evaluate = timed
    for _ in range(14):
        optimizer.step(closure)
        adam_step()
    actions = {"forward": closure, "both": lambda: torch.autograd.grad(closure()[0], parameters), "adam": adam_step}
    times = {name: [] for name in (*actions, "step", "evaluations", "probe")}
    for _ in range(options.repeats):
        # One after the other, so that a busy machine is so for all of them.
        closure()
        for name, action in actions.items():
            times[name].append(seconds(action))
        spent.clear()
        whole.clear()
        total = seconds(lambda: optimizer.step(closure))
        usual = whole == [options.recursion == "rows", True]
        times["step" if usual else "probe"].append(total)
        if usual:
            times["evaluations"].append(sum(spent))
    forward, both, plain, step, evaluations = (statistics.median(times[name]) for name in (*actions, "step", "evaluations"))
    backward = both - forward

    def watched(*args):
        nonlocal most
        batch = evaluate(*args)
        gc.collect()
        tensors = [one for one in gc.get_objects() if isinstance(one, torch.Tensor)] + batch.parts
        storages = {one.untyped_storage().data_ptr(): one.untyped_storage().nbytes() for one in tensors}
        grads = {p.grad.untyped_storage().data_ptr() for p in parameters if p.grad is not None}
        most = max(most, sum(size for place, size in storages.items() if place not in known | grads and size >= 1 << 18))
        return batch

    adam.state.clear()
    evaluator.evaluate = watched
    for _ in range(3):
        optimizer.step(closure)
    unit, allowed = backward, 1.15 * (2 + CONSTRAINTS)
    print(f"d = {d}, m = {CONSTRAINTS}, batches of {options.batch}, {torch.get_num_threads()} thread")
    print(f"forward pass              {1e3 * forward:8.1f} ms")
    print(f"backward pass             {1e3 * backward:8.1f} ms")
    print(f"step of Adam              {1e3 * plain:8.1f} ms")
    print(f"step of Tangor            {1e3 * step:8.1f} ms = {step / unit:.2f} backward passes = {step / plain:.2f} steps of Adam")
    rows = 2 * (1 + CONSTRAINTS) if options.recursion == "rows" else 2 + CONSTRAINTS
    print(f"  2 forward passes, {rows} rows {1e3 * evaluations:8.1f} ms")
    print(f"  all else                {1e3 * (step - evaluations):8.1f} ms")
    print(f"step that compares        {1e3 * statistics.median(times['probe']):8.1f} ms, {len(times['probe'])} of {options.repeats}")
    print(f"allowed                   {1e3 * allowed * unit:8.1f} ms = {allowed:.2f} backward passes")
    print(f"memory                    {most / 4 / d:8.2f} d numbers, allowed {6 + 3 * CONSTRAINTS} d")


if __name__ == "__main__":
    main()
