# ask.fish SCRIPT LINES: prints what fish offers after each line, without the descriptions.
source $argv[1]
while read -l line
    echo (complete -C $line | string split -f 1 \t)
end <$argv[2]
