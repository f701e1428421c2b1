# The server in a guest of its own, until the test says stop.
network
mark serving
await stopped 3600
