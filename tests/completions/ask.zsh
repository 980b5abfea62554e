# ask.zsh SCRIPT LINES: types each line into an interactive zsh with SCRIPT, has it insert every match, and prints them.
zmodload zsh/zpty zsh/zselect
export ASKED_SCRIPT=$1 ASKED_ANSWER=$PWD/answer
zpty asked zsh -f -i
settle() {  # until zsh has written its answer
  local i
  for i in {1..1000}; do [[ -e $ASKED_ANSWER ]] && return; zpty -r -t asked >/dev/null; zselect -t 1; done
  print -u2 "zsh did not answer: $1"
}
cat >setup <<'END'
PS1= PS2= RPS1= KEYTIMEOUT=1  # ^X begins longer keys, for which zsh would wait 0.4 s each time
unsetopt beep
autoload -Uz compinit && compinit -u -D
source $ASKED_SCRIPT
zstyle ':completion:*' insert-tab false
all_matches() { _main_complete; compstate[insert]=all }
zle -C all-matches complete-word all_matches
answer() { zle all-matches; print -r -- "$BUFFER" >$ASKED_ANSWER.part; mv $ASKED_ANSWER.part $ASKED_ANSWER; BUFFER= }
zle -N answer
bindkey '^X' answer
touch $ASKED_ANSWER
END
zpty -w asked 'source ./setup'
settle setup
while IFS= read -r line; do
  rm -f $ASKED_ANSWER
  zpty -w -n asked "$line"$'\x18'
  settle $line
  answer=$(<$ASKED_ANSWER)
  before="${line% *} "  # what the line was before the word that was completed
  print -r -- "${answer#"$before"}"
done <$2
zpty -d asked
