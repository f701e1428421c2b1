package main

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"fileserver/config"
	"fileserver/internal/users"
	"fileserver/smb/ntlm"
)

// maxPassword is the longest password, characters: Windows takes no more.
const maxPassword = 127

func userCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "user",
		Short: "the users of SMB",
		Long: `User changes and lists the users that can log on to SMB. They are kept in the
		state directory. A running server applies changes within two seconds. A server that
		was started without users does not serve SMB until it is started again.`,
		Example: `  fileserver user add ann --uid 1000 --gid 100
  echo secret | fileserver user passwd ann`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return &usageError{c, fmt.Errorf("%s has no command %q", c.CommandPath(), args[0])}
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(userAdd(), userPasswd(), userRemove(), userList())
	for _, sub := range c.Commands() {
		config.AddStateFlags(sub.Flags())
	}
	return c
}

// userStore returns the users in the state directory.
func userStore(c *cobra.Command) (*users.Store, error) {
	dir, err := config.StateDir(c.Flags())
	if err != nil {
		return nil, err
	}
	return users.Open(dir), nil
}

// oneName requires one argument, the name of a user.
func oneName(c *cobra.Command, args []string) error {
	if len(args) != 1 {
		return &usageError{c, fmt.Errorf("%s needs one argument: the name of a user", c.CommandPath())}
	}
	return nil
}

func userAdd() *cobra.Command {
	var uid, gid int64
	var groups []string
	c := &cobra.Command{
		Use:   "add NAME",
		Short: "add a user; asks for the password, or reads it from the first line of standard input",
		Args:  oneName,
		RunE: func(c *cobra.Command, args []string) error {
			u, err := identity(args[0], uid, gid, groups)
			if err != nil {
				return err
			}
			s, err := userStore(c)
			if err != nil {
				return err
			}
			if err := users.CheckName(u.Name); err != nil {
				return err
			}
			if _, ok, err := s.Lookup(u.Name); err != nil || ok {
				return errors.Join(err, existing(u.Name, ok))
			}
			if u.NTHash, err = password(c); err != nil {
				return err
			}
			if err := s.Add(u); err != nil {
				return err
			}
			fmt.Fprintf(c.OutOrStdout(), "added %s: uid %d, gid %d, groups %v, in %s\n", u.Name, u.UID, u.GID, u.Groups, s.Path())
			return nil
		},
	}
	c.Flags().Int64Var(&uid, "uid", -1, "the user's `UID` on the file system (default: that of the system's user of this name)")
	c.Flags().Int64Var(&gid, "gid", -1, "the user's `GID` (default as for the uid)")
	c.Flags().StringSliceVar(&groups, "groups", nil, "further `GIDS` (default as for the uid)")
	return c
}

func existing(name string, ok bool) error {
	if !ok {
		return nil
	}
	return fmt.Errorf("%w: %s; to change the password run: fileserver user passwd %s", users.ErrExists, name, name)
}

// identity returns a user's ids on the file system. Those that are not given (-1, nil) are taken from the
// system's user of the same name. A server that is not root can act for its own user only.
func identity(name string, uid, gid int64, groups []string) (users.User, error) {
	u := users.User{Name: name}
	if uid < 0 {
		sys, err := user.Lookup(name)
		switch {
		case err == nil:
			uid, gid, groups = fromSystem(sys, gid, groups)
		case os.Geteuid() != 0:
			uid = int64(os.Geteuid())
			if gid < 0 {
				gid = int64(os.Getegid())
			}
		default:
			return u, fmt.Errorf("the system has no user %q; give --uid and --gid", name)
		}
	}
	if gid < 0 {
		gid = uid
	}
	if uid >= 1<<32-1 || gid >= 1<<32-1 {
		return u, fmt.Errorf("uid %d or gid %d is not below 4294967295", uid, gid)
	}
	u.UID, u.GID = uint32(uid), uint32(gid)
	for _, g := range groups {
		n, err := strconv.ParseUint(strings.TrimSpace(g), 10, 32)
		if err != nil {
			return u, fmt.Errorf("--groups: %q is not a numeric id", g)
		}
		u.Groups = append(u.Groups, uint32(n))
	}
	return u, nil
}

func fromSystem(sys *user.User, gid int64, groups []string) (uid int64, g int64, list []string) {
	uid, _ = strconv.ParseInt(sys.Uid, 10, 64) // the system's are numbers
	if gid < 0 {
		gid, _ = strconv.ParseInt(sys.Gid, 10, 64)
	}
	if groups == nil {
		if all, err := sys.GroupIds(); err == nil {
			for _, id := range all {
				if id != sys.Gid {
					groups = append(groups, id)
				}
			}
		}
	}
	return uid, gid, groups
}

func userPasswd() *cobra.Command {
	return &cobra.Command{
		Use:   "passwd NAME",
		Short: "change a user's password",
		Args:  oneName,
		RunE: func(c *cobra.Command, args []string) error {
			s, err := userStore(c)
			if err != nil {
				return err
			}
			if _, ok, err := s.Lookup(args[0]); err != nil {
				return err
			} else if !ok {
				return fmt.Errorf("%w: %s", users.ErrUnknown, args[0])
			}
			hash, err := password(c)
			if err != nil {
				return err
			}
			return s.Update(args[0], func(u *users.User) { u.NTHash = hash })
		},
	}
}

func userRemove() *cobra.Command {
	return &cobra.Command{
		Use:   "remove NAME",
		Short: "remove a user, and end the user's sessions",
		Args:  oneName,
		RunE: func(c *cobra.Command, args []string) error {
			s, err := userStore(c)
			if err != nil {
				return err
			}
			return s.Remove(args[0])
		},
	}
}

func userList() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "list the users: name, uid, gid, groups",
		Args:  noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := userStore(c)
			if err != nil {
				return err
			}
			list, err := s.List()
			for _, u := range list {
				fmt.Fprintf(c.OutOrStdout(), "%s\t%d\t%d\t%s\n", u.Name, u.UID, u.GID, strings.Trim(strings.ReplaceAll(fmt.Sprint(u.Groups), " ", ","), "[]"))
			}
			return err
		},
	}
}

// password asks twice at a terminal, and otherwise reads the first line of standard input.
func password(c *cobra.Command) ([16]byte, error) {
	in, ok := c.InOrStdin().(*os.File)
	if !ok || !isTerminal(in) {
		line, err := firstLine(c.InOrStdin())
		if err != nil {
			return [16]byte{}, err
		}
		return hashOf(line)
	}
	first, err := ask(in, c.ErrOrStderr(), "password: ")
	if err != nil {
		return [16]byte{}, err
	}
	second, err := ask(in, c.ErrOrStderr(), "again: ")
	if err != nil {
		return [16]byte{}, err
	}
	if first != second {
		return [16]byte{}, errors.New("the passwords differ; nothing has been changed")
	}
	return hashOf(first)
}

func hashOf(password string) ([16]byte, error) {
	if n := len([]rune(password)); n == 0 || n > maxPassword {
		return [16]byte{}, fmt.Errorf("the password has %d characters; use 1 to %d", n, maxPassword)
	}
	return ntlm.NTHash(password), nil
}
