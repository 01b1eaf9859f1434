"""Four learning tasks under constraints, in double precision: data, model, start, batches, and a measure on all the data.

The constraints of a task are `lower <= c <= upper`. Members of a finite population come in a new random order in every round.
"""

import csv
import math
from pathlib import Path

import numpy as np
import torch
from scipy.optimize import nnls

torch.set_default_dtype(torch.float64)
BATCH = 128


def shuffled(members, generator):
    """Batches of rows without end."""
    count = len(members[0])
    while True:
        order = torch.randperm(count, generator=generator)
        for at in range(0, count - BATCH + 1, BATCH):
            yield [member[order[at : at + BATCH]] for member in members]


class Task:
    """What all tasks have. `whole` is the batch that stands for the expectation."""

    def start(self, seed):
        raise NotImplementedError

    def members(self):
        """How many members the population has; 0 where it has no end."""
        return len(self.whole[0])

    def batches(self, seed):
        """Batches without end."""
        return shuffled(self.whole, torch.Generator().manual_seed(10_000 + seed))

    # The constraints alone, where they do not depend on the batch.
    exact_constraints = None

    def evaluate(self, x, batch):
        """Loss and constraints."""
        raise NotImplementedError

    def rows(self, c):
        """Constraints as `e = 0` and `i <= 0`, for methods that want them so."""
        equal = torch.tensor(self.lower == self.upper)
        below, above = c - torch.tensor(self.upper), torch.tensor(self.lower) - c
        one_sided = [side[~equal & torch.tensor(np.isfinite(bound))] for side, bound in ((below, self.upper), (above, self.lower))]
        return below[equal], torch.cat(one_sided)

    def loss_and_violation(self, x):
        """On all the data."""
        with torch.no_grad():
            loss, c = self.evaluate(x, self.whole)
        c = c.numpy()
        return float(loss), float(np.max(np.maximum(np.maximum(self.lower - c, c - self.upper), 0.0)))

    def measure(self, x):
        """Loss, largest violation and KKT residual on all the data, with the multipliers that fit best and have the right signs."""
        x = x.detach().clone().requires_grad_(True)
        loss, c = self.evaluate(x, self.whole)
        equal, below = self.rows(c)

        def derivative(value):
            return torch.autograd.grad(value, x, retain_graph=True)[0].numpy()

        g = derivative(loss)
        basis = np.linalg.qr(np.array([derivative(one) for one in equal]).T)[0] if len(equal) else np.zeros((len(g), 0))
        rest, complementarity = g - basis @ (basis.T @ g), 0.0
        if len(below):
            jacobian, slack = np.array([derivative(one) for one in below]), below.detach().numpy()
            free = jacobian.T - basis @ (basis.T @ jacobian.T)
            y = nnls(np.vstack([free, np.diag(slack)]), -np.concatenate([rest, np.zeros(len(slack))]))[0]
            rest, complementarity = rest + free @ y, float(np.linalg.norm(y * slack))
        loss, violation = self.loss_and_violation(x.detach())
        return {"loss": loss, "violation": violation, "kkt": math.hypot(float(np.linalg.norm(rest)), complementarity)}


class Logistic(Task):
    """569 tumours, standardised; ten random linear rows and `|x|^2 = 1` as exact equalities."""

    name, samples = "logistic", 256_000

    def __init__(self, _folder):
        from sklearn.datasets import load_breast_cancer

        features, labels = load_breast_cancer(return_X_y=True)
        features = (features - features.mean(axis=0)) / features.std(axis=0)
        self.whole = [torch.tensor(features), torch.tensor(2.0 * labels - 1.0)]
        random, d = np.random.default_rng(3), features.shape[1]
        self.matrix = torch.tensor(random.normal(size=(10, d)) / math.sqrt(d))
        inside = torch.tensor(random.normal(size=d))
        self.right = self.matrix @ (inside / inside.norm())
        self.lower = self.upper = np.zeros(11)

    def start(self, seed):
        x = torch.randn(self.whole[0].shape[1], generator=torch.Generator().manual_seed(seed))
        return x / x.norm()

    def evaluate(self, x, batch):
        loss = torch.nn.functional.softplus(-batch[1] * (batch[0] @ x)).mean()
        return loss, self.exact_constraints(x)

    def exact_constraints(self, x):
        return torch.cat([self.matrix @ x - self.right, (x @ x - 1.0).reshape(1)])


NUMBERS = ("age", "education_num", "capital_gain", "capital_loss", "hours_per_week")
WORDS = ("workclass", "marital_status", "occupation", "relationship", "race", "native_country")


def census(folder):
    """Features, whether the income is high, and whether it is a man, of the training rows of Adult (census income, UCI)."""
    with (Path(folder) / "adult_train.csv").open(newline="") as file:
        people = list(csv.DictReader(file))
    numbers = np.array([[float(one[name]) for name in NUMBERS] for one in people])
    numbers[:, 2:4] = np.log1p(numbers[:, 2:4])
    numbers = (numbers - numbers.mean(axis=0)) / numbers.std(axis=0, ddof=1)
    kinds = [(name, value) for name in WORDS for value in sorted({one[name] for one in people})]
    dummies = np.array([[float(one[name] == value) for name, value in kinds] for one in people])
    features = np.hstack([numbers, dummies, np.ones((len(people), 1))])
    return features, np.array([float(one["income"]) for one in people]), np.array([float(one["sex"] == "Male") for one in people])


