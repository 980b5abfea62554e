// Attention, on this translation unit's backend.
#pragma once

#include <precast/backend/flash_attention.hpp>
#include <precast/backend/plain_attention.hpp>
