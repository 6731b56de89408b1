"""Scribe on Pastry (Castro and others, 2002; Rowstron and Druschel, 2001): a tree for every topic along the routes of
a hash table, the baseline that PolderCast is compared with."""
