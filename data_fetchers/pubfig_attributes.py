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

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from data_fetchers._checks import chosen, expect_counts
from data_fetchers._matlab import matlab
from data_fetchers._sampling import sampled
from data_fetchers.fetch import RemoteFile, fetch, pinned
from omtl.data.streams import Tasks

NAME = "pubfig_attributes"
LICENCE = "unstated"
CITATION = """\
@inproceedings{parikh2011relative,
  author = {Parikh, Devi and Grauman, Kristen},
  title = {Relative Attributes},
  booktitle = {Proceedings of the IEEE International Conference on Computer Vision},
  pages = {503--510},
  year = {2011}
}
"""

FILES: tuple[RemoteFile, ...] = (
    RemoteFile(
        "pubfig_data.mat",
        "08a5681ee726c671414e6805e26a6b2be9b3d7c61b31064b3491b351dfca0dab",
        1_846_411,
        (
            pinned(
                "Kanav-7/RelativeAttributeCV",
                "e2a65872a1e1da26a3bc88b53a45ee8fd5652019",
                "pubfig_data.mat",
            ),
            pinned(
                "chaitanya100100/Relative-Attributes-Zero-Shot-Learning",
                "9e1dbb95b2e0cf32775add267d82f411ed9c5f96",
                "pubfig_data.mat",
            ),
        ),
    ),
)

N_FEATURES = 542
IMAGES_BY_PERSON = (95, 96, 97, 94, 97, 97, 98, 98)
POSITIVES = {
    "Male": 578,
    "White": 677,
    "Young": 292,
    "Smiling": 580,
    "Chubby": 95,
    "VisibleForehead": 580,
    "BushyEyebrows": 190,
    "NarrowEyes": 389,
    "PointyNose": 195,
    "BigLips": 289,
    "RoundFace": 289,
}
"""For each attribute, in the file's order: the number of images that have it."""


@dataclass(frozen=True)
class Images:
    """Parsed images, one per row of the file.

    Parameters
    ----------
    X : ndarray of shape (n_images, n_features), float64
        Features of the images.
    person : ndarray of shape (n_images,), int64
        The person in each image, from 0.
    has : ndarray of shape (n_people, n_attributes), bool
        Which attributes each person has.
    attributes : tuple of str
        The attributes' names.
    """

    X: np.ndarray
    person: np.ndarray
    has: np.ndarray
    attributes: tuple[str, ...]


def parse(content: bytes) -> Images:
    """Read the images.

    Parameters
    ----------
    content : bytes
        The MATLAB file's: ``feat``, ``class_labels``, ``binary_predicates`` and
        ``attribute_names``.

    Raises
    ------
    UserError
        If the content has another format.
    """
    parts = "'feat', 'class_labels', 'binary_predicates' and 'attribute_names'"
    with matlab(NAME, content, parts) as held:
        X = np.ascontiguousarray(held["feat"], dtype=np.float64)
        person = held["class_labels"].ravel().astype(np.int64) - 1
        has = held["binary_predicates"] == 1
        attributes = tuple(str(cell.item()) for cell in held["attribute_names"].ravel())
        if len(X) != len(person) or has.shape[1] != len(attributes):
            raise ValueError("people or names are missing")
        if not np.isin(person, np.arange(len(has))).all():
            raise ValueError("a person has no attributes")
    return Images(X, person, has, attributes)


def load(
    *,
    home: Path | None = None,
    attributes: Sequence[str] | None = None,
    per_task: int | None = None,
    sample_seed: int = 0,
    positives: float | None = None,
) -> Tasks:
    """Download the file if necessary, and make a task of each attribute.

    Parameters
    ----------
    home : Path, optional
        The folder of all data sets, as in `data_fetchers.fetch.fetch`.
    attributes : sequence of str, optional
        The attributes, in the tasks' order; else all 11, in the order of ``POSITIVES``.
    per_task : int, optional
        Number of examples to keep per task, drawn uniformly without replacement; default: all.
    sample_seed : int
        Decides the draw.
    positives : float, optional
        Share of the kept examples that have the attribute; default: as drawn.

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
    names = chosen(NAME, "attributes", attributes, POSITIVES)

    images = parse(fetch(NAME, FILES[0], home=home).read_bytes())
    positives_of = zip(images.attributes, images.has[images.person].sum(axis=0), strict=True)
    expect_counts(
        NAME,
        _counts(N_FEATURES, IMAGES_BY_PERSON, POSITIVES),
        _counts(images.X.shape[1], np.bincount(images.person), dict(positives_of)),
    )

    columns = [images.attributes.index(name) for name in names]
    has = images.has[images.person][:, columns]
    whole = Tasks(
        np.tile(images.X, (len(names), 1)),
        np.where(has.T.ravel(), 1.0, -1.0),
        np.repeat(np.arange(len(names)), len(images.X)),
        names,
    )
    return sampled(NAME, whole, per_task, sample_seed, positives)


def _counts(
    n_features: int, by_person: Iterable[int], by_attribute: Mapping[str, int]
) -> dict[str, int]:
    return (
        {"features": n_features}
        | {f"images of person {person}": n for person, n in enumerate(by_person, start=1)}
        | {f"images with {attribute}": n for attribute, n in by_attribute.items()}
    )
