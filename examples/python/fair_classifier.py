"""A classifier that treats two groups alike, inside of scikit-learn.

    python examples/python/fair_classifier.py
"""

# %% Data: people of two groups, of whom one was paid better for the same work
import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from tangor.sklearn import ConstrainedLogisticRegression

rng = np.random.default_rng(0)
rows = 4000
sex = rng.choice(["female", "male"], rows)
years = rng.normal(12, 3, rows)
town = rng.choice(["north", "south", "west"], rows)
score = 0.4 * (years - 12) + 1.0 * (sex == "male") + 0.3 * (town == "west") + rng.logistic(size=rows)
people = pd.DataFrame({"sex": pd.Categorical(sex), "town": town, "years": years})
paid = np.where(score > 0.8, "high", "low")
X, X_test, y, y_test = train_test_split(people, paid, random_state=0)

# %% Three models: free, equal rates, equal chances for those who earn it
models = {
    "free": ConstrainedLogisticRegression(),
    "equal rates": ConstrainedLogisticRegression(rate_gap={"sex": 0.02}),
    "equal chances": ConstrainedLogisticRegression(true_positive_gap={"sex": 0.02}),
}
for name, model in models.items():
    model.fit(X, y)
    p = model.predict_proba(X_test)[:, list(model.classes_).index("low")]
    gap = p[X_test["sex"] == "male"].mean() - p[X_test["sex"] == "female"].mean()
    print(f"{name:14s} accuracy {model.score(X_test, y_test):.3f}   gap of the rates on new people {gap:+.3f}   {model.constraints_}")

assert abs(models["equal rates"].constraints_["rate gap of sex: female - male"]) <= 0.02 + 1e-6
