// expect: Policy: Downcast<...> is given twice: name all op classes in one, Downcast<Attention, Norm>.
#include <precast/policy/policy.hpp>

using namespace precast;

#ifdef MISTAKE
using P = Policy<Storage<bf16>, Downcast<Attention>, Downcast<Norm>>;
#else
using P = Policy<Storage<bf16>, Downcast<Attention, Norm>>;
#endif
