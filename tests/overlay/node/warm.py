"""Kernels are loaded when this is imported: processes that are copies of one that did so need not do it again."""

import numpy as np

from tidegate.deliver.ends import Address
from tidegate.overlay.node.directory import Directory
from tidegate.overlay.node.gossiping import Gossiping
from tidegate.overlay.poldercast.settings import MODULES, Settings
from tidegate.workload.alias import random_state


def gossip_a_little() -> None:
    """Let two peers say everything to each other that there is to say."""
    one, other = (
        Gossiping(Directory(peer, Address("127.0.0.1", peer), Settings()), Settings(), random_state(peer))
        for peer in (1, 2)
    )
    for peer in (one, other):
        peer.directory.follow([7])
    one.introduce(other.answer(one.joining()))
    for module in range(len(MODULES)):
        opened = one.open(module)
        if opened is not None:
            one.close(other.answer(opened[1]))
    one.receivers(7, None, (), 2)
    one.everybody()
    one.forget(2)
    assert np.all(one.directory.nodes.rings < 0)


gossip_a_little()
