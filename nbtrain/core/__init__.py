"""What every other package builds on: pure code, without TensorFlow, clocks, threads or widgets."""
