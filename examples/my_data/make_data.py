"""Make my_data.csv: answers of three people, who agree in part, to what three numbers tell."""

import csv
from pathlib import Path

import numpy as np

N_ANSWERS = 200
"""Of each person."""

rng = np.random.default_rng(2024)
shared = rng.normal(size=3)
with (Path(__file__).parent / "my_data.csv").open("w", encoding="ascii", newline="") as file:
    rows = csv.writer(file, lineterminator="\n")
    rows.writerow(["person", "size", "price", "age", "likes"])
    for person in ("anna", "ben", "chen"):
        taste = shared + 0.3 * rng.normal(size=3)
        for thing in rng.normal(size=(N_ANSWERS, 3)).round(3):
            rows.writerow([person, *thing.tolist(), int(thing @ taste > 0.0)])
