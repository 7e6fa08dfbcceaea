from benchmarks.l1_page import page


def document(*cases):
    return {
        "when": "2026-01-02T03:04:05+00:00",
        "clock": "cpu",
        "machine": {"processor": "P", "cores": 2, "memory_gigabytes": 8, "system": "Linux", "python": "3.11"},
        "versions": {"fewer": "1.0", "skglm": "0.5"},
        "cases": [
            {
                "data": data,
                "contenders": [
                    {"name": name, "status": "too slow", "timing": None, "trouble": seconds}
                    if isinstance(seconds, str)
                    else {"name": name, "status": "ok", "timing": {"median": seconds}}
                    for name, seconds in medians.items()
                ],
            }
            for data, medians in cases
        ],
    }


def test_the_page_says_where_a_peer_wins():
    told = page(
        document(
            ("easy, gap 1e-08", {"fewer": 0.01, "skglm": 0.04, "celer": "> 10 s"}),
            ("hard, gap 1e-08", {"fewer": 0.03, "skglm": 0.03 / 1.5, "celer": 1.0}),
            ("harder, gap 1e-08", {"fewer": 1.0, "skglm": "> 10 s", "celer": "> 10 s"}),
            ("easy, path", {"fewer": 1.0, "celer": 5.0}),
        ),
        {"dense, 64 bits": ([10.0, 2.0], [0.5, 0.25])},
        {"easy, gap 1e-08": {"fewer": 120.0, "celer": 1234.0}},
        {
            "cases": [
                {
                    "data": "1,000 rows x 7 columns",
                    "contenders": [
                        {"name": "fewer", "timing": {"median": 0.5}, "peak_megabytes": 30.2},
                        {"name": "scikit-learn", "timing": {"median": 1.0}, "peak_megabytes": None},
                    ],
                }
            ]
        },
    )
    assert "| easy, gap 1e-08 | **10 ms** | 40 ms | > 10 s | 0.25 |" in told
    assert "| harder, gap 1e-08 | **1 s** | > 10 s | > 10 s | - |" in told
    assert "A peer wins on: hard, gap 1e-08 (1.50)." in told
    assert "Less than twice as fast as the best peer on: none of these." in told
    assert "| dense, 64 bits | 10 s | 2 s | 500 ms | 250 ms |" in told
    assert "| easy, gap 1e-08 | 120 MB | 1,234 MB |" in told
    assert "| 1,000 rows x 7 columns | 2,000 rows/s, 30 MB | 1,000 rows/s | 0.50 |" in told
    assert "processor time" in told
    assert "skglm 0.5" in told
