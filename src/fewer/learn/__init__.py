"""The learners that the papers bring along: sparse linear, discriminants, boosting, Gaussian processes."""
