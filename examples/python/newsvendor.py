"""How much to order of three goods whose demand is random: a noisy objective and a noisy constraint, drawn without end.

    minimise    E sum_i  price_i * smooth(order_i - demand_i) * 0.4 + margin_i * smooth(demand_i - order_i)
    subject to  E sum_i  volume_i * smooth(order_i - demand_i) <= 2      the leftover that the store can hold on average
                sum_i price_i * order_i <= 60,  0 <= order <= 30

where smooth(t) = (t + sqrt(t^2 + 1)) / 2 stands for max(t, 0). The demand of a draw is the same at every order.

    tangor solve --oracle "python3 newsvendor.py" --tolerance 0.5 --batch 8 --set sampling.judge.samples=40000

The leftover varies by 1.9 from draw to draw and its multiplier is near 6, so that 40,000 fresh samples tell the complementarity up to 0.15 or so; the usual
tolerance of 1e-6 would take about 1e15 of them. Without --tolerance the run says so, and to what its point is certified.
"""

import math
import random

import oracle

PRICE, MARGIN, VOLUME = (1.0, 2.0, 3.0), (3.0, 2.0, 5.0), (1.0, 0.5, 2.0)
MEAN, SPREAD = (10.0, 8.0, 6.0), (3.0, 2.0, 2.0)


def demand(draw):
    source = random.Random(draw)
    return [source.gauss(mean, spread) for mean, spread in zip(MEAN, SPREAD)]


def smooth(t):
    return 0.5 * (t + math.sqrt(t * t + 1.0))


def slope(t):
    return 0.5 * (1.0 + t / math.sqrt(t * t + 1.0))


def average(draws, function):
    """The average over the draws of a function of the demand that gives a list."""
    columns = zip(*(function(demand(draw)) for draw in draws))
    return [math.fsum(column) / len(draws) for column in columns]


def objective(x, draws):
    def cost(wanted):
        return [sum(0.4 * PRICE[i] * smooth(x[i] - wanted[i]) + MARGIN[i] * smooth(wanted[i] - x[i]) for i in range(3))]
    return average(draws, cost)


def together(x, draws):
    """Gradient, constraints and Jacobian: one pass over the demands for all three."""
    def everything(wanted):
        over = [x[i] - wanted[i] for i in range(3)]
        gradient = [0.4 * PRICE[i] * slope(over[i]) - MARGIN[i] * slope(-over[i]) for i in range(3)]
        leftover = sum(VOLUME[i] * smooth(over[i]) for i in range(3))
        return gradient + [leftover] + [VOLUME[i] * slope(over[i]) for i in range(3)]
    means = average(draws, everything)
    return means[:3], [means[3], sum(price * order for price, order in zip(PRICE, x))], means[4:] + list(PRICE)


oracle.serve(
    "newsvendor", [5.0, 5.0, 5.0], objective=objective, together=together,
    x_lower=[0.0] * 3, x_upper=[30.0] * 3, c_lower=[None, None], c_upper=[2.0, 60.0],
    variable_names=["apples", "pears", "plums"], row_names=["leftover", "budget"], linear_rows=[False, True],
    exact_rows=[False, True],
    gradient_access=oracle.ENDLESS, constraints_access=oracle.ENDLESS, jacobian_access=oracle.ENDLESS,
)
