// Package config is the server's configuration: typed, loaded once, and not
// changed afterwards.
//
// It has four sources; a later one overrides an earlier one: built-in defaults, a YAML file, environment variables
// (FILESERVER_NFS_PORT for nfs.port), and command-line flags. A list replaces the whole list of the earlier source. Shares are
// merged instead: --share and FILESERVER_SHARE add a share, or change the path of one in the file and keep its options.
//
// Unknown keys, bad values and contradictions are refused. All of them are reported at once, one [Problem] for each, with
// its place, the key, the value and what to write instead.
//
// # Options of a protocol
//
// A share is one directory, published by every enabled protocol. Options of all protocols (path, read_only, allow) are
// fields of [Share]. Options of one protocol are fields of its own struct, such as [ShareNFS], below the protocol's name. A new
// protocol adds its struct to Share and to [Config], its defaults, and its rules to Validate. No other code knows keys.
package config
