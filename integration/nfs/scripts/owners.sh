# Permissions: root is squashed; other users keep their uid and all their groups.
as() { # as USER GROUPS COMMAND...
  local user=$1 groups=$2
  shift 2
  setpriv --reuid "$user" --regid "${groups%%,*}" --groups "$groups" "$@"
}
refused() {
  local message
  if message=$("$@" 2>&1); then echo "allowed: $*"; return 1; fi
  [[ $message == *[Pp]"ermission denied"* || $message == *"not permitted"* ]] || { echo "$*: $message"; return 1; }
}
owner() { stat -c '%u:%g %a' "$1"; }
is() { [ "$1" = "$2" ] || { echo "got $1, want $2"; return 1; }; }

touch $M/of-root
is "$(owner $M/of-root)" '65534:65534 644'
as 1234 100 mkdir -m 750 $M/home
as 1234 100 bash -c "umask 077; echo secret >$M/home/secret"
is "$(as 1234 100 stat -c '%u:%g %a' $M/home/secret)" '1234:100 600'
refused ls $M/home
refused as 4321 101 ls $M/home
refused as 4321 101,102 cat $M/home/secret
as 4321 101,100 ls $M/home >/dev/null # a supplementary group
refused as 4321 101,100 cat $M/home/secret
refused as 4321 101,100 touch $M/home/new
refused as 4321 101 chmod 666 $M/of-root
refused as 4321 101 rm -f $M/home/secret
refused as 4321 101 mv $M/of-root $M/mine # in a sticky directory
refused as 1234 100 chown 4321 $M/home/secret
as 1234 100,555 chgrp 555 $M/home/secret
as 1234 100 chmod 640 $M/home/secret
as 1234 100 chmod 751 $M/home
fresh $M
is "$(as 4321 555 cat $M/home/secret)" secret
refused as 4321 101 cat $M/home/secret
# Others may run an execute-only program but may not read it.
as 1234 100 install -m 111 /bin/true $M/execute-only
fresh $M
as 4321 101 $M/execute-only
refused as 4321 101 cat $M/execute-only
as 1234 100 chmod 110 $M/execute-only
refused as 4321 101 $M/execute-only
as 1234 100 rm -f $M/execute-only
