// Package lint holds the rules of this repository that a program can check, as tests.
package lint
