"""Four learning tasks under constraints: tangor.torch, with nothing tuned, beside other methods that are tuned on a grid.

    pip install torch cooper-optim humancompatible-train scikit-learn matplotlib
    python benchmarks/learning.py run --adult DATA --out learning.jsonl
    python benchmarks/learning.py table learning.jsonl --pictures FOLDER

That is all tasks, methods and seeds, one after the other; `--resume` goes on where a run was ended. `run --share 0.02 --seeds 1` is the same in short, to see that everything runs.

All methods see the same batches of 128, and a batch that is taken at two points counts twice. A peer is tuned on a seed of its own with a share of
the samples: the settings with the least `loss + 10 violation` are taken. Losses, violations and KKT residuals are those on all the data.
"""

import argparse
import json
import statistics
import time
from pathlib import Path

import torch
from learning_peers import methods
from learning_tasks import BATCH, TASKS

from tangor.torch import Tangor

OURS = "Tangor"
MARKS = 20
TUNING_SEED = 100
# A step takes a batch at two points, and one that compares at two more.
POINTS = 4


class Ours:
    """The optimizer as it is. Over a finite population it ends with a repair, unless told otherwise."""

    def __init__(self, task, seed, recursion="lagrangian", repaired=True):
        self.task, self.x = task, torch.nn.Parameter(task.start(seed))
        self.optimizer = Tangor([self.x], constraints=len(task.lower), lower=task.lower, upper=task.upper, recursion=recursion)
        # An exact pass, and the values at the end of one step.
        self.last = 2 * task.members() if repaired else 0

    def set_share(self, done):
        pass

    def step(self, batch):
        before, members = self.optimizer.report().samples, self.task.members()
        left = self.task.samples - before
        if self.last and left < self.last + POINTS * BATCH:
            self.optimizer.repair(lambda whole: self.task.evaluate(self.x, whole), [self.task.whole], limit=self.task.samples)
            # What it leaves of its samples counts as spent.
            return left
        exact = None if self.task.exact_constraints is None else lambda: self.task.exact_constraints(self.x)
        self.optimizer.step(lambda: self.task.evaluate(self.x, batch), samples=BATCH, exact_constraints=exact)
        if members and self.optimizer.exact_pass_pays(members, self.task.samples - self.last):
            self.optimizer.exact_pass(lambda whole: self.task.evaluate(self.x, whole), [self.task.whole])
        return self.optimizer.report().samples - before


def train(task, method, seed, samples, marks):
    """Runs until the samples are spent; also the course: samples, loss, violation."""
    spent, course, began, measuring = 0, [], time.process_time(), 0.0
    for batch in task.batches(seed):
        while marks and spent * marks >= len(course) * samples:
            at = time.process_time()
            course.append([spent, *task.loss_and_violation(method.x.detach())])
            measuring += time.process_time() - at
        if spent >= samples:
            break
        method.set_share(spent / samples)
        spent += method.step(batch) or BATCH
    return course, spent, time.process_time() - began - measuring


def run_peer(task, make, form, grid, seeds, share):
    def score(settings):
        method = make(task, TUNING_SEED, form, **settings)
        train(task, method, TUNING_SEED, int(share * task.samples), 0)
        loss, violation = task.loss_and_violation(method.x.detach())
        value = loss + 10.0 * violation
        return value if value == value else float("inf")

    best = min(grid, key=score)
    for seed in seeds:
        method = make(task, seed, form, **best)
        yield seed, method, train(task, method, seed, task.samples, MARKS), best


def run_ours(task, seeds, given):
    for seed in seeds:
        method = Ours(task, seed, **given)
        yield seed, method, train(task, method, seed, task.samples, MARKS), {}


