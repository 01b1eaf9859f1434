"""What several tests use."""

import matplotlib

matplotlib.use("Agg")
