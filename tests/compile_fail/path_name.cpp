// expect: policy_named: no precision path has this name.
#include <precast/policy/policy_path.hpp>
#ifdef MISTAKE
using P = precast::policy_named<"bf16_flash_upcast_matmul">;
#else
using P = precast::policy_named<"bf16_upcast_matmul_flash">;
#endif
P policy;
