# Runs the server in a separate guest, until the test stops it.
network
mark serving
await stopped 3600
