// expect: Policy: Upcast<...> is given twice: name all op classes in one, Upcast<Attention, Matmul>.
#include <precast/policy/policy.hpp>

using namespace precast;

#ifdef MISTAKE
using P = Policy<Storage<bf16>, Upcast<Attention>, Upcast<Matmul>>;
#else
using P = Policy<Storage<bf16>, Upcast<Attention, Matmul>>;
#endif
