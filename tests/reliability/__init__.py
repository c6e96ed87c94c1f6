"""
Random damage, kills and full disks. The environment variable `STRESS` multiplies their number, and
then each command takes part, not only the quickest.
"""

import os

REPEATS = int(os.environ.get("STRESS", "1"))
