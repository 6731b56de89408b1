"""The room of ranked feeds: windows and their best posts, and chunks by which they are computed where posts arise."""
