"""Hidden structure behind the rows: mixtures, topics, co-clusters, sparse codes."""
