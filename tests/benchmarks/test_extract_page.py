from benchmarks.extract_page import page


def contender(name, *, ours, median=None, ratio=None, trouble=""):
    timing = None if median is None else {"median": median}
    return {"name": name, "ours": ours, "timing": timing, "ratio": ratio, "trouble": trouble}


def document(*cases, clock="wall"):
    return {
        "when": "2026-01-02T03:04:05+00:00",
        "clock": clock,
        "repeats": 7,
        "machine": {"processor": "P", "cores": 2, "memory_gigabytes": 8, "system": "Linux", "python": "3.11"},
        "versions": {"fewer": "1.0", "scikit-learn": "1.9"},
        "cases": [*cases],
    }


def test_the_page_tells_times_ratios_and_what_did_not_run():
    fast = [
        contender("fewer", ours=True, median=0.02, ratio=0.2),
        contender("scikit-learn", ours=False, median=0.1, ratio=1.0),
        contender("slowpoke", ours=False, trouble="longer than 600 s"),
    ]
    told = page(
        {
            "pls": document({"data": "200 x 20,000", "unavailable": None, "contenders": fast}),
            "hdda": document({"data": "classes", "unavailable": "no data", "contenders": []}, clock="cpu"),
        }
    )
    assert "| 200 x 20,000 | **fewer** | 20 ms | 0.2 |" in told
    assert "|  | scikit-learn | 100 ms |  |" in told
    assert "|  | slowpoke | longer than 600 s |  |" in told
    assert "| classes | not run: no data | | |" in told
    assert "## Partial least squares" in told
    assert "At most 7 runs of each contender, 2026-01-02 03:04 UTC." in told
    assert "time on the clock and processor time on one thread" in told
    assert "Machine: P, 2 cores, 8 GB, Linux; Python 3.11. fewer 1.0, scikit-learn 1.9. 2026-01-02." in told
