"""As many peers as one process is to run, by themselves: how soon rings are complete, and what a cycle takes.

Nothing else is measured of them: rivals and events of so many would take hours.
"""

import resource
import time
from typing import Final

from tidegate.bench.overlay.convergence import COMPLETE
from tidegate.bench.overlay.sizes import Sizes
from tidegate.bench.report import Report, Row
from tidegate.overlay.swarm.completeness import completeness
from tidegate.overlay.swarm.swarm import Swarm
from tidegate.workload.follows import friends

_CYCLES: Final = 60
"""At most: what the thesis has for 10,000 peers."""


def report_most(report: Report, sizes: Sizes, seed: int) -> None:
    """Run a Facebook-like swarm from warm Cyclon views."""
    # No pace has the time in it that compiling takes.
    Swarm(friends(10, 2, seed).followed, seed=seed).run()
    swarm = Swarm(friends(sizes.most_peers, sizes.facebook_follows, seed).followed, seed=seed)
    swarm.warm()
    took, share, cycle = 0.0, 0.0, 0
    while share < COMPLETE and cycle < _CYCLES:
        begun = time.process_time()
        swarm.run()
        took += time.process_time() - begun
        share = completeness(swarm).complete_share
        cycle += 1
    row: Row = {
        "graph": "Facebook-like",
        "peers": swarm.topics.rows,
        "cycles to 99 %": cycle if share >= COMPLETE else None,
        "rings complete, share": share,
        "node cycles/s": swarm.topics.rows * cycle / took,
        "GB, most so far": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9,
    }
    report.section(
        "As many peers as one process is to run",
        [row],
        f"At most {_CYCLES} cycles, by one core; of the time, that of checking rings is left out. Nothing: fewer than "
        "99 % of rings are complete by then.",
    )
