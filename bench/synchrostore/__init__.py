"""The experiments of SynchroStore: what `bench/xbench.py` runs, draws and writes down."""
