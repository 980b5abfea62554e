// Adds both dtypes to the formats that the commands know.
#include <formats/registration.hpp>

#include "e3m4.hpp"
#include "nf4.hpp"

namespace {

// [formats]
const precast::formats::Registration<extend::e3m4> e3m4_is_a_format;
const precast::formats::Registration<extend::nf4> nf4_is_a_format;
// [formats]

}  // namespace
