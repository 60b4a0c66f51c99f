"""Personal data and secrets in texts: pure functions, a text in, places and kinds out, no value shown."""
