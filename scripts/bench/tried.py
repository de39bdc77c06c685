"""What was tried to make the learners faster: the speed-up, and whether it was kept."""

TRIED = (
    ("COML's vectors of all tasks side by side, sparse rows", "1.9 to 3.0 on TDT2", "yes"),
    ("COML's w next to its other vectors, both read at once", "1.25 (MHC-I) to 1.7 (TDT2)", "yes"),
    ("COML's personal vectors explicit, dense rows", "1.5 (d = 10) to 2.3 (d = 10,000)", "yes"),
    ("AdaGrad without a branch, quotients that cannot raise", "1.3 (d = 10) to 5.1", "yes"),
    ("AROW's weighted sum of squares in eight lanes", "2.0 (d = 10,000) to 2.3 (d = 1,000)", "yes"),
    ("AKLO's dense vectors, one per task", "2.3 to 3.3; 0.6 to 0.9 where d ≤ 10", "yes"),
    ("three products of a row in one pass: AKLO, OSMTL, ROM-PGD", "1.15 to 1.25 (d = 100)", "yes"),
    ("OSGL's powers 1, 2 and 1/2 as products and roots", "1.8 (d = 100)", "yes"),
    ("OSGL's Lagrange multiplier by Newton's method", "2.9 (d = 10)", "yes"),
    (
        "OMTL-vN: matrix exponential by series and squaring, not eigenvectors",
        "2.4 (d = 1,000) to 6",
        "yes",
    ),
    ("DOM-II's vectors kept by node, not by mode, dense rows", "1.2 to 2.6", "yes"),
    ("a network's sparse vectors 16 columns at a time", "2.4 to 5 (products, steps alone)", "yes"),
    ("the same, and DA's products of rows taken once per grid", "1.4 to 2.6 on sparse rows", "yes"),
    ("a node's two slots read in one pass, sparse rows", "1.4 (Sentiment) to 1.85 (MHC-I)", "yes"),
    ("DOM-II's neighbours combined as sparse rows, dense grid, ring", "1.3 to 1.4", "yes"),
    ("dense products by threes for a single vector too", "0.75 (NS, DST)", "no"),
    ("a network's dense steps two vectors at a time", "0.77 to 1.27", "no"),
    ("vectors on cache lines, an odd number apart", "1.7 (products and steps alone)", "yes"),
    ("batch learners by Newton's method, not L-BFGS-B", "6.2", "yes"),
    ("ROM's copies of a feature side by side, dense rows", "0.9", "no"),
    ("ROM's copies: rows of weights prefetched 8 features ahead", "1.15 to 1.25 on TDT2", "yes"),
    ("the same, 16 features ahead", "1.1 (TDT2, whole grid); no more with 24 or 32", "yes"),
    ("ROM's copies in four times the memory", "1.6 on TDT2; a table above 2 GiB", "no"),
    ("ROM's grids: no marks where all learn or none; only copies that learn", "1.2 to 1.4", "yes"),
    ("ROM's dense copies on cache lines", "1.07 to 1.09 (whole grid)", "yes"),
    ("ROM's steps by a list of copies; RDA's scores without branches", "1.06 to 1.12", "yes"),
    ("ROM's sparse copies made several at once, by feature", "0.77 to 0.9 on TDT2", "no"),
    ("ROM's sparse slots on cache lines, 512 points at once", "0.95 to 1.09 on TDT2", "no"),
    ("prefetch of the next dense row", "0.92 to 1.03", "no"),
    ("prefetch in the product of one sparse row", "0.9 (d = 10,000) to 1.2 (d = 1,000,000)", "no"),
    ("prefetch of the next row's weights while stepping", "0.8 to 1.05", "no"),
    ("weights and rows in 32 bits, sparse rows", "1.0 to 1.3; different bits", "no"),
    ("sparse vectors in one block per slot, not per feature (DOM)", "1.0", "no"),
    ("another exponential in DOM-II's attention", "1.15; different bits", "no"),
    ("OSTRSL's products of few rows by a loop, not BLAS", "1.05", "no"),
    (
        "mtLMNN: compiled Laplacian, smaller blocks, Cholesky first",
        "1.0 to 1.06; different bits",
        "no",
    ),
    ("products of two sparse rows: four indices against four", "1.9 (10 nonzeros) to 4.3", "yes"),
    ("OMTRSL by task: scores of a task's few examples, no matrix", "2.8 to 3.8 (news20)", "yes"),
    ("mtLMNN: LAPACK's tridiagonal solvers instead of eigh", "1.0 to 1.1; different bits", "no"),
    ("mtLMNN: pairs screened by how far the metric moved", "not built: half or more remain", "no"),
    ("units: no lock that threads share, a named network checked once", "2.0 (aklo-table1)", "yes"),
    (
        "no machine code for functions that are only inlined",
        "3 (time to compile dom-table1)",
        "yes",
    ),
    ("numba's own inlining", "0.05 (time to compile NS)", "no"),
)
"""What was tried, the speed-up, and whether it was kept."""

TEXT = """\
The old time divided by the new one, measured when we tried it, on this machine while it did other
work: these are single measurements, not stored runs. What was kept leaves the bits unchanged,
except for DOM-II, OMTL-vN, AKLO, OSGL, OMTRSL, OSTRSL, the batch learners, and AROW and COML on
dense rows, where sums have a different order or a different solver or function is used.
"""
