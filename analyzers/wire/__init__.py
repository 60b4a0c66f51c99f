"""What the Messages API puts on the wire, sans I/O: bytes in, values out."""
