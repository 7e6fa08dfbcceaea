"""Which columns to keep: scores, searches, sparse models, relevance tests."""
