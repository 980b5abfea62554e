// The cases of attention.
#pragma once

#include <support/attention.hpp>

namespace precast::testing {

/// {batch, heads, queries, keys, width of a head, causal, biased, scale, size of queries and keys}; and with
/// heads of keys and values, width of values, and layout
inline constexpr AttentionCase attention_cases[] = {
    // Nothing, nothing to attend to, one of all.
    {1, 2, 0, 5, 4},
    {0, 2, 3, 5, 4},
    {1, 2, 3, 5, 0},
    {1, 2, 3, 0, 4},
    {1, 1, 1, 1, 1},
    // Widths below, at and above those of vectors and of kernels; 257 and more are beyond flash kernels.
    {1, 2, 19, 23, 1},
    {1, 2, 19, 23, 7},
    {1, 2, 19, 23, 8},
    {1, 2, 19, 23, 16},
    {1, 1, 19, 23, 31},
    {1, 2, 19, 23, 32},
    {1, 2, 19, 23, 33},
    {1, 2, 19, 23, 40},
    {1, 1, 19, 23, 63},
    {1, 2, 19, 23, 64},
    {1, 1, 19, 23, 65},
    {1, 2, 19, 23, 72},
    {1, 1, 19, 23, 96},
    {1, 2, 19, 23, 100},
    {1, 1, 19, 40, 128},
    {1, 1, 9, 23, 129},
    {1, 1, 9, 40, 160},
    {1, 1, 5, 40, 255},
    {1, 1, 5, 40, 256},
    {1, 1, 5, 23, 257},
    {1, 1, 9, 20, 300},
    {2, 3, 19, 23, 64},
    {2, 2, 5, 7, 16},
    // One query, one key; below, at and above tiles of both; several of each.
    {1, 1, 9, 1, 24},
    {1, 1, 1, 200, 24},
    {1, 2, 1, 300, 24},
    {1, 2, 5, 3, 24},
    {3, 1, 4, 4, 8},
    {2, 4, 5, 5, 16},
    {1, 2, 1, 1024, 128},
    {1, 1, 31, 33, 24},
    {1, 1, 32, 32, 24},
    {1, 1, 33, 31, 24},
    {1, 1, 63, 65, 24},
    {1, 1, 64, 64, 24},
    {1, 1, 65, 63, 24},
    {1, 1, 127, 129, 24},
    {1, 1, 128, 128, 24},
    {1, 1, 130, 65, 24},
    {1, 1, 50, 129, 24},
    {1, 2, 50, 257, 24},
    {1, 2, 97, 128, 24},
    {1, 2, 200, 130, 24},
    // Causal, with as many keys as queries, more and fewer.
    {2, 2, 1, 1, 16, true},
    {1, 1, 64, 64, 16, true},
    {1, 1, 65, 65, 16, true},
    {1, 1, 131, 131, 16, true},
    {1, 1, 20, 150, 16, true},
    {1, 1, 150, 20, 16, true},
    {2, 2, 130, 130, 16, true},
    // Biased, a third of the keys masked; both.
    {1, 2, 70, 73, 16, false, true},
    {1, 3, 100, 140, 16, false, true},
    {2, 1, 33, 33, 16, true, true, 1.0f},
    {1, 1, 5, 40, 256, true, true},
    // Other scales, and scores of both signs that are far apart.
    {1, 2, 30, 140, 32, false, false, 0.7f},
    {1, 1, 30, 70, 32, false, false, -0.1f},
    {1, 1, 30, 70, 64, false, false, {}, 3},
    {1, 2, 30, 140, 64, false, false, {}, 0.01},
    // A scale of 0 weighs all keys that are seen alike, and none that is not.
    {1, 1, 20, 140, 8, false, false, 0.0f},
    {1, 1, 20, 20, 8, true, false, 0.0f},
    {1, 2, 20, 20, 8, true, true, 0.0f},
    // Heads that share their keys and values, by two, three and all; masks are of heads of queries.
    with_heads({1, 4, 19, 23, 16}, 2, 16),
    with_heads({2, 6, 19, 23, 8}, 2, 8),
    with_heads({1, 4, 70, 130, 24}, 1, 24),
    with_heads({2, 4, 20, 33, 16, true}, 2, 16),
    with_heads({1, 4, 20, 33, 16, false, true}, 2, 16),
    with_heads({1, 4, 1, 300, 32}, 2, 32),
    // Values narrower and wider than keys, by a tile of results, beyond flash kernels; of nothing at all.
    with_heads({1, 2, 19, 23, 24}, 2, 8),
    with_heads({1, 2, 19, 23, 8}, 2, 24),
    with_heads({2, 4, 19, 23, 7}, 2, 33),
    with_heads({1, 1, 9, 40, 64}, 1, 100),
    with_heads({1, 1, 9, 40, 100}, 1, 64),
    with_heads({1, 1, 5, 40, 16}, 1, 300),
    with_heads({1, 1, 5, 40, 300}, 1, 16),
    with_heads({1, 2, 3, 5, 4}, 2, 0),
    with_heads({1, 2, 3, 5, 0}, 1, 4),
    // Each layout, with widths that vectors fit and do not.
    with_heads({2, 3, 19, 23, 16}, 3, 16, Layout::rows_of_heads),
    with_heads({2, 3, 19, 23, 16}, 3, 16, Layout::heads_of_rows),
    with_heads({2, 3, 19, 23, 7}, 3, 7, Layout::heads_of_rows),
    with_heads({2, 4, 33, 70, 24, true}, 2, 40, Layout::heads_of_rows),
    with_heads({2, 4, 33, 70, 24, true}, 2, 40, Layout::rows_of_heads),
    with_heads({2, 4, 19, 140, 8}, 2, 16, Layout::apart),
    with_heads({2, 4, 19, 23, 9, false, true}, 1, 5, Layout::apart),
    with_heads({1, 1, 19, 23, 16}, 1, 300, Layout::heads_of_rows),
};

}  // namespace precast::testing
