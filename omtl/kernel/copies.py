"""Operations on copies of a part of the weights, by the kind of the part.

The copies are stored like the vectors of tasks (`omtl.kernel.vectors`), with copies instead of
tasks; those of a `RoundSum` have one more axis in front. The part is the first argument of each
operation, and selects its form.
"""

from __future__ import annotations

import numpy as np

from omtl.data.rows import Rows
from omtl.kernel.inlining import by_kind, by_rows, inlined
from omtl.kernel.many_vectors import axpys, axpys_of, dots
from omtl.kernel.products import axpy, rescale
from omtl.kernel.rules import row_at
from omtl.kernel.vectors import (
    SMALLEST_SCALE,
    GroupSparse,
    NormedSum,
    RoundSum,
    add_round,
    follow_norm,
    note_norm,
    shrink,
    stays_zero,
    threshold_sum,
)


@inlined
def _times_scale(scale, sums, out):
    for c in range(out.size):
        out[c] = scale[c] * sums[c]


@inlined
def _but_zero_vectors(square, sums, out):
    for c in range(out.size):
        out[c] = sums[c] if square[c] != 0.0 else 0.0


@by_kind
def take_products(part, x, first, last, sums, out):
    """Put the products of copies with `x` in ``out[first:last]``, in O(nonzeros) each."""
    dots(part.vectors, x, first, last, sums)
    _times_scale(part.scale[first:last], sums[0, first:last], out[first:last])


@take_products.of(RoundSum)
def _products_of_round_sum(part, x, first, last, sums, out):
    dots(part.vector, x, first, last, sums)
    _times_scale(part.scale[first:last, 0], sums[0, first:last], out[first:last])


@take_products.of(GroupSparse)
def _products_of_group_sparse(part, x, first, last, sums, out):
    dots(part.vectors, x, first, last, sums)
    _times_scale(part.scale[first:last], sums[0, first:last], out[first:last])
    _but_zero_vectors(part.norms.square[first:last], out[first:last], out[first:last])


@take_products.of(NormedSum)
def _products_of_normed_sum(part, x, first, last, sums, out):
    dots(part.vectors, x, first, last, sums)
    _but_zero_vectors(part.norms.square[first:last], sums[0, first:last], out[first:last])


@by_kind
def coefficient(part, step, c, x, y):  # noqa: ARG001
    """Return the factor with which to add the row to a copy's vector."""
    return step[0] * y / part.scale[c]


@coefficient.of(GroupSparse)
def _coefficient_of_group_sparse(part, step, c, x, y):
    a, threshold = step
    return 0.0 if stays_zero(part, c, a * y, x, threshold) else a * y / part.scale[c]


@coefficient.of(NormedSum)
def _coefficient_of_normed_sum(part, step, c, x, y):  # noqa: ARG001
    return step[0] * y


@by_kind
def add_rows(part, steps, x, first, last, which):
    """Add ``steps[c]`` times `x` to copies; only those in `which` have a step."""
    axpys_of(steps, x, first, last, which, part.vectors)


@by_kind
def finish_step(part, step, c, x, y, product):  # noqa: ARG001
    """Finish after the addition; `product` is the copy's product with the row before it."""
    shrink(part, c, step[1])


@finish_step.of(GroupSparse)
def _finish_group_sparse(part, step, c, x, y, product):
    a, threshold = step
    if not stays_zero(part, c, a * y, x, threshold):
        threshold_sum(part, c, a * y, x, threshold, product)


@finish_step.of(NormedSum)
def _finish_normed_sum(part, step, c, x, y, product):
    follow_norm(part, c, 1.0, step[0] * y, x, product)


@inlined
def add_later_to_copy(part, c, x, y):
    """Schedule y times an example for a copy of a `RoundSum`, to be added after the round."""
    part.label[c, x.task] = y
    part.example[c, x.task] = x.i


@by_kind
def close_copies(part, rates, first, last, rows, steps):
    """Update copies at the end of a round; `rates` are the steps of a `RoundSum`."""


@close_copies.of(NormedSum)
def _note_norms(part, rates, first, last, rows, steps):  # noqa: ARG001
    for c in range(first, last):
        note_norm(part, c)


@close_copies.of(RoundSum)
def _close_sums(part, rates, first, last, rows, steps):
    rate, divisor = rates
    add_rounds(part, rows, rate, first, last, steps)
    for c in range(first, last):
        part.scale[c, 0] /= divisor[c]
        if part.scale[c, 0] < SMALLEST_SCALE:
            rescale(part.vector[c], part.scale[c, 0])
            part.scale[c, 0] = 1.0


def _add_rounds_by_copy(part, rows, rate, first, last, steps):  # noqa: ARG001
    for c in range(first, last):
        vector = part.vector[c]
        add_round(RoundSum(vector, part.scale[c], part.label[c], part.example[c]), rate[c], rows)


def _add_rounds_by_task(part, rows, rate, first, last, steps):
    for i in range(part.label.shape[1]):
        x = -1
        for c in range(first, last):
            steps[c] = 0.0
            if part.label[c, i] != 0.0:
                step = rate[c] * part.label[c, i] / part.scale[c, 0]
                if x < 0:
                    x = part.example[c, i]
                if part.example[c, i] == x:
                    steps[c] = step
                else:  # the task had more than one example in the round
                    axpy(step, row_at(rows, part.example[c, i]), part.vector[c])
                part.label[c, i] = 0.0
        if x >= 0:
            axpys(steps, row_at(rows, x), first, last, part.vector)


@by_rows(dense=_add_rounds_by_copy, sparse=_add_rounds_by_task)
def add_rounds(
    part: RoundSum,
    rows: Rows,
    rate: np.ndarray,
    first: int,
    last: int,
    steps: np.ndarray,  # noqa: ARG001
) -> None:
    """Add the round's examples, ``rate[c]`` times, to copies of a `RoundSum`."""
    for c in range(first, last):
        vector = part.vector[c]
        add_round(RoundSum(vector, part.scale[c], part.label[c], part.example[c]), rate[c], rows)


@inlined
def _copy_weights(w, new, features):
    for e in range(features.size):
        j = np.uint32(features[e])
        new[j] = w[j]


@inlined
def _copy_norms(norms, c, new):
    norms.square[new] = norms.square[c]
    norms.unseen[new] = norms.unseen[c]
    norms.error[new] = norms.error[c]


@by_kind
def copy_part(part, c, new, features):
    """Copy one copy to another one with zero vectors; the first is zero outside features."""
    part.scale[new] = part.scale[c]
    _copy_weights(part.vectors[c], part.vectors[new], features)


@copy_part.of(GroupSparse)
def _copy_group_sparse(part, c, new, features):
    part.scale[new] = part.scale[c]
    _copy_weights(part.vectors[c], part.vectors[new], features)
    _copy_norms(part.norms, c, new)


@copy_part.of(NormedSum)
def _copy_normed_sum(part, c, new, features):
    _copy_weights(part.vectors[c], part.vectors[new], features)
    _copy_norms(part.norms, c, new)
    part.norm[new] = part.norm[c]


@copy_part.of(RoundSum)
def _copy_round_sum(part, c, new, features):
    _copy_weights(part.vector[c], part.vector[new], features)
    part.scale[new, 0] = part.scale[c, 0]
    for k in range(part.label.shape[1]):
        part.label[new, k] = part.label[c, k]
        part.example[new, k] = part.example[c, k]
