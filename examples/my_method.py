"""A method of one's own in a script or notebook: from a class and a frame to LaTeX and curves."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

import omtl
from omtl.ops import axpy, dot


@dataclass(frozen=True)
class Descent:
    eta: float = 0.1

    def new_state(self, shape):
        return np.zeros((shape.n_tasks, shape.n_features))

    def score(self, state, x):
        return dot(state[x.task], x)

    def update(self, state, x, y, score):
        axpy(self.eta * y * (y * score < 1.0), x, state[x.task])
        return bool(y * score < 1.0)


X = np.random.default_rng(0).normal(size=(200, 2))
frame = pd.DataFrame(X, columns=["age", "dose"])
frame = frame.assign(ill=X[:, 0] > 0, clinic=np.repeat(["A", "B"], 100))

data = omtl.datasets.from_frame(frame, label="ill", task="clinic", name="clinics")
found = omtl.compare(Descent, data, against=["pa", "majority"], grid={"eta": [0.1, 1]}, repeats=3)
print(found)
print(found.to_latex())
found.plot().figure.savefig("curves.pdf")
assert found.frame.set_index("algorithm").loc["majority", "outcome"] == "win"
