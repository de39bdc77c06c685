"""How learners are played: their interface, the loops, compilation, and weight vectors for rules.

==================  ================================================================================
`rules`             the interface of a learner: the rules of one round; `Example` and `Shape`
`inlining`          compiling rules as parts of one loop; choosing compiled forms by types
`products`          dot, axpy: one vector, one row; several in one pass
`lanes`             products in the processor's vector registers: written in LLVM
`vectors`           Bank: vectors that are divided, shortened, summed, projected onto the unit ball
`side_by_side`      SideBySide: products of a row with several vectors, steps of several along it
`network`           Network: the vectors of nodes that combine, then adapt
`deferred`          the examples and steps of a round until its end; products of rows, kept
`pulled`            Pulled: vectors pulled towards a common one
`by_feature`        Gaussians: means, and a variance for each feature
`losses`            hinge, absolute and square loss, and their slopes
`smooth_hinge`      a hinge loss with a smooth corner, minimised: the models of batch learners
`distributions`     distributions over tasks or experts: found from losses, normalised
`p_norms`           powers and p-norms; a quadratic maximised within a ball
`random_numbers`    random numbers within rules
`small_matrices`    eigenvalues, inverses, roots, the exponential; singular values shrunk
`relationships`     task vectors, and the relation of tasks learnt from them
`triplet_steps`     learning from triplets, one by one
`similarities`      matrices of tasks that learn from triplets, in blocks
`play`              a play of one learner from a new state, recorded in a `Trace`
`loop`              test, then train: the loop that plays every learner, whole or piece by piece
`sharing`           what points of a grid share: the declaration of a learner's parts
`grids`             all points of a grid at once, sharing copies of these parts
`one_example`       a stream continued by one example, found at an address
`compiled`          `@compiled`: a class in plain Python as a learner that can be compiled
`not_compiled`      why numba refuses a learner, in one line
==================  ================================================================================
"""
