"""What people look at: abort lists, the HTML report, plots, metrics."""
