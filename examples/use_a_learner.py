"""A learner in one's own program: a pipeline, a search, a file, and a task that is new."""

import numpy as np
import sklearn
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from omtl import PassiveAggressive
from omtl.sklearn import load

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 4)) * [1.0, 10.0, 0.1, 1.0]
y, task = X[:, 0] > 0, np.tile(["ann", "bob", "cleo"], 100)

with sklearn.config_context(enable_metadata_routing=True):
    learner = PassiveAggressive().set_fit_request(task=True).set_score_request(task=True)
    pipeline = make_pipeline(StandardScaler(), learner)
    search = GridSearchCV(pipeline, {"passiveaggressive__C": [0.001, 0.1]}, cv=3)
    search.fit(X, y, task=task)
    assert search.score(X, y, task=task) > 0.9

model = PassiveAggressive(C=0.1).fit(X[:, :1], y, task=task)
model.save("model.npz")
again = load("model.npz").partial_fit(X[:1, :1], y[:1], task=["dora"])  # a new task
assert again.predict(X[:1, :1], task=["dora"]).shape == (1,)
print(search.best_params_, again.tasks_)
