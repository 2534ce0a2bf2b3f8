"""The histogram of latencies in `client_activity`: how many requests took how long, in buckets that add up.

There are four buckets to a power of ten. A percentile is given as the upper bound of the bucket that holds it, or as the
longest time of its rows if that is less: the true one is at most that, and more than 1/1.8 of it, as a bound is at most 1.8
times the one before. Of times up to 0.1 ms, and above 1,000,000 ms, only the upper bound holds.
"""

BOUNDS = (*(float(f"{mantissa}e{power}") for power in range(-1, 6) for mantissa in (1, 1.8, 3.2, 5.6)), 1e6)
"""Upper bounds of the buckets in milliseconds, which belong to them."""
NAMES = (*(f"up_to_{bound:g}".replace(".", "_").replace("e+06", "000000") for bound in BOUNDS), "above")
"""The buckets' names: fields of the column `latency`, up_to_0_1 to up_to_1000000, and above."""
