"""What a step of tangor.torch costs at d = 1,000,000 parameters and m = 4 constraints, beside one of Adam on the same closure.

    python benchmarks/torch_step.py [--batch 128] [--recursion rows]

Each step has a batch of its own; the first 110 are not measured. Times are those of the processor with one thread: medians of passes and of each kind of step, and the mean of all steps,
those that compare two batches (one in ten, and the one before each) and those that are tried again included. Memory is the most that tensors of at least 256 KB hold after a pass
over a batch, beside the parameters and the data.
"""

import argparse
import copy
import gc
import statistics
import time

import torch

from tangor.torch import Tangor

CONSTRAINTS, POOL, WARM = 4, 32, 110


def make(batch):
    """A network with about 1,000,000 parameters, and a pool of batches for its closures; the constraints are mean outputs over quarters of a batch."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(492, 660), torch.nn.Tanh(), torch.nn.Linear(660, 660), torch.nn.Tanh(), torch.nn.Linear(660, 360))
    pool = [(torch.randn(batch, 492), torch.randn(batch, 360)) for _ in range(POOL)]

    def closure_of(number, model=model):
        x, y = pool[number % POOL]

        def closure():
            p = model(x)
            return (p - y).square().mean(), torch.stack([part.mean() for part in p.chunk(CONSTRAINTS)])

        return closure

    return model, pool, closure_of


def seconds(action):
    """The processor's time."""
    began = time.process_time()
    action()
    return time.process_time() - began


def memory_of(optimizer, known, closure_of, steps=10):
    """Bytes of tensors that are not known, the most of some steps."""
    places, most, evaluate = {one.untyped_storage().data_ptr() for one in known}, 0, optimizer._evaluator.evaluate

    def watched(*args):
        nonlocal most
        batch = evaluate(*args)
        gc.collect()
        tensors = [one for one in gc.get_objects() if type(one) in (torch.Tensor, torch.nn.Parameter)] + batch.parts
        storages = {one.untyped_storage().data_ptr(): one.untyped_storage().nbytes() for one in tensors}
        most = max(most, sum(size for place, size in storages.items() if place not in places and size >= 1 << 18))
        return batch

    optimizer._evaluator.evaluate = watched
    for number in range(steps):
        optimizer.step(closure_of(number))
    return most


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--repeats", type=int, default=60)
    parser.add_argument("--recursion", choices=["rows", "lagrangian"], default="lagrangian")
    options = parser.parse_args()
    torch.set_num_threads(1)
    model, pool, closure_of = make(options.batch)
    parameters = list(model.parameters())
    d = sum(p.numel() for p in parameters)
    # Adam has a model of its own: each method goes its own way.
    other = copy.deepcopy(model)
    adam = torch.optim.Adam(other.parameters(), lr=1e-4)
    optimizer = Tangor(parameters, constraints=CONSTRAINTS, lower=-0.01, upper=0.01, first_batches=2, recursion=options.recursion)
    evaluate, kind, spent = optimizer._evaluator.evaluate, [], []

    def adam_step(closure):
        adam.zero_grad()
        loss, c = closure()
        (loss + c.sum()).backward()
        adam.step()

    def timed(*args):
        began = time.process_time()
        batch = evaluate(*args)
        spent.append(time.process_time() - began)
        *_, weights, _, all_rows = args
        kind.append(1 + CONSTRAINTS if all_rows else len(weights))
        return batch

    optimizer._evaluator.evaluate = timed
    for number in range(WARM):
        optimizer.step(closure_of(number))
        adam_step(closure_of(number, other))
    actions = {"forward": lambda closure: closure(), "both": lambda closure: torch.autograd.grad(closure()[0], parameters), "adam": adam_step}
    times, steps = {name: [] for name in actions}, {}
    for number in range(WARM, WARM + options.repeats):
        # One after the other, so that a busy machine is so for all of them.
        closure = closure_of(number)
        closure()
        for name, action in actions.items():
            its = closure_of(number, other) if name == "adam" else closure
            times[name].append(seconds(lambda: action(its)))
        kind.clear()
        spent.clear()
        total = seconds(lambda: optimizer.step(closure))
        steps.setdefault(tuple(kind), []).append((total, sum(spent)))
    forward, both, plain = (statistics.median(times[name]) for name in actions)
    backward, every = both - forward, [one for some in steps.values() for one in some]
    mean, within = (statistics.fmean(one[k] for one in every) for k in range(2))
    print(f"d = {d}, m = {CONSTRAINTS}, batches of {options.batch}, {torch.get_num_threads()} thread")
    print(f"forward pass              {1e3 * forward:8.1f} ms")
    print(f"backward pass             {1e3 * backward:8.1f} ms")
    print(f"step of Adam              {1e3 * plain:8.1f} ms")
    for rows, some in sorted(steps.items(), key=lambda one: -len(one[1])):
        middle = statistics.median(one[0] for one in some)
        print(f"  {len(some):3d} steps with rows {str(rows):14s} {1e3 * middle:8.1f} ms = {middle / backward:.2f} backward passes")
    print(f"step of Tangor, mean      {1e3 * mean:8.1f} ms = {mean / backward:.2f} backward passes = {mean / plain:.2f} steps of Adam")
    print(f"  of it, passes over the batch {1e3 * within:.1f} ms, all else {1e3 * (mean - within):.1f} ms")
    print(f"allowed                   {1e3 * 1.15 * (2 + CONSTRAINTS) * backward:8.1f} ms = {1.15 * (2 + CONSTRAINTS):.2f} backward passes")
    adam.state.clear()
    known = [*parameters, *(one for pair in pool for one in pair), *other.parameters(), *(p.grad for p in other.parameters())]
    optimizer._evaluator.evaluate = evaluate
    print(f"memory                    {memory_of(optimizer, known, closure_of) / 4 / d:8.2f} d numbers, allowed {6 + 3 * CONSTRAINTS} d")


if __name__ == "__main__":
    main()
