"""Every method once: what it does, when to use it, what it costs, whose it is."""
