//go:build race

package iwarp

// slack is what the race detector adds: it makes sync.Pool forget at random, and memory larger.
const slack = 4
