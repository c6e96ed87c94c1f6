"""
Random damage, kills and full disks. The environment variable `STRESS` multiplies their number, and
includes all commands, not only the fastest.
"""

import os

REPEATS = int(os.environ.get("STRESS", "1"))
