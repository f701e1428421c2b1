# The Go source tree, copied in and compared back.
src=/usr/local/go/src
took copy cp -r --preserve=mode,timestamps,links $src $M/src
took remount fresh $M
took compare diff -r --no-dereference $src $M/src
attributes() { (cd "$1" && find . -printf '%P %y %m %s %l %T@\n' | grep -v '^ d' | awk '$2 == "d" { $4 = 0 } 1' | sort); }
took attributes diff <(attributes $src) <(attributes $M/src)
