"""How fast weighbridge records and how small its files are, measured beside plain mitmproxy: `python -m benchmarks`."""
