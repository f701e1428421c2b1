package lock

import "testing"

// SmallChunks makes lists split and join their parts all the time, until the test ends.
func SmallChunks(t *testing.T) {
	old := chunkMax
	chunkMax = 3
	t.Cleanup(func() { chunkMax = old })
}
