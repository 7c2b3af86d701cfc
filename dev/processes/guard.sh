# Stops the processes of a killed run. The run holds this script's standard input open: when it
# closes without a last line "done", the run was killed, and the processes of the last line are
# stopped. Each line lists all processes, as SIGNAL:PID; the arguments are folders to remove.
trap '' HUP INT TERM

# A zombie process still accepts signals.
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
