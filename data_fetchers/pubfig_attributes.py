"""Attributes of faces, which stand in for the attributes of shoes.

The AKLO paper learns 10 attributes of shoes (pointy, shiny, formal, ...) from 990 features of an
image: 960 of its GIST and 30 of its colours. We did not find those data. These are the faces of the
same group's earlier paper (Parikh and Grauman, 2011), prepared in the same way: 772 images of 8
people, with 512 features of the GIST and 30 of the colours, and 11 attributes (male, smiling,
chubby, ...). A task is an attribute. All tasks share one pool of images, so an image's row is
repeated. Numbers on these data do not reproduce numbers on shoes.

An attribute belongs to a person, not to an image: all images of a person have the same labels, so a
task is to separate some of the 8 people from the others. The file's own relative orderings and
fitted predictions are not used.

Licence: unstated.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from data_fetchers._catalogue import catalogued, fetched
from data_fetchers._shared import check_counts, checked_choices, matlab, sampled, selected, sizes
from omtl.data.streams import Tasks

NAME, LICENCE, CITATION, FILES = catalogued("pubfig_attributes", "parikh2011relative")


def parse(content: bytes) -> Tasks:
    """Return all attributes as tasks, each with all images in the file's order.

    Parameters
    ----------
    content : bytes
        The MATLAB file's: ``feat``, ``class_labels``, ``binary_predicates`` and
        ``attribute_names``.
    """
    held = matlab(content)
    X = np.ascontiguousarray(held["feat"], dtype=np.float64)
    person = held["class_labels"].ravel().astype(np.int64) - 1
    has = held["binary_predicates"] == 1
    attributes = tuple(str(cell.item()) for cell in held["attribute_names"].ravel())
    return Tasks(
        np.tile(X, (len(attributes), 1)),
        np.where(has[person].T.ravel(), 1.0, -1.0),
        np.repeat(np.arange(len(attributes)), len(X)),
        attributes,
    )


def load(
    *,
    attributes: Sequence[str] | None = None,
    per_task: int | None = None,
    sample_seed: int | None = 0,
    positives: float | None = None,
) -> Tasks:
    """Download the file if necessary, and make a task of each attribute.

    Parameters
    ----------
    attributes : sequence of str, optional
        The attributes, in the tasks' order; else all 11, in the file's order.
    per_task : int, optional
        Number of examples to keep per task, drawn uniformly without replacement; default: all.
    sample_seed : int, optional
        Decides the draw; null for the first examples instead of a draw.
    positives : float, optional
        Share of the kept examples that have the attribute; default: as they come.

    Returns
    -------
    Tasks
        X : ndarray of shape (772 · n_tasks, 542): all images in the file's order, for each task.

    Raises
    ------
    DataMissing
        If the file is available nowhere.
    UserError
        An attribute is unknown, or the parsed counts are not as expected.
    """
    every = parse(fetched(NAME, FILES)[0])
    check_counts(NAME, {"features": every.X.shape[1]} | sizes(every, "images", "images with it"))
    part = selected(every, checked_choices(NAME, "attributes", attributes, every.names))
    return sampled(NAME, part, per_task, sample_seed, positives)
