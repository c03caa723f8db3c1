"""The pure base of all other packages, without TensorFlow, clocks, threads or widgets."""
