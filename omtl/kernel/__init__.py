"""The compiled loop, and the weight vectors used by the learners' rules.

==================  ================================================================================
`inlining`          compiling rules as parts of one loop; choosing compiled forms by types
`products`          dot, axpy: one vector, one row; several in one pass
`lanes`             products in the processor's vector registers: the one module that writes LLVM
`vectors`           Bank: vectors that are divided, shortened, summed, projected onto the unit ball
`side_by_side`      SideBySide: products of a row with several vectors, steps of several along it
`network`           Network: the vectors of nodes that combine, then adapt
`deferred`          the examples and steps of a round until its end; products of rows, kept
`pulled`            Pulled: vectors pulled towards a common one
`by_feature`        Gaussians: means, and a variance for each feature
`losses`            hinge, absolute and square loss, and their slopes
`distributions`     distributions over tasks or experts: found from losses, normalised
`p_norms`           powers and p-norms; a quadratic maximised within a ball
`random_numbers`    random numbers within rules
`small_matrices`    eigenvalues, inverses, roots, the exponential; singular values shrunk
`relationships`     task vectors, and the relation of tasks learnt from them
`triplet_steps`     learning from triplets, one by one
`similarities`      matrices of tasks that learn from triplets, in blocks
`loop`              test, then train: the loop that plays every learner, whole or piece by piece
`sharing`           what points of a grid share: the declaration of a learner's parts
`grids`             all points of a grid at once, sharing copies of these parts
`one_example`       a stream continued by one example, found at an address
`not_compiled`      why numba refuses a learner, in one line
==================  ================================================================================
"""
