"""The transcription of each learner, and how to play it on a stream."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

from scipy import sparse

from omtl.data.streams import Stream, Tasks
from omtl.kernel.rules import Shape
from omtl.learners.adagrad import AdaGrad
from omtl.learners.alma import ALMA
from omtl.learners.arow import AROW
from omtl.learners.cavallanti import MultiPerceptron
from omtl.learners.coml import COML
from omtl.learners.dom import DA, DOM1, DOM2, DST, NS
from omtl.learners.gradient import GradientDescent
from omtl.learners.hedge import HedgedMultiTask
from omtl.learners.lifelong import AKLO, OGD
from omtl.learners.majority import Majority
from omtl.learners.multitask_arow import MultiTaskAROW
from omtl.learners.neighbours import NeighbourhoodMT
from omtl.learners.omtl import OMTLBatchOpt, OMTLCovariance, OMTLLogDet, OMTLVonNeumann
from omtl.learners.osgl import OSGL, OSGLImplicit
from omtl.learners.osmtl import OSMTLExponential, OSMTLThreshold
from omtl.learners.parameter_free import ParameterFree
from omtl.learners.parameter_free_lazy import LazyParameterFree
from omtl.learners.passive_aggressive import PassiveAggressive, PassiveAggressiveII
from omtl.learners.peers import Humble, Peer
from omtl.learners.perceptron import Perceptron
from omtl.learners.rom import ROMPGD, ROMRDA
from omtl.learners.romco import ROMCO
from omtl.learners.second_order import SecondOrderPerceptron
from omtl.learners.selective import SelectivePerceptron
from omtl.learners.soft_confidence import SCW
from omtl.learners.within_online import OnlineWithinOnline
from omtl.reference import (
    Given,
    Rounds,
    Steps,
    baselines,
    centralised,
    hedge,
    interaction,
    lifelong,
    multitask_arow,
    neighbours,
    network,
    osmtl,
    parameter_free,
    peers,
    rivals,
    rom,
    romco,
    selective,
    within_online,
)

TRANSCRIPTIONS: dict[type, Callable[..., Steps]] = {
    Perceptron: centralised.perceptron,
    PassiveAggressive: centralised.passive_aggressive,
    COML: centralised.coml,
    NS: network.ns,
    DST: network.dst,
    DOM1: network.dom1,
    DOM2: network.dom2,
    DA: network.da,
    MultiPerceptron: interaction.multi_perceptron,
    OMTLCovariance: interaction.omtl_covariance,
    OMTLBatchOpt: interaction.omtl_batch_opt,
    OMTLLogDet: interaction.omtl_logdet,
    OMTLVonNeumann: interaction.omtl_von_neumann,
    ROMPGD: rom.rom_pgd,
    ROMRDA: rom.rom_rda,
    OSGL: osmtl.osgl,
    OSGLImplicit: osmtl.osgl_implicit,
    OSMTLExponential: osmtl.osmtl_e,
    OSMTLThreshold: osmtl.osmtl_t,
    OGD: lifelong.ogd,
    AKLO: lifelong.aklo,
    GradientDescent: baselines.gradient_descent,
    AdaGrad: baselines.adagrad,
    AROW: baselines.arow,
    Majority: baselines.majority,
    HedgedMultiTask: hedge.hedged_multi_task,
    MultiTaskAROW: multitask_arow.multitask_arow,
    Peer: peers.peer,
    ParameterFree: parameter_free.parameter_free,
    LazyParameterFree: parameter_free.parameter_free_lazy,
    OnlineWithinOnline: within_online.within_online,
    ROMCO: romco.romco,
    NeighbourhoodMT: neighbours.neighbourhood_mt,
    Humble: peers.humble,
    SelectivePerceptron: selective.selective_perceptron,
    PassiveAggressiveII: rivals.pa_ii,
    ALMA: rivals.alma,
    SCW: rivals.scw,
    SecondOrderPerceptron: rivals.second_order,
}


def transcription_of(learner: Any) -> Callable[..., Steps] | None:
    """Return a learner's plain transcription, named by its class or in this package, or None."""
    return getattr(type(learner), "reference", None) or TRANSCRIPTIONS.get(type(learner))


def rounds_of(tasks: Tasks, stream: Stream) -> Rounds:
    """Return a stream in the form for transcriptions."""
    X = tasks.X.toarray() if isinstance(tasks.X, sparse.csr_array) else tasks.X
    events = [
        Given(X[i], float(tasks.y[i]), int(tasks.task[i]), int(node))
        for i, node in zip(stream.example, stream.node, strict=True)
    ]
    return [events[a:b] for a, b in zip(stream.start[:-1], stream.start[1:], strict=True)]


def steps_of(learner: Any, rounds: Rounds, shape: Shape) -> Steps:
    """Return the steps of a learner's transcription on a stream, example by example.

    Parameters
    ----------
    learner
        A learner with a transcription; its fields are its hyper-parameters.
    rounds, shape
        The stream (`rounds_of`), and what the learner knows about it in advance.
    """
    transcription = transcription_of(learner)
    assert transcription is not None, f"{type(learner).__name__} has no transcription"
    told = {"A": shape.mixing, "n_examples": shape.n_examples, "seed": shape.seed}
    takes = signature(transcription).parameters
    values = learner._asdict() if hasattr(learner, "_asdict") else vars(learner)
    more = {name: value for name, value in told.items() if name in takes} | values
    return transcription(rounds, shape.n_tasks, shape.n_features, **more)
