# bash completion for precast: source this file, or put it into /etc/bash_completion.d
_precast_offer() { mapfile -t COMPREPLY < <(compgen "$@" -- "$word"); }
_precast_list() {  # words with commas between: the last of them is completed
  local given=
  [[ $word == *,* ]] && given=${word%,*},
  word=${word##*,}
  _precast_offer -W "$1"
  COMPREPLY=("${COMPREPLY[@]/#/$given}")
}
_precast() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
  COMPREPLY=()
  if [[ $word == = ]]; then word=  # readline divides --option=value at its sign
  elif [[ $before == = ]]; then before=${COMP_WORDS[COMP_CWORD-2]}
  fi
  if [[ $COMP_CWORD -eq 1 ]]; then
    _precast_offer -W 'generate compare doctor record cost info inspect convert plan report policy formats autocast experiment tokenize train bench completions help -h --help -V --version'
    return
  fi
  case "${COMP_WORDS[1]}" in
    generate)
      case "$before" in
        --prompt|-p) :; return ;;
        --negative|--negative-prompt|-n) :; return ;;
        --model|-m) _precast_offer -f; return ;;
        --transformer) _precast_offer -f; return ;;
        --text-encoder) _precast_offer -f; return ;;
        --text-encoder-2) _precast_offer -f; return ;;
        --vae) _precast_offer -f; return ;;
        --device) _precast_offer -W 'auto cpu cuda'; return ;;
        --seed|-s) _precast_offer -W 'random'; return ;;
        --steps|--num-inference-steps) :; return ;;
        --guidance|--guidance-scale) :; return ;;
        --cfg-scale|--true-cfg-scale) :; return ;;
        --width|-W) :; return ;;
        --height|-H) :; return ;;
        --max-sequence-length) :; return ;;
        --t5-padding) :; return ;;
        --sampler|--scheduler) _precast_offer -W 'ddim pndm euler euler_a dpmpp_2m dpmpp_2m_karras dpmpp_2m_sde dpmpp_2m_sde_karras lcm'; return ;;
        --eta) :; return ;;
        --guidance-rescale) :; return ;;
        --clip-skip) :; return ;;
        --aesthetic-score) :; return ;;
        --negative-aesthetic-score) :; return ;;
        --threads) :; return ;;
        --batch) :; return ;;
        --prompts-file) _precast_offer -f; return ;;
        --seed-step) :; return ;;
        --image) _precast_offer -f; return ;;
        --strength) :; return ;;
        --fit) _precast_offer -W 'stretch crop pad'; return ;;
        --mask) _precast_offer -f; return ;;
        --refiner) _precast_offer -f; return ;;
        --refiner-start) :; return ;;
        --preset) _precast_offer -W 'quality balanced fast memory auto'; return ;;
        --precision) _precast_offer -W 'f32 bf16 f16'; return ;;
        --transformer-precision|--unet-precision) _precast_offer -W 'f32 bf16 f16'; return ;;
        --vae-precision) _precast_offer -W 'f32 bf16 f16'; return ;;
        --text-precision) _precast_offer -W 'f32 bf16 f16'; return ;;
        --clip-precision) _precast_offer -W 'f32 bf16 f16'; return ;;
        --t5-precision) _precast_offer -W 'f32 bf16 f16'; return ;;
        --plan) _precast_offer -f; return ;;
        --output|-o) _precast_offer -f; return ;;
        --quality) :; return ;;
        --latents) _precast_offer -f; return ;;
        --save-latents) _precast_offer -f; return ;;
        --trace) _precast_offer -f; return ;;
        --preview) :; return ;;
        --preview-output) _precast_offer -f; return ;;
      esac
      if [[ $word == -* || -z $word ]]; then _precast_offer -W '--help -h --prompt -p --negative --negative-prompt -n --model -m --transformer --text-encoder --text-encoder-2 --vae --device --seed -s --steps --num-inference-steps --guidance --guidance-scale --cfg-scale --true-cfg-scale --width -W --height -H --max-sequence-length --t5-padding --vae-tiling --sampler --scheduler --eta --guidance-rescale --clip-skip --aesthetic-score --negative-aesthetic-score --threads --quiet -q --batch --prompts-file --seed-step --image --strength --fit --mask --refiner --refiner-start --preset --precision --upcast-attention --upcast-matmul --upcast-conv --flash --no-flash --transformer-precision --unet-precision --vae-precision --text-precision --clip-precision --t5-precision --plan --output -o --quality --latents --save-latents --trace --no-overwrite --preview --preview-vae --preview-output --json'
      fi ;;
    compare)
      case "$before" in
        --prompt|-p) :; return ;;
        --negative|--negative-prompt|-n) :; return ;;
        --model|-m) _precast_offer -f; return ;;
        --transformer) _precast_offer -f; return ;;
        --text-encoder) _precast_offer -f; return ;;
        --text-encoder-2) _precast_offer -f; return ;;
        --vae) _precast_offer -f; return ;;
        --device) _precast_offer -W 'auto cpu cuda'; return ;;
        --seed|-s) _precast_offer -W 'random'; return ;;
        --steps|--num-inference-steps) :; return ;;
        --guidance|--guidance-scale) :; return ;;
        --cfg-scale|--true-cfg-scale) :; return ;;
        --width|-W) :; return ;;
        --height|-H) :; return ;;
        --max-sequence-length) :; return ;;
        --t5-padding) :; return ;;
        --sampler|--scheduler) _precast_offer -W 'ddim pndm euler euler_a dpmpp_2m dpmpp_2m_karras dpmpp_2m_sde dpmpp_2m_sde_karras lcm'; return ;;
        --eta) :; return ;;
        --guidance-rescale) :; return ;;
        --clip-skip) :; return ;;
        --aesthetic-score) :; return ;;
        --negative-aesthetic-score) :; return ;;
        --threads) :; return ;;
        --image) _precast_offer -f; return ;;
        --strength) :; return ;;
        --fit) _precast_offer -W 'stretch crop pad'; return ;;
        --mask) _precast_offer -f; return ;;
        --refiner) _precast_offer -f; return ;;
        --refiner-start) :; return ;;
        --policies) _precast_list 'quality balanced fast memory f32 bf16 f16'; return ;;
        --output|-o) _precast_offer -f; return ;;
        --report) _precast_offer -f; return ;;
        --shard) _precast_offer -W 'auto'; return ;;
        --merge) _precast_offer -f; return ;;
        --quality) :; return ;;
      esac
      if [[ $word == -* || -z $word ]]; then _precast_offer -W '--help -h --prompt -p --negative --negative-prompt -n --model -m --transformer --text-encoder --text-encoder-2 --vae --device --seed -s --steps --num-inference-steps --guidance --guidance-scale --cfg-scale --true-cfg-scale --width -W --height -H --max-sequence-length --t5-padding --vae-tiling --sampler --scheduler --eta --guidance-rescale --clip-skip --aesthetic-score --negative-aesthetic-score --threads --quiet -q --image --strength --fit --mask --refiner --refiner-start --policies --output -o --report --shard --layers --merge --quality --markdown --json'
      fi ;;
    doctor)
      case "$before" in
        --prompt|-p) :; return ;;
        --negative|--negative-prompt|-n) :; return ;;
        --model|-m) _precast_offer -f; return ;;
        --transformer) _precast_offer -f; return ;;
        --text-encoder) _precast_offer -f; return ;;
        --text-encoder-2) _precast_offer -f; return ;;
        --vae) _precast_offer -f; return ;;
        --device) _precast_offer -W 'auto cpu cuda'; return ;;
        --seed|-s) _precast_offer -W 'random'; return ;;
        --steps|--num-inference-steps) :; return ;;
        --guidance|--guidance-scale) :; return ;;
        --cfg-scale|--true-cfg-scale) :; return ;;
        --width|-W) :; return ;;
        --height|-H) :; return ;;
        --max-sequence-length) :; return ;;
        --t5-padding) :; return ;;
        --sampler|--scheduler) _precast_offer -W 'ddim pndm euler euler_a dpmpp_2m dpmpp_2m_karras dpmpp_2m_sde dpmpp_2m_sde_karras lcm'; return ;;
        --eta) :; return ;;
        --guidance-rescale) :; return ;;
        --clip-skip) :; return ;;
        --aesthetic-score) :; return ;;
        --negative-aesthetic-score) :; return ;;
        --threads) :; return ;;
        --image) _precast_offer -f; return ;;
        --strength) :; return ;;
        --fit) _precast_offer -W 'stretch crop pad'; return ;;
        --mask) _precast_offer -f; return ;;
        --refiner) _precast_offer -f; return ;;
        --refiner-start) :; return ;;
        --policies) _precast_list 'quality balanced fast memory f32 bf16 f16'; return ;;
        --output|-o) _precast_offer -f; return ;;
      esac
      if [[ $word == -* || -z $word ]]; then _precast_offer -W '--help -h --prompt -p --negative --negative-prompt -n --model -m --transformer --text-encoder --text-encoder-2 --vae --device --seed -s --steps --num-inference-steps --guidance --guidance-scale --cfg-scale --true-cfg-scale --width -W --height -H --max-sequence-length --t5-padding --vae-tiling --sampler --scheduler --eta --guidance-rescale --clip-skip --aesthetic-score --negative-aesthetic-score --threads --quiet -q --image --strength --fit --mask --refiner --refiner-start --policies --output -o --json'
      fi ;;
    record)
      case "$before" in
        --prompt|-p) :; return ;;
        --negative|--negative-prompt|-n) :; return ;;
        --model|-m) _precast_offer -f; return ;;
        --transformer) _precast_offer -f; return ;;
        --text-encoder) _precast_offer -f; return ;;
        --text-encoder-2) _precast_offer -f; return ;;
        --vae) _precast_offer -f; return ;;
        --device) _precast_offer -W 'auto cpu cuda'; return ;;
        --seed|-s) _precast_offer -W 'random'; return ;;
        --steps|--num-inference-steps) :; return ;;
        --guidance|--guidance-scale) :; return ;;
        --cfg-scale|--true-cfg-scale) :; return ;;
        --width|-W) :; return ;;
        --height|-H) :; return ;;
        --max-sequence-length) :; return ;;
        --t5-padding) :; return ;;
        --sampler|--scheduler) _precast_offer -W 'ddim pndm euler euler_a dpmpp_2m dpmpp_2m_karras dpmpp_2m_sde dpmpp_2m_sde_karras lcm'; return ;;
        --eta) :; return ;;
        --guidance-rescale) :; return ;;
        --clip-skip) :; return ;;
        --aesthetic-score) :; return ;;
        --negative-aesthetic-score) :; return ;;
        --threads) :; return ;;
        --batch) :; return ;;
        --prompts-file) _precast_offer -f; return ;;
        --seed-step) :; return ;;
        --image) _precast_offer -f; return ;;
        --strength) :; return ;;
        --fit) _precast_offer -W 'stretch crop pad'; return ;;
        --mask) _precast_offer -f; return ;;
        --preset) _precast_offer -W 'quality balanced fast memory auto'; return ;;
        --precision) _precast_offer -W 'f32 bf16 f16'; return ;;
        --transformer-precision|--unet-precision) _precast_offer -W 'f32 bf16 f16'; return ;;
        --vae-precision) _precast_offer -W 'f32 bf16 f16'; return ;;
        --text-precision) _precast_offer -W 'f32 bf16 f16'; return ;;
        --clip-precision) _precast_offer -W 'f32 bf16 f16'; return ;;
        --t5-precision) _precast_offer -W 'f32 bf16 f16'; return ;;
        --every) :; return ;;
        --output|-o) _precast_offer -f; return ;;
        --importance) _precast_offer -f; return ;;
      esac
      if [[ $word == -* || -z $word ]]; then _precast_offer -W '--help -h --prompt -p --negative --negative-prompt -n --model -m --transformer --text-encoder --text-encoder-2 --vae --device --seed -s --steps --num-inference-steps --guidance --guidance-scale --cfg-scale --true-cfg-scale --width -W --height -H --max-sequence-length --t5-padding --vae-tiling --sampler --scheduler --eta --guidance-rescale --clip-skip --aesthetic-score --negative-aesthetic-score --threads --quiet -q --batch --prompts-file --seed-step --image --strength --fit --mask --preset --precision --upcast-attention --upcast-matmul --upcast-conv --flash --no-flash --transformer-precision --unet-precision --vae-precision --text-precision --clip-precision --t5-precision --every --output -o --importance --json'
      fi ;;
    cost)
      case "$before" in
        --model|-m) _precast_offer -f; return ;;
        --transformer) _precast_offer -f; return ;;
        --text-encoder) _precast_offer -f; return ;;
        --text-encoder-2) _precast_offer -f; return ;;
        --vae) _precast_offer -f; return ;;
        --samples) _precast_offer -f; return ;;
        --types) _precast_list ''; return ;;
        --patch) _precast_offer -f; return ;;
        --layers) :; return ;;
        --granularity) _precast_offer -W 'layer matrix'; return ;;
        --importance) _precast_offer -f; return ;;
        --jobs) :; return ;;
        --shard) _precast_offer -W 'auto'; return ;;
        --policy) _precast_offer -W 'quality balanced fast memory f32 bf16 f16'; return ;;
        --device) _precast_offer -W 'auto cpu cuda'; return ;;
        --threads) :; return ;;
        --merge) _precast_offer -f; return ;;
        --output|-o) _precast_offer -f; return ;;
        --measure) _precast_offer -W 'cost loss relative_cost relative_loss estimate'; return ;;
      esac
      if [[ $word == -* || -z $word ]]; then _precast_offer -W '--help -h --model -m --transformer --text-encoder --text-encoder-2 --vae --samples --types --patch --layers --granularity --importance --estimates-only --jobs --biases --shard --policy --device --threads --merge --output -o --measure --weighted --markdown --csv --json --quiet -q'
      fi ;;
    info)
      if [[ $word == -* ]]; then _precast_offer -W '--help -h --json --quiet -q'
      else _precast_offer -f
      fi ;;
    inspect)
      if [[ $word == -* ]]; then _precast_offer -W '--help -h --tensors --json --quiet -q'
      else _precast_offer -f
      fi ;;
    convert)
      case "$before" in
        --type) _precast_offer -W 'f32 bf16 f16 q8_0 mxfp8 fp8_e4m3 fp8_e5m2 fp8_e4m3_tensor fp8_e5m2_tensor fp8_e4m3_row fp8_e5m2_row int8_row q6_k mxfp6_e3m2 mxfp6_e2m3 q5_1 q5_0 q5_k q4_1 q4_0 q4_k iq4_nl nvfp4 iq4_xs mxfp4 q3_k q2_k'; return ;;
        --rule) :; return ;;
        --plan) _precast_offer -f; return ;;
        --biases) _precast_offer -W 'f32 bf16 f16 q8_0 mxfp8 fp8_e4m3 fp8_e5m2 fp8_e4m3_tensor fp8_e5m2_tensor fp8_e4m3_row fp8_e5m2_row int8_row q6_k mxfp6_e3m2 mxfp6_e2m3 q5_1 q5_0 q5_k q4_1 q4_0 q4_k iq4_nl nvfp4 iq4_xs mxfp4 q3_k q2_k'; return ;;
        --layout) _precast_offer -W 'diffusers bfl'; return ;;
        --encoder) _precast_offer -W 'reference search'; return ;;
        --importance) _precast_offer -f; return ;;
      esac
      if [[ $word == -* ]]; then _precast_offer -W '--help -h --type --rule --plan --biases --layout --encoder --importance --dry-run --json --quiet -q'
      else _precast_offer -f
      fi ;;
    plan)
      case "$before" in
        --cost|-c) _precast_offer -f; return ;;
        --budget) :; return ;;
        --bits) :; return ;;
        --error) :; return ;;
        --types) _precast_list ''; return ;;
        --measure) _precast_offer -W 'cost loss relative_cost relative_loss estimate'; return ;;
        --time-limit) :; return ;;
        --output|-o) _precast_offer -f; return ;;
        --samples) _precast_offer -f; return ;;
        --model|-m) _precast_offer -f; return ;;
        --transformer) _precast_offer -f; return ;;
        --text-encoder) _precast_offer -f; return ;;
        --text-encoder-2) _precast_offer -f; return ;;
        --vae) _precast_offer -f; return ;;
        --device) _precast_offer -W 'auto cpu cuda'; return ;;
        --policy) _precast_offer -W 'quality balanced fast memory f32 bf16 f16'; return ;;
      esac
      if [[ $word == -* || -z $word ]]; then _precast_offer -W '--help -h --cost -c --budget --bits --error --types --measure --time-limit --output -o --json --verify --samples --model -m --transformer --text-encoder --text-encoder-2 --vae --device --policy --quiet -q'
      fi ;;
    report)
      case "$before" in
        --cost|-c) _precast_offer -f; return ;;
        --plan) _precast_offer -f; return ;;
        --format) _precast_offer -W 'html markdown csv'; return ;;
        --measure) _precast_offer -W 'cost loss relative_cost relative_loss estimate'; return ;;
        --output|-o) _precast_offer -f; return ;;
      esac
      if [[ $word == -* || -z $word ]]; then _precast_offer -W '--help -h --cost -c --plan --format --measure --weighted --output -o --quiet -q'
      fi ;;
    policy)
      case "$before" in
        --preset) _precast_offer -W 'quality balanced fast memory auto'; return ;;
        --precision) _precast_offer -W 'f32 bf16 f16'; return ;;
        --training) :; return ;;
      esac
      if [[ $word == -* || -z $word ]]; then _precast_offer -W '--help -h --preset --precision --upcast-attention --upcast-matmul --upcast-conv --flash --no-flash --training --json'
      fi ;;
    formats)
      if [[ $word == -* || -z $word ]]; then _precast_offer -W '--help -h --json'
      fi ;;
    autocast)
      case "$before" in
        --device) _precast_offer -W 'cuda cpu'; return ;;
      esac
      if [[ $word == -* || -z $word ]]; then _precast_offer -W '--help -h --device --json'
      fi ;;
    experiment)
      case "$before" in
        --html) _precast_offer -f; return ;;
      esac
      if [[ $word == -* ]]; then _precast_offer -W '--help -h --json --html'
      else _precast_offer -W 'underflow stagnation softmax softplus accumulation overflow loss-scaling all'
      fi ;;
    tokenize)
      case "$before" in
        --model|-m) _precast_offer -d; return ;;
        --text) :; return ;;
      esac
      if [[ $word == -* || -z $word ]]; then _precast_offer -W '--help -h --model -m --text --json'
      fi ;;
    train)
      case "$before" in
        --data|-d) _precast_offer -f; return ;;
        --batches) _precast_offer -f; return ;;
        --validation) _precast_offer -f; return ;;
        --model|-m) _precast_offer -d; return ;;
        --output|-o) _precast_offer -d; return ;;
        --log) _precast_offer -f; return ;;
        --policy) _precast_offer -W 'f32 naive-f16 amp-f16 amp-bf16 bf16 fp8 f32+flash bf16+flash amp-bf16+flash f16+upcast-attention'; return ;;
        --compare) _precast_list 'f32 naive-f16 amp-f16 amp-bf16 bf16 fp8 f32+flash bf16+flash amp-bf16+flash f16+upcast-attention'; return ;;
        --report) _precast_offer -f; return ;;
        --steps) :; return ;;
        --batch) :; return ;;
        --context) :; return ;;
        --seed) :; return ;;
        --checkpoint-every) :; return ;;
        --validate-every) :; return ;;
        --sample) :; return ;;
        --device) _precast_offer -W 'auto cpu cuda'; return ;;
        --threads) :; return ;;
        --architecture) _precast_offer -W 'gpt2 llama'; return ;;
        --layers) :; return ;;
        --width) :; return ;;
        --heads) :; return ;;
        --heads-kv) :; return ;;
        --tokenizer) _precast_offer -W 'characters bytes'; return ;;
        --lr) :; return ;;
        --betas) :; return ;;
        --eps) :; return ;;
        --weight-decay) :; return ;;
        --clip) :; return ;;
        --warmup) :; return ;;
        --schedule) _precast_offer -W 'constant cosine'; return ;;
        --init-scale) :; return ;;
        --growth-factor) :; return ;;
        --backoff-factor) :; return ;;
        --growth-interval) :; return ;;
        --all-reduce-precision) _precast_offer -W 'f32 bf16 f16'; return ;;
        --bucket-size) :; return ;;
        --predict-ranks) :; return ;;
        --link-latency) :; return ;;
        --link-bandwidth) :; return ;;
        --ranks-per-machine) :; return ;;
      esac
      if [[ $word == -* || -z $word ]]; then _precast_offer -W '--help -h --data -d --batches --validation --model -m --output -o --log --policy --compare --report --steps --batch --context --seed --checkpoint-every --validate-every --resume --overwrite --sample --device --threads --json --quiet -q --architecture --layers --width --heads --heads-kv --tokenizer --lr --betas --eps --weight-decay --clip --warmup --schedule --init-scale --growth-factor --backoff-factor --growth-interval --all-reduce-precision --bucket-size --predict-ranks --link-latency --link-bandwidth --ranks-per-machine'
      fi ;;
    bench)
      case "$before" in
        --sizes) _precast_list 'tiny S M L XL 2.7B'; return ;;
        --contexts) _precast_list ''; return ;;
        --warmup) _precast_list ''; return ;;
        --steps) :; return ;;
        --batch) :; return ;;
        --policies) _precast_list ''; return ;;
        --variant) _precast_list 'llama gpt2'; return ;;
        --parts) _precast_list 'forward forward-backward optimizer'; return ;;
        --head-widths) _precast_list ''; return ;;
        --attention) _precast_list 'plain flash'; return ;;
        --json) _precast_offer -f; return ;;
        --csv) _precast_offer -f; return ;;
        --output|-o) _precast_offer -f; return ;;
        --shard) _precast_offer -W 'auto'; return ;;
        --merge) _precast_offer -f; return ;;
        --device) _precast_offer -W 'auto cpu cuda'; return ;;
        --threads) :; return ;;
      esac
      if [[ $word == -* ]]; then _precast_offer -W '--help -h --sizes --contexts --warmup --steps --batch --policies --variant --parts --head-widths --attention --json --csv --output -o --shard --merge --device --threads --quiet -q'
      else _precast_offer -W 'lm attention'
      fi ;;
    completions)
      if [[ $word == -* ]]; then _precast_offer -W '--help -h'
      else _precast_offer -W 'bash zsh fish'
      fi ;;
    help)
      if [[ $word == -* ]]; then _precast_offer -W '--help -h'
      else _precast_offer -W 'generate compare doctor record cost info inspect convert plan report policy formats autocast experiment tokenize train bench completions help'
      fi ;;
  esac
}
complete -o filenames -F _precast precast
