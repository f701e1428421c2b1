// Package iwarpbench measures the iwarp provider against plain TCP, both over
// loopback and in this process, side by side in one run: seconds depend on the
// machine, ratios do not.
package iwarpbench
