#!/bin/sh
# run.sh SHELL PROGRAM: asks SHELL what it offers on command lines, with the script that PROGRAM prints, and holds that
# against what is expected. The scripts ask.* print, for each line of a file, what their shell offers after it.
set -eu
shell=$1 program=$2
here=$(cd "$(dirname "$0")" && pwd)
command -v "$shell" >/dev/null || { echo "skipped: there is no $shell (on Debian: apt-get install $shell)"; exit 77; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir models && touch models/notes.txt picture.png
"$program" completions "$shell" >script
export HOME="$work" TERM=xterm

# A command line, a tab, and what has to be offered, all of it.
cat >cases <<END
precast gen	generate
precast comp	compare completions
precast completions 	bash zsh fish
precast completions z	zsh
precast help form	formats
precast help gene	generate
precast generate --pres	--preset
precast generate --preset 	quality balanced fast memory auto
precast policy --preset m	memory
precast generate --preset=f	fast
precast generate --precision 	f32 bf16 f16
precast generate --t5-precision b	bf16
precast generate -s 	random
precast generate --device 	auto cpu cuda
precast generate --device c	cpu cuda
precast generate --prompt x --t5-pad	--t5-padding
precast compare --policies quality,mem	quality,memory
precast compare --policies f	fast f32 f16
precast generate --image pic	picture.png
precast inspect pic	picture.png
precast generate --model mod	models/
END
# And for every option of every command, under each of its names, the words of its type in the help; N stands for any
# number, also in I/N and cuda:N.
for command in $("$program" completions bash | sed -n "s/^    _precast_offer -W '\(.*\) -h .*/\1/p"); do
  COLUMNS=999 "$program" help "$command" | awk -v command="$command" '
    /^  -/ && $2 ~ /[|]/ {
      sub(/=.*|,[.][.][.]/, "", $2)
      words = ""
      count = split($2, parts, "|")
      for (i = 1; i <= count; ++i) if (parts[i] !~ /(^|[\/:])N$/) words = words " " parts[i]
      count = split($1, names, ",")
      for (i = 1; i <= count; ++i) print "precast " command " " names[i] " \t" words
    }' >>cases
done
cut -f1 cases >lines
case $shell in
  bash) bash --norc "$here/ask.bash" ./script lines >offered 2>errors || true ;;
  zsh) zsh -f "$here/ask.zsh" ./script lines >offered 2>errors || true ;;
  fish) fish --no-config "$here/ask.fish" ./script lines >offered 2>errors || true ;;
esac

# Words in order, without what a shell leaves at their end for what may follow, or --option= before them.
words() { tr ' ' '\n' | sed 's:[/=,]$::; s:^--[a-z0-9-]*=::' | grep . | sort -u | tr '\n' ' '; }
failed=0 number=0
while IFS='	' read -r line expected; do
  number=$((number + 1))
  offered=$(sed -n "${number}p" offered | words)
  expected=$(echo "$expected" | words)
  [ "$offered" = "$expected" ] && continue
  echo "$shell: after '$line' come '$offered', and not '$expected'"
  failed=1
done <cases
[ -s errors ] && { cat errors; failed=1; }
[ "$number" -ge 30 ] || { echo "only $number lines were asked for"; failed=1; }
exit $failed
