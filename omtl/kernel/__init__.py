"""The compiled loop, and the weight vectors used by the learners' rules.

==================  ================================================================================
`inlining`          compiling rules as parts of one loop; choosing compiled forms by types
`products`          dot, axpy: one vector, one row; several in one pass
`many_vectors`      one row, many vectors: copies shared by points of a grid
`lanes`             one sparse row, many vectors, in the processor's vector registers
`vectors`           Scaled, GroupSparse, RoundSum, NormedSum: dot, add, shorten, close, square_norm
`side_by_side`      SideBySide: products of a row with several vectors, steps of several along it
`unit_ball`         InBall: vectors projected onto the unit ball
`network`           Network: the vectors of nodes that combine, then adapt
`deferred`          the examples and steps of a round until its end; products of rows, kept
`pulled`            Pulled: vectors pulled towards a common one
`by_feature`        diagonal covariances: a variance for each feature
`losses`            hinge, absolute and square loss, and their slopes
`distributions`     distributions over tasks or experts: found from losses, normalised
`p_norms`           powers and p-norms; a quadratic maximised within a ball
`random_numbers`    random numbers within rules
`small_matrices`    eigenvalues, inverses, roots, the exponential; singular values shrunk
`relationships`     task vectors, and the relation of tasks learnt from them
`triplet_steps`     learning from triplets, one by one
`similarities`      matrices of tasks that learn from triplets, in blocks
`loop`              test, then train: the loop that plays every learner
`sharing`           what points of a grid share, derived from a learner's declaration
`copies`            operations on copies of a part of the weights
`seen_features`     the features seen so far
`grid_loop`         the same loop for all points of a grid at once
`points`            all points of a grid, sharing what they can
`resumed_loop`      the loop for streams that arrive piece by piece
`one_example`       a stream continued by one example, found at an address
`not_compiled`      why numba refuses a learner, in one line
==================  ================================================================================
"""
