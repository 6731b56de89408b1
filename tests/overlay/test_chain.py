"""Brokers, the ways between them, and where subscribers live."""

import pytest

from tidegate.errors import ConfigError
from tidegate.overlay.chain import Chain
from tidegate.overlay.setting import Setting


@pytest.mark.parametrize(("brokers", "cores", "edges"), [(24, 4, 20), (96, 16, 80), (960, 160, 800)])
def test_chains_of_the_paper_have_five_edges_a_core(brokers: int, cores: int, edges: int) -> None:
    chain = Chain.of(brokers)
    assert (chain.cores, len(chain.edges), chain.brokers) == (cores, edges, brokers)


def test_the_farthest_subscriber_is_six_brokers_away() -> None:
    assert len(Chain.of(24).path(4, 23)) == 6


def test_ways_lead_either_way_along_the_chain() -> None:
    assert Chain(4).path(23, 4) == [23, 3, 2, 1, 0, 4]
    assert Chain(4).path(4, 5) == [4, 0, 5]


def test_a_link_is_on_the_way_to_many_but_once() -> None:
    links = Chain(3, 2).links(3, [4, 7, 8])
    assert list(links) == [(3, 0), (0, 1), (0, 4), (1, 2), (2, 7), (2, 8)]


def test_subscribers_are_spread_evenly_over_edges_that_are_no_sources() -> None:
    chain = Chain(4)
    edges = list(chain.spread(1_000, [4]))
    counts = [edges.count(edge) for edge in chain.edges]
    assert counts[0] == 0
    assert {52, 53} == set(counts[1:])
    assert edges == sorted(edges)


@pytest.mark.parametrize(("n", "used", "fewest"), [(50, 1, 50), (120, 3, 40), (950, 19, 50), (1_000, 19, 52)])
def test_subscribers_may_fill_one_edge_after_the_other(n: int, used: int, fewest: int) -> None:
    edges = list(Chain(4).spread(n, [4], each=50))
    assert sorted(set(edges)) == list(range(5, 5 + used))
    assert min(edges.count(edge) for edge in edges) == fewest


def test_what_is_no_chain_is_refused() -> None:
    with pytest.raises(ConfigError, match="25 brokers: give a multiple of 6"):
        Chain.of(25)
    with pytest.raises(ConfigError, match="0 cores with 5 edge brokers"):
        Chain(0)
    with pytest.raises(ConfigError, match="all 2 edge brokers are sources"):
        list(Chain(1, 2).spread(3, [1, 2]))
    with pytest.raises(ConfigError, match="0 chunks to be recombined"):
        Setting("CHUNK", together=0)
