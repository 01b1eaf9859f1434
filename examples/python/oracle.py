"""Lets a Python program be an oracle of Tangor: it answers questions about a problem over its standard streams.

    minimise E F(x, xi)   subject to   c_lower <= E C(x, zeta) <= c_upper,   x_lower <= x <= x_upper

A model calls `serve` once, with its data and its functions. Only the standard library is needed; with NumPy, numbers travel without
work for each of them, and `x` is one of its arrays. The protocol is described in docs/oracle.md.
"""

import copy
import json
import math
import os
import sys
import traceback
from array import array

try:
    import numpy
except ImportError:
    numpy = None

VERSION = 1
EXACT = "exact"
ENDLESS = "endless"


def finite(size):
    """The access to a population of this size: draws are 0, 1, ..., size - 1."""
    return {"finite": size}


class Undefined(Exception):
    """Raised by a function that has no value at a point; the solver then takes a shorter step."""


def _streams():
    """The two streams of the conversation. What the model prints goes to standard error, where it does no harm."""
    questions, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    # What was printed before is still in the buffer, and now goes there, too.
    sys.stdout.flush()
    return questions, answers


# As soon as this module is imported: a model may print before it serves.
_QUESTIONS, _ANSWERS = _streams()


def serve(name, x0, gradient=None, objective=None, constraints=None, jacobian=None, *, x_lower=None, x_upper=None,
          c_lower=(), c_upper=(), pattern=None, variable_names=(), row_names=(), linear_rows=(), exact_rows=(),
          gradient_access=EXACT, constraints_access=EXACT, jacobian_access=EXACT, together=None, most_draws=None,
          payload="binary"):
    """Answers questions until the solver has no more.

    Each function is called as `function(x, draws)` with two arrays and gives the average over the draws: `objective` a number,
    `gradient` n numbers, `constraints` m numbers, `jacobian` its rows one after another, or the values of the entries that
    `pattern` lists as pairs (row, column). Without `objective` and `gradient` there is nothing to minimise; an objective without a
    gradient gets one by differences, inside of the bounds and with the same draws. Draws are empty when the access is exact; the
    same draw must mean the same randomness at every x. A bound that is None, or infinite, is none. A value that is NaN or infinite
    says that the function has none at the point.

    `together(x, draws)` gives the tuple of gradient, constraints and Jacobian in one call, instead of the three functions.
    `exact_rows` says, True or False for each of the constraints, which of them have no noise where the others do: draws cannot tell, since
    a row that does not vary among them may wait for a rare event. `most_draws` is the largest number of draws in one call: the solver then asks several times and averages.
    """
    questions, answers = _QUESTIONS, _ANSWERS
    if together is not None:
        gradient, constraints, jacobian = _apart(together, len(c_lower) > 0)
    _check(constraints, jacobian, c_lower, most_draws)
    if objective is not None and gradient is None:
        gradient = _differences(objective, x_lower, x_upper)
    greeting = json.loads(questions.readline() or "{}")
    if greeting.get("tangor") != VERSION:
        return _say(answers, {"tangor": VERSION, "error": f"this oracle speaks only version {VERSION} of the protocol"})
    binary = payload == "binary"
    functions = {"objective": objective, "gradient": gradient, "constraints": constraints, "jacobian": jacobian}
    introduction = {
        "tangor": VERSION, "payload": payload, "name": name, "n": len(x0), "m": len(c_lower), "x0": _numbers(x0).tolist(),
        "x_lower": _bounds(x_lower), "x_upper": _bounds(x_upper), "c_lower": _bounds(c_lower), "c_upper": _bounds(c_upper),
        "variable_names": list(variable_names), "row_names": list(row_names), "linear_rows": list(linear_rows),
        "exact_rows": list(exact_rows),
        "objective": "none" if gradient is None else "gradient" if objective is None else "value",
        "accesses": {"gradient": gradient_access, "constraints": constraints_access, "jacobian": jacobian_access},
        "several": True, "most_draws": most_draws,
    }
    if pattern is not None:
        rows, columns = [row for row, _ in pattern], [column for _, column in pattern]
        introduction["jacobian"] = {"rows": rows, "columns": columns}
    _say(answers, introduction)
    while line := questions.readline():
        question = json.loads(line)
        draws, x = _arrays(question, questions, binary)
        _answer(answers, question, functions, x, draws, binary)


def _check(constraints, jacobian, c_lower, most_draws):
    """Refuses what would otherwise be asked in vain, or never."""
    if constraints is not None and jacobian is None:
        raise TypeError("the constraints have no Jacobian: serve needs both or none of them")
    if constraints is None and len(c_lower) > 0:
        raise TypeError("c_lower has limits, but there are no constraints: give their functions, or leave it out")
    if constraints is not None and len(c_lower) == 0:
        raise TypeError("the constraints have no limits: give c_lower and c_upper, with None where there is none")
    if most_draws is not None and most_draws < 1:
        raise ValueError(f"most_draws must be at least 1, not {most_draws}")


def _arrays(question, questions, binary):
    """The draws and the point of a question."""
    if not binary:
        draws, x = array("Q", question["draws"]), array("d", question["point"])
    else:
        draws, x = array("Q"), array("d")
        draws.frombytes(questions.read(8 * question["draws"]))
        x.frombytes(questions.read(8 * question["point"]))
        if sys.byteorder == "big":
            draws.byteswap()
            x.byteswap()
    # Draws stay an array of Python's, whose numbers seed every generator; numpy.asarray(draws) takes it without a copy.
    return draws, x if numpy is None else numpy.frombuffer(x, dtype=numpy.float64)


