"""Which numbers of a table or figure are wanted, from what a user gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from omtl.api.names import known_name
from omtl.compute.store import Store
from omtl.experiment.config import options
from omtl.experiment.descriptions import CLOSEST
from omtl.experiment.schema import choose
from omtl.experiment.specs import ParallelSpec
from omtl.tables.request import Request
from omtl.util import user_folder

if TYPE_CHECKING:
    from typing import Literal, Unpack


class ParallelOptions(TypedDict, total=False):
    """How units are computed.

    ``parallel`` names an option of ``conf/parallel``, by default threads, with ``jobs`` workers, by
    default one per core; ``address`` is that of a cluster.
    """

    parallel: str
    jobs: int | None
    address: str | None


class RequestOptions(ParallelOptions, total=False):
    """Which numbers are wanted, and how they are computed (`ParallelOptions`).

    ``reading`` is a standard reading or another of the paper, by default the closest one;
    ``repeats`` the number of the paper's repeats, by default as many as published, or for a table
    ``"auto"``, as many of these as each verdict needs; ``selection`` a selection rule, by default
    the table's own. ``one_draw`` shuffles one draw of synthetic data, as the papers do; ``times``
    replaces the times in ``results/``; ``slow`` includes the cells that take hours; ``search``
    names a search of large grids, instead of the table's own.
    """

    reading: str | None
    repeats: int | Literal["auto"] | None
    seed: int
    selection: str | None
    one_draw: bool
    times: bool
    slow: bool
    search: str | None


def request_for(**given: Unpack[RequestOptions]) -> Request:
    """Return a request for a table or figure.

    Raises
    ------
    UserError
        If there is no such option, or a number is out of range.
    """
    user_folder.find()
    for name in given:
        choose("option", name, list(RequestOptions.__annotations__))
    selection, search = given.get("selection"), given.get("search")
    known = {name.rpartition("/")[2] if "/" in name else name for name in options("reading")}
    reading = given.get("reading") or CLOSEST
    return Request(
        reading if "/" in reading else known_name("reading", reading, known),
        given.get("repeats"),
        given.get("seed", 0),
        selection and known_name("selection", selection, options("selection")),
        parallel_for(given.get("parallel", "threads"), given.get("jobs"), given.get("address")),
        Store.default(),
        given.get("one_draw", False),
        given.get("times", False),
        given.get("slow", False),
        search and known_name("search", search, options("search")),
    )


def parallel_for(
    parallel: str = "threads", jobs: int | None = None, address: str | None = None
) -> ParallelSpec:
    """Return a parallel engine.

    Raises
    ------
    UserError
        If there is none, or it takes no address.
    """
    given = {"parallel.*.jobs": jobs, "parallel.*.address": address}
    typed = {key: value for key, value in given.items() if value is not None}
    return ParallelSpec.named(known_name("parallel", parallel, options("parallel"))).patched(typed)
