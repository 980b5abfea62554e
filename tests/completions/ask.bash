# ask.bash SCRIPT LINES: calls the function that SCRIPT registers as readline does, and prints what it offers, a line each.
source "$1"
function=$(complete -p precast | sed 's/.*-F \([^ ]*\) .*/\1/')
while IFS= read -r line; do
  # readline makes words at spaces, and of an equals sign a word of its own
  read -ra COMP_WORDS <<<"${line//=/ = }"
  [[ $line == *[\ =] ]] && COMP_WORDS+=("")
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
  COMP_LINE=$line COMP_POINT=${#line}
  "$function" precast "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
  echo "${COMPREPLY[*]}"
done <"$2"