def rows_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def run(options):
    torch.set_num_threads(1)
    if options.out.exists() and not options.resume:
        raise SystemExit(f"{options.out} is there already: name another file, or go on with what is missing in it by --resume")
    done = {(row["task"], row["method"], row["seed"]) for row in rows_of(options.out)} if options.resume and options.out.exists() else set()
    with options.out.open("a") as out:
        for name in options.task or TASKS:
            if name.startswith("adult") and options.adult is None:
                print(f"{name} is left out: it needs the census data, --adult FOLDER")
                continue
            task = TASKS[name](options.adult)
            task.samples = int(options.share * task.samples)
            ours = {OURS: {}, f"{OURS}, all rows": {"recursion": "rows"}}
            if task.members() and (task.lower < task.upper).any():
                ours[f"{OURS}, no repair"] = {"repaired": False}
            runs = {label: lambda seeds, task=task, given=given: run_ours(task, seeds, given) for label, given in ours.items()}
            for peer, (make, form, grid) in methods(task).items():
                runs[peer] = lambda seeds, task=task, make=make, form=form, grid=grid: run_peer(task, make, form, grid, seeds, options.tuning)
            for label, begin in runs.items():
                if options.method and not any(label == wanted or wanted != OURS and label.startswith(wanted) for wanted in options.method):
                    continue
                seeds = [seed for seed in range(options.seeds) if (name, label, seed) not in done]
                if not seeds:
                    continue
                for seed, method, (course, spent, seconds), settings in begin(seeds):
                    row = {"task": name, "method": label, "seed": seed, "settings": settings, "samples": spent, "seconds": seconds}
                    row.update(task.measure(method.x.detach()), course=course)
                    out.write(json.dumps(row) + "\n")
                    out.flush()
                    print(f"{name}  {label}  {seed}  {row['loss']:.5f}  {row['violation']:.2e}  {row['kkt']:.2e}  {settings}", flush=True)


def table(options):
    rows = rows_of(options.file)
    middle = statistics.median_low
    print("| task | method | loss | violation | worst | KKT residual | seeds | seconds |\n" + "| --- " * 2 + "| ---: " * 6 + "|")
    for task in dict.fromkeys(row["task"] for row in rows):
        for method in dict.fromkeys(row["method"] for row in rows if row["task"] == task):
            some = [row for row in rows if (row["task"], row["method"]) == (task, method)]
            loss, violation, kkt, seconds = (middle([row[key] for row in some]) for key in ("loss", "violation", "kkt", "seconds"))
            worst = max(row["violation"] for row in some)
            print(f"| {task} | {method} | {loss:.5f} | {violation:.1e} | {worst:.1e} | {kkt:.1e} | {len(some)} | {seconds:.1f} |")
    if options.pictures:
        for task in dict.fromkeys(row["task"] for row in rows):
            draw([row for row in rows if row["task"] == task], options.pictures / f"torch-{task}.svg")


def draw(rows, path):
    """Loss and violation of one task against samples: medians over the seeds."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 4.4), layout="constrained")
    panels, lines = figure.subplots(1, 2), {}
    for method in dict.fromkeys(row["method"] for row in rows):
        courses = [row["course"] for row in rows if row["method"] == method]
        marks = range(min(len(course) for course in courses))
        samples = [statistics.median_low([course[k][0] for course in courses]) for k in marks]
        for place, name in ((1, "loss"), (2, "violation")):
            values = [statistics.median_low([course[k][place] for course in courses]) for k in marks]
            width = 2.2 if method == OURS else 1.0
            (lines[method],) = panels[place - 1].semilogy(samples, [max(value, 1e-10) for value in values], linewidth=width)
            panels[place - 1].set_title(f"{rows[0]['task']}: {name}")
            panels[place - 1].set_xlabel("samples")
    figure.legend(lines.values(), lines.keys(), loc="outside lower center", ncols=3)
    figure.savefig(path, metadata={"Date": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    running = commands.add_parser("run", help="run everything")
    running.add_argument("--task", nargs="*", choices=list(TASKS))
    running.add_argument("--method", nargs="*", help="only methods whose names begin so, as Cooper; Tangor is the one with its defaults")
    running.add_argument("--adult", type=Path, help="the folder of adult_train.csv")
    running.add_argument("--out", type=Path, default=Path("learning.jsonl"))
    running.add_argument("--resume", action="store_true", help="go on with the rows that are missing in the file")
    running.add_argument("--seeds", type=int, default=5)
    running.add_argument("--tuning", type=float, default=0.5, help="the share of the samples that tuning takes for each point of a grid")
    running.add_argument("--share", type=float, default=1.0, help="of the samples of each task, for a short run")
    running.set_defaults(action=run)
    showing = commands.add_parser("table", help="medians over the seeds, and a picture")
    showing.add_argument("file", type=Path)
    showing.add_argument("--pictures", type=Path, help="a folder for torch-TASK.svg, one for each task")
    showing.set_defaults(action=table)
    options = parser.parse_args()
    options.action(options)


if __name__ == "__main__":
    main()
