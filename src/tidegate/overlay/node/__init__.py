"""Peers on real sockets: the kernels of PolderCast over one row, with UDP and TCP to carry what they say."""
