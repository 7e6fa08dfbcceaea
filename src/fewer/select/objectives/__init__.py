"""What a search maximises: ``J(subset)``.

A new objective is a dataclass that derives from :class:`Objective` and gives a :class:`SubsetScorer` by ``start``.
"""
