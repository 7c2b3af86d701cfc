# Ends what a killed run left behind. Its standard input is held open by the run: when that closes
# without the word "done", the run was killed, and everything it last named is stopped.
# Each line names all processes anew, as SIGNAL:PID; the arguments are folders to remove.
trap '' HUP INT TERM

# A process that ended but waits for a parent to notice still takes signals.
is_alive() {
  kill -s 0 -- "$1" 2>/dev/null || return 1
  read -r stat 2>/dev/null <"/proc/${1#-}/stat" || return 0
  case $stat in *') Z '*) return 1 ;; esac
}

targets=
while read -r line; do targets=$line; done
[ "$targets" = done ] && exit 0

for target in $targets; do
  kill -s "${target%%:*}" -- "${target#*:}" 2>/dev/null
done

rounds=0
while [ "$rounds" -lt 50 ]; do
  alive=
  for target in $targets; do
    is_alive "${target#*:}" && alive=yes
  done
  [ -z "$alive" ] && break
  sleep 0.1
  rounds=$((rounds + 1))
done

for target in $targets; do
  kill -s KILL -- "${target#*:}" 2>/dev/null
done
[ $# -gt 0 ] && rm -rf -- "$@"
exit 0
