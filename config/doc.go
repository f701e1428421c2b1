// Package config is the server's configuration: typed, loaded once, and not
// changed afterwards.
//
// Four sources are laid over each other, the later ones winning: built-in
// defaults, a YAML file, environment variables (FILESERVER_NFS_PORT for
// nfs.port), and command-line flags. Lists replace each other whole. Shares are
// the exception: --share and FILESERVER_SHARE add a share, or give one of the
// file another path and leave its options as they are.
//
// What is unknown, wrong or contradictory is refused: one [Problem] for each,
// all of them at once, with the place it came from, the key, the value and what
// to write instead.
//
// # Options of a protocol
//
// A share is one directory, published by every enabled protocol. What concerns
// all protocols (path, read_only, allow) stands in [Share]; what concerns one
// stands in a struct of that protocol, [ShareNFS], below the protocol's name. A
// new protocol adds its struct to Share and to [Config], its defaults to
// defaults and shareDefaults, and its rules to Validate; nothing else knows keys.
package config