class Adult(Task):
    """Mean predicted probabilities of men and women differ by at most 0.02, overall and among those with a high income."""

    name, samples = "adult", 512_000

    def __init__(self, folder):
        features, high, man = census(folder)

        def gap(weight):
            first, second = man * weight, (1.0 - man) * weight
            return first / first.mean() - second / second.mean()

        self.whole = [torch.tensor(one) for one in (features, high, np.stack([gap(np.ones_like(high)), gap(high)], axis=1))]
        self.width = features.shape[1]
        self.lower, self.upper = np.full(2, -0.02), np.full(2, 0.02)

    def start(self, seed):
        return 0.01 * torch.randn(self.width, generator=torch.Generator().manual_seed(seed))

    def logits(self, x, features):
        return features @ x

    def evaluate(self, x, batch):
        features, high, weights = batch
        z = self.logits(x, features)
        loss = torch.nn.functional.softplus(z).mean() - (high * z).mean() + 0.5e-4 * (x @ x)
        return loss, (weights * torch.sigmoid(z)[:, None]).mean(dim=0)


class AdultNetwork(Adult):
    """The same with 32 hidden units."""

    name, hidden = "adult-network", 32

    def start(self, seed):
        generator = torch.Generator().manual_seed(seed)
        inner = torch.randn(self.width * self.hidden, generator=generator) / math.sqrt(self.width)
        outer = torch.randn(self.hidden, generator=generator) / math.sqrt(self.hidden)
        return torch.cat([inner, outer, torch.zeros(1)])

    def logits(self, x, features):
        inner, outer, shift = x.split([self.width * self.hidden, self.hidden, 1])
        return torch.tanh(features @ inner.view(self.width, self.hidden)) @ outer + shift


class Heat(Task):
    """A network for `u_t = 0.1 u_xx` on the unit square: the residual at random points is the loss, 14 values on the border are exact."""

    name, samples, width, conductivity = "heat-network", 512_000, 20, 0.1

    def __init__(self, _folder):
        bottom = [(k / 9.0, 0.0) for k in range(1, 9)]
        sides = [(side, k / 2.0) for side in (0.0, 1.0) for k in range(3)]
        self.border = torch.tensor(bottom + sides)
        self.known = self.solution(self.border)
        grid = (torch.arange(45) + 0.5) / 45
        self.whole = [torch.cartesian_prod(grid, grid)]
        self.lower = self.upper = np.zeros(14)

    def solution(self, points):
        waves = [(1.0, 1.0), (0.5, 3.0)]
        rate = self.conductivity * math.pi**2
        return sum(a * torch.sin(k * math.pi * points[:, 0]) * torch.exp(-rate * k**2 * points[:, 1]) for a, k in waves)

    def start(self, seed):
        w, generator = self.width, torch.Generator().manual_seed(seed)
        first = 3.0 / math.sqrt(2.0) * torch.randn(2 * w, generator=generator)
        shifts = torch.randn(w, generator=generator)
        second = torch.randn(w * w, generator=generator) / math.sqrt(w)
        zeros, last = torch.zeros(w), torch.randn(w, generator=generator) / math.sqrt(w)
        return torch.cat([first, shifts, second, zeros, last, torch.zeros(1)])

    def members(self):
        return 0

    def batches(self, seed):
        generator = torch.Generator().manual_seed(10_000 + seed)
        while True:
            yield [torch.rand(BATCH, 2, generator=generator)]

    def _layers(self, x):
        w = self.width
        first, shifts, second, inner, last, shift = x.split([2 * w, w, w * w, w, w, 1])
        return first.view(2, w), shifts, second.view(w, w), inner, last, shift

    def _hidden(self, x, points):
        first, shifts, second, inner, _, _ = self._layers(x)
        a = torch.tanh(points @ first + shifts)
        return a, torch.tanh(a @ second + inner)

    def exact_constraints(self, x):
        *_, last, shift = self._layers(x)
        return self._hidden(x, self.border)[1] @ last + shift - self.known

    def evaluate(self, x, batch):
        first, _, second, _, last, _ = self._layers(x)
        a, b = self._hidden(x, batch[0])
        # Forward derivatives: a_t, a_x, a_xx of the first layer, then of what enters the second.
        slope = 1.0 - a * a
        a_x, a_t = slope * first[0], slope * first[1]
        z_x, z_t, z_xx = a_x @ second, a_t @ second, (-2.0 * a * a_x * first[0]) @ second
        steep = 1.0 - b * b
        u_t, u_xx = (steep * z_t) @ last, (steep * z_xx - 2.0 * b * steep * z_x * z_x) @ last
        return (u_t - self.conductivity * u_xx).square().mean(), self.exact_constraints(x)


TASKS = {task.name: task for task in (Logistic, Adult, AdultNetwork, Heat)}
