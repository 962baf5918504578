//! Commands run in a clean checkout of what would land, each tree once.
