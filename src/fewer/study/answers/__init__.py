"""From finished work to the findings: scores, the decision, answers, and their sentences."""
