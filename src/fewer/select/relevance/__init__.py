"""Relevance tests: does a column have anything to do with the target, alone or together with others?"""
