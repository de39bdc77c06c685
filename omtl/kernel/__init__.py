"""All that knows numba: how rules are compiled, and the weight vectors that they are written in.

==================  ================================================================================
`inlining`          compiling rules as parts of one loop; choosing compiled forms by types
`layout`            where vectors begin in memory
`products`          dot, axpy: one vector, one row
`passes`            several products or steps in one pass
`side_by_side`      one row, many vectors: copies that points of a grid share
`lanes`             one sparse row, many vectors, in the processor's vector registers
`norms`             squared norms that follow from the steps
`vectors`           Scaled, GroupSparse, RoundSum, NormedSum
`network`           Network: the vectors of nodes that combine, then adapt
`pulled`            Pulled: vectors that are pulled towards a common one
`by_feature`        steps with a rate or a variance for each feature
`loop`              test, then train: the loop that every learner is played in
`sharing`           what points of a grid share, derived from a learner's declaration
`grid_loop`         the same loop for all points of a grid at once
`not_compiled`      why numba refuses a learner, in one line
==================  ================================================================================
"""
