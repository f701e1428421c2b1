// Package notify reports changes in directories to the watches of those directories. Every protocol reports what it
// does to the one [Hub] (vfs/lock.Manager.Changes). Changes by local programs come from backends that implement
// [vfs.Watcher].
//
// # What is reported
//
// A [Watch] is for a directory, which it follows through renames, and covers either the names in it or the whole
// tree below. For trees, the Hub goes up from the place of a change ([vfs.Node.Parent], and [vfs.Finder] where
// another share publishes a directory further up). While a tree is watched, this costs a few lookups per level and
// change. The names of the directories on the way come from the reporter's path, from a [vfs.Namer] or from reading
// the parent, and are checked. A watcher gets no events of directories that its identity may not list.
//
// While nobody watches, a report costs one atomic load ([Hub.Wants]).
//
// # Local programs
//
// A backend watches directories, not trees: a watch of a tree gets local changes only of the watched directory
// itself. A backend also reports what this server has done. Such an event is dropped if it is about a name that the
// server reported within [echo]. Local events are held back for [settle], as they may arrive before the server's
// report.
//
// # Lock order
//
// Hub.mu, then source.mu. Callbacks run with neither held, so a callback may take its own locks.
package notify