def _answer(answers, question, functions, x, draws, binary):
    header, asked = {"id": question["id"]}, question["evaluate"]
    names = [asked] if isinstance(asked, str) else asked
    try:
        # A point for each but the last, since a function may write into what it gets.
        parts = [_finite(name, functions[name](x if name == names[-1] else copy.copy(x), draws)) for name in names]
        values = parts[0]
        for part in parts[1:]:
            values = values + part if numpy is None else numpy.concatenate([values, part])
    except (Undefined, OverflowError) as reason:
        return _say(answers, header | {"undefined": str(reason) or "no reason is given"})
    except Exception as error:
        traceback.print_exc()
        place = traceback.extract_tb(error.__traceback__)[-1]
        cause = f"{type(error).__name__}: {error} ({os.path.basename(place.filename)}, line {place.lineno})"
        return _say(answers, header | {"error": cause})
    if not binary:
        return _say(answers, header | {"values": values.tolist()})
    if sys.byteorder == "big":
        values = array("d", values)
        values.byteswap()
    _say(answers, header | {"values": len(values)}, values.tobytes())


def _finite(name, values):
    """The values of a function as an array; where one of them is no number, the function is undefined."""
    values = _numbers(values)
    # In the usual case one pass that is not Python's own.
    if not (all(map(math.isfinite, values)) if numpy is None else numpy.isfinite(values).all()):
        strange = next(k for k, value in enumerate(values) if not math.isfinite(value))
        raise Undefined(f"value {strange} of {name} is {values[strange]}")
    return values


def _apart(together, has_rows):
    """Three functions out of one, which is called once for the same point and draws."""
    last = [None, None]

    def part(which):
        def function(x, draws):
            place = (x.tobytes(), draws.tobytes())
            if last[0] != place:
                last[:] = [None, None]
                parts = together(x, draws)
                if not (isinstance(parts, tuple) and len(parts) == 3):
                    raise TypeError("together(x, draws) must give a tuple of three: gradient, constraints and Jacobian")
                last[:] = [place, parts]
            return last[1][which]

        return function

    return (part(0), part(1), part(2)) if has_rows else (part(0), None, None)


def _numbers(values):
    """Anything that is a number or a sequence of numbers (lists, arrays of any kind and precision, tensors), as an array of doubles."""
    try:
        if isinstance(values, (list, tuple)) and len(values) > 0 and hasattr(values[0], "detach"):
            values = [_plain(value) for value in values]
        values = _plain(values)
        if numpy is not None:
            found = numpy.asarray(values)
            if found.dtype.kind not in "biufO":
                raise TypeError(f"they are of type {found.dtype}")
            # NumPy would make a NaN of None, and a forgotten value would look like an undefined one.
            if found.dtype.kind == "O" and any(value is None for value in found.flat):
                raise TypeError("one of them is None")
            return numpy.ascontiguousarray(found, dtype=numpy.float64).reshape(-1)
        if hasattr(values, "tolist"):
            values = values.tolist()
        return array("d", values) if hasattr(values, "__len__") else array("d", [values])
    except (TypeError, ValueError) as error:
        raise TypeError(f"a {type(values).__name__} was given where numbers are needed: {error}") from None


def _plain(values):
    """A tensor without what is known of its derivatives, where NumPy can read it: it knows no bfloat16."""
    if not hasattr(values, "detach"):
        return values
    values = values.detach().cpu()
    return values.double() if values.is_floating_point() else values


def _differences(objective, x_lower, x_upper):
    """The gradient of a function by differences of second order that stay inside of the bounds."""
    def bound(bounds, i, none):
        return none if bounds is None or bounds[i] is None else bounds[i]

    def gradient(x, draws):
        slopes = []
        for i in range(len(x)):
            lower, upper = bound(x_lower, i, -math.inf), bound(x_upper, i, math.inf)
            step = 6e-6 * max(1.0, abs(x[i]))
            points = _points(x[i], step, lower, upper)
            values = []
            for point in points:
                moved = x.copy() if numpy is not None else array("d", x)
                moved[i] = point
                values.append(_numbers(objective(moved, draws))[0])
            slopes.append(_slope(x[i], points, values))
        return slopes

    return gradient


def _points(x, step, lower, upper):
    """On both sides of x; where a bound is nearer than the step, x and two points on the side that has more room."""
    below, above = x - lower, upper - x
    if min(below, above) >= step:
        return [x - step, x + step]
    room = max(below, above)
    step = math.copysign(min(step, room / 2), above - below)
    points = [x, x + step, max(lower, min(upper, x + 2 * step))]
    return points if len(set(points)) == 3 else [x]


def _slope(x, points, values):
    """That of the parabola through the points; of one point, where the variable is fixed, 0."""
    if len(points) == 1:
        return 0.0
    if len(points) == 2:
        return (values[1] - values[0]) / (points[1] - points[0])
    a, b = points[1] - x, points[2] - x
    return ((values[1] - values[0]) * b / a - (values[2] - values[0]) * a / b) / (b - a)


def _bounds(values):
    """A list of floats, of which JSON's writer knows infinite ones, too; None stands for no bound."""
    return values if values is None else [None if value is None else float(value) for value in values]


def _say(answers, header, payload=b""):
    # Numbers of NumPy and tensors of one element are numbers, too.
    answers.write(json.dumps(header, default=lambda value: value.item()).encode() + b"\n" + payload)
    answers.flush()
