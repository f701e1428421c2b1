# The Go source tree, copied in and compared back.
src=$TREE
took copy cp -r --preserve=mode,timestamps,links $src $M/src
took remount fresh $M
took compare diff -r --no-dereference $src $M/src
mode=%m
[ "$FS" != smb ] || mode= # cifs has none of its own
attributes() { (cd "$1" && find . -printf "%P %y $mode %s %l %T@\n" | grep -v '^ d' | awk '$2 == "d" { $(NF - 1) = 0 } 1' | sort); }
took attributes diff <(attributes $src) <(attributes $M/src)
