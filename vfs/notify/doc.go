// Package notify tells those who watch directories of what changes in them, whoever changes it: every protocol reports what it does
// to the one [Hub] (vfs/lock.Manager.Changes), and what local programs do comes from backends that are a [vfs.Watcher].
//
// # What is told
//
// A [Watch] is of a directory, which it follows through renames, and either of the names in it or of the whole tree below. Changes in the tree are found
// by going up from where they happen ([vfs.Node.Parent], and [vfs.Finder] where another share publishes a directory further up), which costs a few lookups per level and change as long as somebody watches a tree; the
// names of the directories on the way come from the reporter's path, from a [vfs.Namer] or by reading the parent, and are checked. Of directories that the
// watcher's identity may not list, nothing is told.
//
// While nobody watches, a report costs one atomic load ([Hub.Wants]).
//
// # Local programs
//
// A backend watches directories, not trees: of a tree, what local programs change is told of the watched directory itself only. It also
// tells of what this server has done; that is what has just been reported, and is dropped: an event of a name that a report was about within [echo]. Local
// events are held back for [settle], as they may overtake the report.
//
// # Lock order
//
// Hub.mu, then source.mu. No callback is made with either held. Everything a callback takes comes behind nothing of this package.
package notify
