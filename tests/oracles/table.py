"""Which transcription is of which learner."""

from __future__ import annotations

from collections.abc import Callable

from omtl.learners.adagrad import AdaGrad
from omtl.learners.arow import AROW
from omtl.learners.cavallanti import MultiPerceptron
from omtl.learners.coml import COML
from omtl.learners.dom import DA, DOM1, DOM2, DST, NS
from omtl.learners.gradient import GradientDescent
from omtl.learners.lifelong import AKLO, OGD
from omtl.learners.majority import Majority
from omtl.learners.omtl import OMTLBatchOpt, OMTLCovariance, OMTLLogDet, OMTLVonNeumann
from omtl.learners.osgl import OSGL, OSGLImplicit
from omtl.learners.osmtl import OSMTLExponential, OSMTLThreshold
from omtl.learners.passive_aggressive import PassiveAggressive
from omtl.learners.perceptron import Perceptron
from omtl.learners.rom import ROMPGD, ROMRDA
from oracles import Steps, baselines, centralised, interaction, lifelong, network, osmtl, rom

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
}
