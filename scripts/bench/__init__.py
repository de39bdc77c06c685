"""Benchmarks: what a person waits for, and every learner beside other programs and its limit.

    python -m scripts.bench                  # all parts
    python -m scripts.bench learners growth  # some of them

Each part writes ``results/bench/<part>.csv`` and prints it as a Markdown table, which stands in
``docs/performance.md``. Every conclusion rests on the ratio of two times measured in turns in one
run. pytest-benchmark and asv time one contender after the other, so on a machine whose speed drifts
their ratios drift too: only this, taking turns, is written here.
"""
