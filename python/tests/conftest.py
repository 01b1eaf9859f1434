"""What several tests use."""

import signal

import matplotlib

matplotlib.use("Agg")
# A shell that starts the tests in the background has them ignore Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)
