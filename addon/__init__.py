"""Records `/v1/messages` traffic that passes through mitmproxy."""
