// Package hostile holds tests in which strangers and greedy clients attack a server while an admitted
// client, the victim, works. A stranger is a host that no share admits. A greedy client is admitted and
// takes every resource it can get. The tests measure how long the victim's work takes before and during
// the attack.
//
// All of them use addresses of the loopback interface: the victim 127.0.0.1, the stranger 127.0.0.2, the
// greedy client 127.0.0.3.
package hostile
