// Package hostile holds tests in which strangers and greedy clients attack a server while an admitted
// client, the victim, works. A stranger is a host that no share admits; a greedy client is admitted, and
// takes all it can get. The tests measure what the victim's work costs before and during the attack.
//
// All of them are on the loopback interface, which has many addresses: the victim comes from 127.0.0.1,
// the stranger from 127.0.0.2, the greedy client from 127.0.0.3.
package hostile
