# bash completion for precast: source this file, or put it into /etc/bash_completion.d
_precast() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
  COMPREPLY=()
  if [[ $COMP_CWORD -eq 1 ]]; then
    COMPREPLY=($(compgen -W 'generate compare inspect policy formats tokenize completions --help --version' -- "$word"))
    return
  fi
  case "${COMP_WORDS[1]}" in
    generate)
      case "$before" in
        --prompt) :; return ;;
        --model) COMPREPLY=($(compgen -d -- "$word")); return ;;
        --device) :; return ;;
        --seed) :; return ;;
        --steps) :; return ;;
        --guidance) :; return ;;
        --width) :; return ;;
        --height) :; return ;;
        --max-sequence-length) :; return ;;
        --threads) :; return ;;
        --batch) :; return ;;
        --image) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --strength) :; return ;;
        --preset) COMPREPLY=($(compgen -W 'quality balanced fast memory auto' -- "$word")); return ;;
        --precision) COMPREPLY=($(compgen -W 'f32 bf16 f16' -- "$word")); return ;;
        --transformer-precision|--unet-precision) COMPREPLY=($(compgen -W 'f32 bf16 f16' -- "$word")); return ;;
        --vae-precision) COMPREPLY=($(compgen -W 'f32 bf16 f16' -- "$word")); return ;;
        --text-precision|--clip-precision) COMPREPLY=($(compgen -W 'f32 bf16 f16' -- "$word")); return ;;
        --output) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --quality) :; return ;;
        --latents) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --save-latents) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --trace) COMPREPLY=($(compgen -f -- "$word")); return ;;
      esac
      if [[ $word == -* ]]; then COMPREPLY=($(compgen -W '--help -h --prompt --model --device --seed --steps --guidance --width --height --max-sequence-length --threads --batch --image --strength --preset --precision --upcast-attention --upcast-matmul --flash --no-flash --transformer-precision --unet-precision --vae-precision --text-precision --clip-precision --output --quality --latents --save-latents --trace --json' -- "$word"))
      fi ;;
    compare)
      case "$before" in
        --prompt) :; return ;;
        --model) COMPREPLY=($(compgen -d -- "$word")); return ;;
        --device) :; return ;;
        --seed) :; return ;;
        --steps) :; return ;;
        --guidance) :; return ;;
        --width) :; return ;;
        --height) :; return ;;
        --max-sequence-length) :; return ;;
        --threads) :; return ;;
        --policies) :; return ;;
        --output) COMPREPLY=($(compgen -f -- "$word")); return ;;
        --quality) :; return ;;
      esac
      if [[ $word == -* ]]; then COMPREPLY=($(compgen -W '--help -h --prompt --model --device --seed --steps --guidance --width --height --max-sequence-length --threads --policies --output --quality --markdown --json' -- "$word"))
      fi ;;
    inspect)
      if [[ $word == -* ]]; then COMPREPLY=($(compgen -W '--help -h --tensors --json' -- "$word"))
      else COMPREPLY=($(compgen -f -- "$word"))
      fi ;;
    policy)
      case "$before" in
        --preset) COMPREPLY=($(compgen -W 'quality balanced fast memory auto' -- "$word")); return ;;
        --precision) COMPREPLY=($(compgen -W 'f32 bf16 f16' -- "$word")); return ;;
      esac
      if [[ $word == -* ]]; then COMPREPLY=($(compgen -W '--help -h --preset --precision --upcast-attention --upcast-matmul --flash --no-flash --json' -- "$word"))
      fi ;;
    formats)
      if [[ $word == -* ]]; then COMPREPLY=($(compgen -W '--help -h --json' -- "$word"))
      fi ;;
    tokenize)
      case "$before" in
        --model) COMPREPLY=($(compgen -d -- "$word")); return ;;
        --text) :; return ;;
      esac
      if [[ $word == -* ]]; then COMPREPLY=($(compgen -W '--help -h --model --text --json' -- "$word"))
      fi ;;
    completions)
      if [[ $word == -* ]]; then COMPREPLY=($(compgen -W '--help -h' -- "$word"))
      else COMPREPLY=($(compgen -W 'bash zsh fish' -- "$word"))
      fi ;;
  esac
}
complete -o filenames -F _precast precast
